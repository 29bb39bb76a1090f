import { unrevokedToken } from '../../accounts/tokens.ts'
import type { Queries } from '../../database/database.ts'
import { type Role, roleNames, roleScopes } from '../../http/contract/auth.ts'

/** The roles whose holders may give a role to others. */
const givers = (given: Role): Role[] =>
  roleNames.filter((role) => {
    const scopes: readonly string[] = roleScopes[role]
    if (given === 'owner') return role === 'owner'
    return scopes.includes('account:write') && roleScopes[given].every((scope) => scopes.includes(scope))
  })

/**
 * Queries valid invitations. An invitation ends with the token that created it, and once the inviting person leaves
 * or loses the role.
 */
export function standingInvitations(db: Queries, now: number) {
  return db
    .selectFrom('invitations')
    .where('expires_at', '>', now)
    .where((eb) =>
      eb.or([eb('invitations.token_id', 'is', null), eb.exists(unrevokedToken(db, 'invitations.token_id'))]),
    )
    .where((eb) =>
      eb.or([
        eb('invitations.person_id', 'is', null),
        eb.exists(
          eb
            .selectFrom('members')
            .select('members.member_id')
            .whereRef('members.account_id', '=', 'invitations.account_id')
            .whereRef('members.person_id', '=', 'invitations.person_id')
            .where((member) =>
              member.or(
                roleNames.map((role) =>
                  member.and([
                    member('invitations.role', '=', role),
                    member('members.role', 'in', givers(role)),
                  ]),
                ),
              ),
            ),
        ),
      ]),
    )
}
