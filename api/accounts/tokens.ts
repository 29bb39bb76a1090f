import { sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import type { Clock } from '../clock.ts'
import { type Database, inTransaction, type Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { countIn, type Page, pageOf } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { record } from '../events/outbox.ts'
import type { Quota } from '../feature.ts'
import type { ScopeName } from '../http/contract/auth.ts'
import { refuseClosed } from './status.ts'
import type { TokenTable } from './tables.ts'
import { generateHcloudToken, generateToken, hashToken } from './token-value.ts'
import { tokenView } from './view.ts'

/**
 * Creates a token for an account.
 * @returns its id and the value, which cannot be read again
 * @throws ApiError account_suspended if the account is closed
 */
export async function createToken(
  db: Queries,
  clock: Clock,
  token: {
    accountId: string
    name: string
    scopes: readonly ScopeName[]
    expiresAt: number | null
    /** The ranges, in canonical form, that it may be used from; empty: any address. */
    cidrs?: readonly string[]
    /** The parent with which the token is created; revoking the parent also revokes the token. */
    parentId?: string | null
    /** The person who creates the token, which is revoked when they leave the account. */
    personId?: string | null
    /** The project that it is bound to, for hcloud's tools (default: none, it is for /v1). */
    projectId?: string | null
  },
): Promise<{ tokenId: string; value: string }> {
  const { projectId = null } = token
  const value = projectId === null ? generateToken() : generateHcloudToken()
  const row: TokenTable = {
    token_id: uuid(),
    account_id: token.accountId,
    name: token.name,
    hash: hashToken(value),
    scopes: token.scopes.join(' '),
    parent_token_id: token.parentId ?? null,
    person_id: token.personId ?? null,
    project_id: projectId,
    cidrs: JSON.stringify(token.cidrs ?? []),
    expires_at: token.expiresAt,
    revoked_at: null,
    last_used_at: null,
    created_at: clock.now(),
  }
  await inTransaction(db, async (tx) => {
    await refuseClosed(tx, token.accountId)
    await tx.insertInto('tokens').values(row).execute()
    const { account_id: accountId, created_at: at } = row
    await record(tx, [{ accountId, type: 'token.created', data: tokenView(row), at }])
  })
  return { tokenId: row.token_id, value }
}

/** The account's tokens that were not revoked, newest first. */
export function listTokens(db: Queries, accountId: string, page: Page) {
  return pageOf(unrevoked(db, accountId).selectAll().orderBy('token_id', 'desc'), page)
}

/** Queries the tokens of all accounts that were not revoked; for operators. */
export function everyToken(db: Queries) {
  return db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.account_id', 'tokens.account_id')
    .selectAll('tokens')
    .select('accounts.email')
    .where('revoked_at', 'is', null)
}

export const tokenQuota: Quota = {
  name: 'tokens',
  description: 'Valid tokens',
  limit: 50,
  example: 1,
  // Expired tokens count until they are revoked.
  count: (db, accountId) => countIn(unrevoked(db, accountId)),
}

export function findValidToken(db: Queries, accountId: string, tokenId: string) {
  return unrevoked(db, accountId).selectAll().where('token_id', '=', tokenId).executeTakeFirst()
}

export function unrevoked(db: Queries, accountId: string) {
  return db.selectFrom('tokens').where('account_id', '=', accountId).where('revoked_at', 'is', null)
}

/**
 * Queries the token that a column names, unless it was revoked.
 * @param column such as 'invitations.token_id'
 */
export function unrevokedToken(db: Queries, column: string) {
  return db
    .selectFrom('tokens')
    .select('tokens.token_id')
    .where('tokens.token_id', '=', sql.ref<string>(column))
    .where('tokens.revoked_at', 'is', null)
}

/** Returns the ids among these that belong to valid tokens of active accounts. */
export async function validTokens(db: Queries, clock: Clock, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.account_id', 'tokens.account_id')
    .select('token_id')
    .where('token_id', 'in', ids)
    .where('accounts.status', '=', 'active')
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', clock.now())]))
    .execute()
  return new Set(rows.map((row) => row.token_id))
}

export function findToken(db: Queries, tokenId: string) {
  return db.selectFrom('tokens').selectAll().where('token_id', '=', tokenId).executeTakeFirstOrThrow()
}

export async function noteUse(db: Database, tokenId: string, now: number): Promise<void> {
  await db.updateTable('tokens').set({ last_used_at: now }).where('token_id', '=', tokenId).execute()
}

/** The token with a hash, revoked or not, and the status of its account. */
export const tokenByHash = prepared((db, { hash }: { hash: string }) =>
  db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.account_id', 'tokens.account_id')
    .select([
      'token_id',
      'tokens.account_id',
      'scopes',
      'tokens.project_id',
      'cidrs',
      'expires_at',
      'revoked_at',
      'last_used_at',
      'accounts.status',
      'accounts.status_reason',
      'accounts.status_since',
      'accounts.frozen_at',
      'accounts.price_percent',
      'accounts.price_presets',
    ])
    .where('hash', '=', hash),
)

/** Deletes some of the tokens that were revoked before a moment. @returns the number deleted */
export function forgetTokens(db: Database, before: number, limit: number): Promise<number> {
  return deleteFound(db, 'tokens', 'token_id', ids(db).where('revoked_at', '<', before).limit(limit))
}

/** Deletes some of an account's revoked tokens beyond the newest. @returns the number deleted */
export function forgetExcessTokens(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const revoked = ids(db).where('account_id', '=', accountId).where('revoked_at', 'is not', null)
  return deleteFound(
    db,
    'tokens',
    'token_id',
    revoked.orderBy('revoked_at', 'desc').limit(limit).offset(most),
  )
}

function ids(db: Database) {
  return db.selectFrom('tokens').select('token_id')
}
