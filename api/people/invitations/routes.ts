import Type from 'typebox'
import { atLimit } from '../../accounts/quotas.ts'
import { accountProblems } from '../../accounts/schema.ts'
import { isoTime } from '../../http/contract/fields.ts'
import { listOf, paged, pagingQuery } from '../../http/contract/paging.ts'
import { found, httpProblems } from '../../http/contract/problem.ts'
import type { Route } from '../../http/contract/route.ts'
import { route } from '../../http/contract/route.ts'
import { memberQuota } from '../membership/members.ts'
import { LinkUse, peopleProblems } from '../person/schema.ts'
import type { InvitationTable } from '../person/tables.ts'
import type { SignInOptions } from '../sign-in/admission.ts'
import { letIn, showPerson } from '../sign-in/entry.ts'
import { SignIn } from '../sign-in/schema.ts'
import { findInvitation, Invitations, listInvitations, withdrawInvitation } from './invitations.ts'
import { Invitation, InvitationAcceptance, InvitationCreate, OpenInvitation } from './schema.ts'
import { invitationView } from './view.ts'

const tag = 'Members'

/** Inviting people into an account, and accepting such an invitation. */
export function invitationRoutes(options: SignInOptions): Route[] {
  const invitations = new Invitations(options)
  return [
    ...keepRoutes(options, invitations),
    withdrawRoute(options),
    ...acceptanceRoutes(options, invitations),
  ]
}

function keepRoutes({ db, clock }: SignInOptions, invitations: Invitations): Route[] {
  const shown = (row: InvitationTable, setHeader: (name: string, value: string) => void) => {
    setHeader('location', `/v1/account/invitations/${row.invitation_id}`)
    return invitationView(row)
  }
  return [
    route({
      id: 'listInvitations',
      isAboutAccess: true,
      method: 'GET',
      path: '/account/invitations',
      scope: 'account:read',
      tag,
      summary: 'List invitations',
      description: 'Returns the open invitations, newest first. Their links are only in the mails.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Invitation) },
      run: (call) =>
        paged(call, (page) => listInvitations(db, clock, call.actor.accountId, page), invitationView),
    }),
    route({
      id: 'createInvitation',
      method: 'POST',
      path: '/account/invitations',
      scope: 'account:write',
      tag,
      summary: 'Invite a person to the account by mail',
      description:
        'Sends a link that works once, for 7 days, as long as its sender may give the role: it ends with their membership, or with the token that created it. A token that expires or is limited to addresses cannot invite. An earlier invitation to the same address ends. You cannot give a role that exceeds your own, and only an owner who is signed in can invite owners. Invitations count as members for the quota.',
      body: InvitationCreate,
      reply: { 201: Invitation },
      problems: { quota_exceeded: atLimit(memberQuota) },
      errors: [
        peopleProblems.role_not_allowed,
        peopleProblems.already_member,
        accountProblems.quota_exceeded,
        peopleProblems.invitation_not_found,
      ],
      run: async ({ actor, body, remember, setHeader }) =>
        shown(await invitations.create(actor, { language: 'en', ...body }, remember), setHeader),
      recover: async ({ actor, setHeader }, id) =>
        shown(
          found(await findInvitation(db, clock, actor.accountId, id), peopleProblems.invitation_not_found),
          setHeader,
        ),
    }),
  ]
}

function withdrawRoute({ db, clock }: SignInOptions): Route {
  return route({
    id: 'deleteInvitation',
    isAboutAccess: true,
    method: 'DELETE',
    path: '/account/invitations/:invitation_id',
    scope: 'account:write',
    tag,
    summary: 'Withdraw an invitation',
    description:
      'The link stops working. A token that expires or is limited to addresses cannot withdraw. A person who has accepted it already is a member: remove the member instead.',
    params: { invitation_id: peopleProblems.invitation_not_found },
    load: async ({ actor, params }) =>
      found(
        await findInvitation(db, clock, actor.accountId, params.invitation_id),
        peopleProblems.invitation_not_found,
      ),
    reply: { 204: null },
    errors: [peopleProblems.role_not_allowed],
    run: ({ actor, loaded }) => withdrawInvitation(db, clock, actor, loaded),
  })
}

function acceptanceRoutes(options: SignInOptions, invitations: Invitations): Route[] {
  return [
    route({
      id: 'lookAtInvitation',
      method: 'POST',
      path: '/invitations/look',
      scope: 'anybody',
      tag,
      summary: 'See what the link of an invitation is for',
      description:
        'Returns the account and the role, without using up the link. If `has_person` is true, the person must sign in before they accept.',
      body: LinkUse,
      reply: { 200: OpenInvitation },
      errors: [peopleProblems.link_invalid],
      run: async ({ body }) => {
        const {
          accountName: account_name,
          expiresAt,
          hasPerson,
          ...rest
        } = await invitations.look(body.token)
        return { account_name, ...rest, expires_at: isoTime(expiresAt), has_person: hasPerson }
      },
    }),
    route({
      id: 'acceptInvitation',
      method: 'POST',
      path: '/invitations/accept',
      scope: 'anybody',
      tag,
      summary: 'Accept an invitation',
      description:
        'Makes the person a member, and switches their session to the account. A person who has signed up with the address must be signed in. A new person gives a name and a password, and is signed up and signed in without an account of their own.',
      body: InvitationAcceptance,
      reply: { 200: SignIn },
      errors: [
        httpProblems.missing_token,
        httpProblems.session_ended,
        peopleProblems.link_invalid,
        peopleProblems.sign_up_closed,
        peopleProblems.terms_not_accepted,
        peopleProblems.invitation_for_another,
      ],
      run: async (call) => {
        const who = { visit: call.visit, signedIn: () => call.signedIn }
        const accepted = await invitations.accept(call.body, who)
        if ('secret' in accepted) return letIn(options, accepted, call)
        return { is_signed_in: true, person: await showPerson(options, accepted), ticket: null }
      },
    }),
  ]
}
