import type {
  AccountChoice,
  InvitationAcceptance,
  InvitationCreate,
  LinkUse,
  MemberUpdate,
} from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

/** The people in the account. */
export function members(call: Call) {
  const list = (query: Query<'GET /account/members'> = {}, options?: CallOptions) =>
    call('GET /account/members', { query }, options)
  return {
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'member_id', {}, options),
    /** Changes the role. */
    update: (member_id: string, body: MemberUpdate, options?: CallOptions) =>
      call('PATCH /account/members/{member_id}', { path: { member_id }, body }, options),
    /** Also revokes the tokens that the person created. */
    delete: (member_id: string, options?: CallOptions) =>
      call('DELETE /account/members/{member_id}', { path: { member_id } }, options),
    /** Removes the signed-in person from an account. */
    leave: (body: AccountChoice, options?: CallOptions) => call('POST /person/leave', { body }, options),
  }
}

/** Invitations to the account. */
export function invitations(call: Call) {
  const list = (query: Query<'GET /account/invitations'> = {}, options?: CallOptions) =>
    call('GET /account/invitations', { query }, options)
  return {
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'invitation_id', {}, options),
    /** Sends a mail with a link. */
    create: (body: InvitationCreate, options?: CallOptions) =>
      call('POST /account/invitations', { body }, options),
    delete: (invitation_id: string, options?: CallOptions) =>
      call('DELETE /account/invitations/{invitation_id}', { path: { invitation_id } }, options),
    /** Shows the invitation of a link, to anyone who has it. */
    look: (body: LinkUse, options?: CallOptions) => call('POST /invitations/look', { body }, options),
    accept: (body: InvitationAcceptance, options?: CallOptions) =>
      call('POST /invitations/accept', { body }, options),
  }
}
