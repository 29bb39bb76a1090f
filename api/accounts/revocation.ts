import { isWithin } from '../cidrs.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { record } from '../events/outbox.ts'
import {
  type Actor,
  CredentialRefused,
  covered,
  holds,
  insufficientScope,
  type Scope,
  type Whose,
  whoseIs,
} from '../http/contract/auth.ts'
import { isoTime } from '../http/contract/fields.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'
import { lockAccount } from './accounts.ts'
import { accountProblems } from './schema.ts'
import type { TokenTable } from './tables.ts'
import { findToken, unrevoked } from './tokens.ts'
import { cidrsOf, tokenView } from './view.ts'
/**
 * Checks under the account's lock that the token of a request was not revoked since the request was
 * authorized.
 * @returns the limits of the token that it may create
 * @throws ApiError token_revoked
 */
export async function requireUnrevoked(
  tx: Queries,
  actor: Pick<Actor, 'accountId' | 'tokenId'>,
): ReturnType<typeof boundsOf> {
  const bounds = await boundsOf(tx, actor)
  if (bounds.revoked_at !== null) throw tokenRevoked(whoseIs(actor, null))
  return bounds
}

/** Returns the widest rights that an actor may create or revoke: a person is bound by their role alone. */
function boundsOf(
  db: Queries,
  { tokenId }: Pick<Actor, 'tokenId'>,
): Promise<Pick<TokenTable, 'revoked_at' | 'expires_at' | 'cidrs'>> {
  if (tokenId !== null) return findToken(db, tokenId)
  return Promise.resolve({ revoked_at: null, expires_at: null, cidrs: '[]' })
}

/**
 * A token can revoke itself, and tokens that it could have created. Otherwise a leaked short-lived token could lock its
 * owner out for good.
 * @throws ApiError insufficient_scope, token_not_revocable
 */
export async function mayRevoke(db: Queries, actor: Actor, token: TokenTable): Promise<void> {
  const lacking = covered(token.scopes.split(' ')).find((scope) => !holds(actor, scope))
  if (lacking)
    throw insufficientScope(`Your token lacks ${lacking}, so it can't revoke one that has it.`, lacking)
  const own = await boundsOf(db, actor)
  if (own.expires_at !== null && (token.expires_at ?? Number.POSITIVE_INFINITY) > own.expires_at)
    throw new ApiError(
      accountProblems.token_not_revocable,
      `The token expires later than yours, which expires at ${isoTime(own.expires_at)}. Use a token that lasts as long, or the token itself.`,
    )
  const [around, cidrs] = [cidrsOf(own), cidrsOf(token)]
  const isWider = around.length > 0 && (cidrs.length === 0 || cidrs.some((cidr) => !isWithin(cidr, around)))
  if (isWider)
    throw new ApiError(
      accountProblems.token_not_revocable,
      `The token may be used from more addresses than yours, which is limited to ${around.join(', ')}. Use a token without this limit, or the token itself.`,
    )
}

/**
 * Revokes a token and all its descendants.
 * @param options `keepChildren`: its children are kept, with its parent and person as theirs
 * @returns false if the token does not exist or was revoked before
 */
export function revokeToken(
  db: Database,
  clock: Clock,
  token: { accountId: string; tokenId: string },
  { keepChildren = false } = {},
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    // The lock prevents the creation of further descendants meanwhile.
    await lockAccount(tx, token.accountId)
    if (keepChildren) await adoptChildren(tx, token.tokenId)
    return revokeWithin(tx, clock, token.tokenId)
  })
}

/** Revokes the tokens that a person created in an account, with their descendants, if they exceed the scopes `keep`. */
export async function revokeTokensOf(
  tx: Queries,
  clock: Clock,
  { accountId, personId, keep }: { accountId: string; personId: string; keep: readonly Scope[] },
): Promise<void> {
  const rows = await unrevoked(tx, accountId).selectAll().where('person_id', '=', personId).execute()
  for (const row of rows)
    if (covered(row.scopes.split(' ')).some((scope) => !keep.includes(scope)))
      await revokeWithin(tx, clock, row.token_id)
}

/** Revokes level by level. Each round revokes at least one token, and the number of an account's tokens is limited. */
export async function revokeWithin(tx: Queries, clock: Clock, tokenId: string): Promise<boolean> {
  const now = clock.now()
  let revoked = await revokeWhere(tx, now, 'token_id', [tokenId])
  const isFound = revoked.length > 0
  while (revoked.length > 0) revoked = await revokeWhere(tx, now, 'parent_token_id', revoked)
  return isFound
}

/** @returns the ids of the revoked tokens */
async function revokeWhere(
  tx: Queries,
  now: number,
  column: 'token_id' | 'parent_token_id',
  ids: readonly string[],
): Promise<string[]> {
  const rows = await tx
    .updateTable('tokens')
    .set({ revoked_at: now })
    .where(column, 'in', ids)
    .where('revoked_at', 'is', null)
    .returningAll()
    .execute()
  for (const row of rows) {
    const data = tokenView(row)
    await record(tx, [{ accountId: row.account_id, type: 'token.revoked', data, at: now }])
  }
  return rows.map((row) => row.token_id)
}

/** Children of a person's token become that person's, or they would outlive the membership. */
async function adoptChildren(tx: Queries, tokenId: string): Promise<void> {
  const { parent_token_id, person_id } = await findToken(tx, tokenId)
  await tx
    .updateTable('tokens')
    .set((eb) => ({ parent_token_id, person_id: eb.fn.coalesce('person_id', eb.val(person_id)) }))
    .where('parent_token_id', '=', tokenId)
    .where('revoked_at', 'is', null)
    .execute()
}

export function tokenRevoked(whose: Whose | null): ApiError {
  return new CredentialRefused(httpProblems.token_revoked, 'The token was revoked. Create a new one.', whose)
}
