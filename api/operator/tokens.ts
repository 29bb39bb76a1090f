import { v7 as uuid } from 'uuid'
import { noteOccasionally, requireValid } from '../accounts/authenticator.ts'
import { generateToken, hashToken, isForOperator } from '../accounts/token-value.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { OperatorScope, OperatorToken } from '../http/contract/auth.ts'
import type { OperatorTokenTable } from './tables.ts'

/**
 * Creates an operator's token.
 * @param token.cidrs the ranges, in canonical form, that it may be used from; at least one
 * @returns its id and the value, which cannot be read again
 */
export async function createOperatorToken(
  db: Queries,
  clock: Clock,
  token: {
    name: string
    scopes: readonly OperatorScope[]
    cidrs: readonly string[]
    expiresAt: number
    createdBy: string
  },
): Promise<{ tokenId: string; value: string }> {
  const value = generateToken('berthop')
  const row: OperatorTokenTable = {
    token_id: uuid(),
    name: token.name,
    hash: hashToken(value),
    scopes: token.scopes.join(' '),
    cidrs: JSON.stringify(token.cidrs),
    created_by: token.createdBy,
    expires_at: token.expiresAt,
    revoked_at: null,
    last_used_at: null,
    created_at: clock.now(),
  }
  await db.insertInto('operator_tokens').values(row).execute()
  return { tokenId: row.token_id, value }
}

/** The operators' tokens that were not revoked, oldest first. */
export function listOperatorTokens(db: Queries): Promise<OperatorTokenTable[]> {
  return db
    .selectFrom('operator_tokens')
    .selectAll()
    .where('revoked_at', 'is', null)
    .orderBy('token_id')
    .execute()
}

/** Revokes an operator's token. Requests that have begun are still carried out. */
export async function revokeOperatorToken(db: Queries, clock: Clock, tokenId: string): Promise<void> {
  await db
    .updateTable('operator_tokens')
    .set({ revoked_at: clock.now() })
    .where('token_id', '=', tokenId)
    .where('revoked_at', 'is', null)
    .execute()
}

/**
 * Finds operators' tokens by their values, which differ from those of accounts in their first letters.
 * @throws ApiError invalid_token, token_revoked, token_expired, address_not_allowed
 */
export function operatorTokens(
  db: Database,
  clock: Clock,
): (value: string, address: string) => Promise<OperatorToken | null> {
  return async (value, address) => {
    if (!isForOperator(value)) return null
    const now = clock.now()
    const row = requireValid(await byHash.first(db, { hash: hashToken(value) }), {
      now,
      address,
      whose: ({ token_id }) => ({ accountId: null, tokenId: token_id, personId: null }),
    })
    await noteOccasionally(row.last_used_at, now, () => noteUse(db, row.token_id, now))
    return { tokenId: row.token_id, name: row.name, scopes: row.scopes.split(' ') }
  }
}

const byHash = prepared((db, { hash }: { hash: string }) =>
  db.selectFrom('operator_tokens').selectAll().where('hash', '=', hash),
)

async function noteUse(db: Database, tokenId: string, now: number): Promise<void> {
  await db.updateTable('operator_tokens').set({ last_used_at: now }).where('token_id', '=', tokenId).execute()
}
