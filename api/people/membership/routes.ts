import Type from 'typebox'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { type Actor, notAMember } from '../../http/contract/auth.ts'
import { listOf, paged, pagingQuery } from '../../http/contract/paging.ts'
import { found, httpProblems } from '../../http/contract/problem.ts'
import { type Route, route } from '../../http/contract/route.ts'
import { AccountChoice, peopleProblems } from '../person/schema.ts'
import { changeRole, findMember, listMembers, membership, removeMember } from './members.ts'
import { Member, MemberUpdate } from './schema.ts'
import { memberView } from './view.ts'

const tag = 'Members'

interface Options {
  db: Database
  clock: Clock
}

/** The members of an account, and their roles. */
export function memberRoutes(options: Options): Route[] {
  return [...membersRoutes(options), leaveRoute(options)]
}

function membersRoutes({ db, clock }: Options): Route[] {
  const params = { member_id: peopleProblems.member_not_found }
  const path = '/account/members/:member_id'
  const load = async ({ actor, params }: { actor: Actor; params: { member_id: string } }) =>
    found(await findMember(db, actor.accountId, params.member_id), peopleProblems.member_not_found)
  return [
    route({
      id: 'listMembers',
      isAboutAccess: true,
      method: 'GET',
      path: '/account/members',
      scope: 'account:read',
      tag,
      summary: 'List the people in the account',
      description:
        'Returns the members of the account with their roles, newest first. Tokens are not members.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Member) },
      run: (call) => paged(call, (page) => listMembers(db, call.actor.accountId, page), memberView),
    }),
    route({
      id: 'updateMember',
      isAboutAccess: true,
      method: 'PATCH',
      path,
      scope: 'account:write',
      tag,
      summary: 'Change the role of a member',
      description:
        'Takes effect at once, also for open streams and consoles. You cannot give or take a role that exceeds your own, and only an owner who is signed in can change owners. Tokens that the person created are revoked if they have more scopes than the new role.',
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
      isAboutAccess: true,
      method: 'DELETE',
      path,
      scope: 'account:write',
      tag,
      summary: 'Remove a member',
      description:
        'The person loses access at once, and the tokens that they created in the account are revoked. The last owner cannot be removed.',
      params,
      load,
      reply: { 204: null },
      errors: [peopleProblems.role_not_allowed, peopleProblems.last_owner],
      run: ({ actor, loaded }) =>
        removeMember(db, clock, { actor, accountId: actor.accountId, memberId: loaded.member_id }),
    }),
  ]
}

function leaveRoute({ db, clock }: Options): Route {
  return route({
    id: 'leaveAccount',
    method: 'POST',
    path: '/person/leave',
    scope: 'person',
    tag: 'Person',
    summary: 'Leave an account',
    description:
      'Removes the person from the account, whatever their role, and revokes the tokens that they created in it. The last owner cannot leave, and nobody leaves a frozen account.',
    body: AccountChoice,
    reply: { 204: null },
    errors: [httpProblems.not_a_member, httpProblems.account_frozen, peopleProblems.last_owner],
    run: async ({ signedIn, body }) => {
      const { account_id: accountId } = body
      const member = await membership.first(db, { accountId, personId: signedIn.personId })
      if (!member) throw notAMember()
      await removeMember(db, clock, { actor: null, accountId, memberId: member.member_id })
    },
  })
}
