import Type from 'typebox'
import { atLimit } from '../../accounts/quotas.ts'
import { accountProblems } from '../../accounts/schema.ts'
import { type Actor, notAMember } from '../../http/contract/auth.ts'
import { isoTime } from '../../http/contract/fields.ts'
import { listOf, paged, pagingQuery } from '../../http/contract/paging.ts'
import { found, httpProblems } from '../../http/contract/problem.ts'
import { type Route, route } from '../../http/contract/route.ts'
import {
  findInvitation,
  Invitations,
  listInvitations,
  withdrawInvitation,
} from '../invitations/invitations.ts'
import { showPerson } from '../person/people.ts'
import {
  AccountChoice,
  Invitation,
  InvitationAcceptance,
  InvitationCreate,
  LinkUse,
  Member,
  MemberUpdate,
  OpenInvitation,
  peopleProblems,
  SignIn,
} from '../person/schema.ts'
import type { InvitationTable } from '../person/tables.ts'
import { invitationView, memberView } from '../person/view.ts'
import { letIn } from '../sign-in/entry.ts'
import type { SignInOptions } from '../sign-in/sign-in.ts'
import { changeRole, findMember, listMembers, memberQuota, membership, removeMember } from './members.ts'

const tag = 'Members'
const paging = Type.Object(pagingQuery)

/** Who is in an account, and who is asked into it. */
export function memberRoutes(options: SignInOptions): Route[] {
  const invitations = new Invitations(options)
  return [
    ...membersRoutes(options),
    leaveRoute(options),
    ...invitationsRoutes(options, invitations),
    withdrawRoute(options),
    ...acceptanceRoutes(options, invitations),
  ]
}

function membersRoutes({ db, clock }: SignInOptions): Route[] {
  const params = { member_id: peopleProblems.member_not_found }
  const path = '/account/members/:member_id'
  const load = async ({ actor, params }: { actor: Actor; params: { member_id: string } }) =>
    found(await findMember(db, actor.accountId, params.member_id), peopleProblems.member_not_found)
  return [
    route({
      id: 'listMembers',
      method: 'GET',
      path: '/account/members',
      scope: 'account:read',
      tag,
      summary: 'List the people in the account',
      description:
        'Who is a member of the account, and with which role, newest first. Tokens are no members.',
      query: paging,
      reply: { 200: listOf(Member) },
      run: (call) => paged(call, (page) => listMembers(db, call.actor.accountId, page), memberView),
    }),
    route({
      id: 'updateMember',
      method: 'PATCH',
      path,
      scope: 'account:write',
      tag,
      summary: 'Change the role of a member',
      description:
        'Takes effect at once, also for what the person has open. Nobody gives or takes a role that is beyond her own, and only an owner who has signed in changes who is one. Tokens that the person created and that have more scopes than the role are revoked.',
      params,
      load,
      body: MemberUpdate,
      reply: { 200: Member },
      errors: [peopleProblems.role_not_allowed, peopleProblems.last_owner],
      run: async ({ actor, loaded, body }) =>
        memberView(await changeRole(db, clock, { actor, memberId: loaded.member_id, role: body.role })),
    }),
    route({
      id: 'removeMember',
      method: 'DELETE',
      path,
      scope: 'account:write',
      tag,
      summary: 'Remove a member',
      description:
        'The person is out at once, and the tokens that she created in the account are revoked. The last owner cannot be removed.',
      params,
      load,
      reply: { 204: null },
      errors: [peopleProblems.role_not_allowed, peopleProblems.last_owner],
      run: ({ actor, loaded }) =>
        removeMember(db, clock, { actor, accountId: actor.accountId, memberId: loaded.member_id }),
    }),
  ]
}

function leaveRoute({ db, clock }: SignInOptions): Route {
  return route({
    id: 'leaveAccount',
    method: 'POST',
    path: '/person/leave',
    scope: 'person',
    tag: 'Person',
    summary: 'Leave an account',
    description:
      'Takes the person out of the account, whatever her role, and revokes the tokens that she created in it. The last owner cannot leave.',
    body: AccountChoice,
    reply: { 204: null },
    errors: [httpProblems.not_a_member, peopleProblems.last_owner],
    run: async ({ signedIn, body }) => {
      const { account_id: accountId } = body
      const member = await membership.first(db, { accountId, personId: signedIn.personId })
      if (!member) throw notAMember()
      await removeMember(db, clock, { actor: null, accountId, memberId: member.member_id })
    },
  })
}

function invitationsRoutes({ db, clock }: SignInOptions, invitations: Invitations): Route[] {
  const shown = (row: InvitationTable, setHeader: (name: string, value: string) => void) => {
    setHeader('location', `/v1/account/invitations/${row.invitation_id}`)
    return invitationView(row)
  }
  return [
    route({
      id: 'listInvitations',
      method: 'GET',
      path: '/account/invitations',
      scope: 'account:read',
      tag,
      summary: 'List invitations',
      description:
        'Those that were neither accepted nor withdrawn, and have not expired, newest first. The links are in the mails alone.',
      query: paging,
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
      summary: 'Invite somebody into the account, by mail',
      description:
        'Sends a link that works once, for 7 days; an earlier invitation to the same address ends. Nobody gives a role that is beyond her own, and only an owner who has signed in invites owners. Invitations count as members for the quota.',
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
    method: 'DELETE',
    path: '/account/invitations/:invitation_id',
    scope: 'account:write',
    tag,
    summary: 'Withdraw an invitation',
    description:
      'Its link does not work from here on. Who has accepted it is a member, and is removed as such.',
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

function acceptanceRoutes({ db }: SignInOptions, invitations: Invitations): Route[] {
  return [
    route({
      id: 'lookAtInvitation',
      method: 'POST',
      path: '/invitations/look',
      scope: 'anybody',
      tag,
      summary: 'See what the link of an invitation is for',
      description:
        'Shows the account and the role to whoever has the link of the mail, and uses nothing up. With `has_person` the person signs in before she accepts.',
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
        'Makes the person a member, and the account the one that her session is in. Who has signed up with the address must be signed in; who has not gives a name and a password, is signed up without an account of her own, and signed in.',
      body: InvitationAcceptance,
      reply: { 200: SignIn },
      errors: [
        httpProblems.missing_token,
        httpProblems.session_ended,
        peopleProblems.link_invalid,
        peopleProblems.sign_up_closed,
        peopleProblems.invitation_for_another,
      ],
      run: async (call) => {
        const who = { visit: call.visit, signedIn: () => call.signedIn }
        const accepted = await invitations.accept(call.body, who)
        if ('secret' in accepted) return letIn(db, accepted, call)
        return { is_signed_in: true, person: await showPerson(db, accepted), ticket: null }
      },
    }),
  ]
}
