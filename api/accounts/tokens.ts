import { hash, randomBytes } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import type { Clock } from '../clock.ts'
import { type Database, inTransaction, type Queries } from '../database/database.ts'
import { countOf, type Page, pageOf } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import type { TokenTable } from '../database/schema.ts'
import { record } from '../events/outbox.ts'
import type { EventType } from '../events/types.ts'
import { type Actor, covered, holds, insufficientScope, type ScopeName } from '../http/auth.ts'
import { ApiError, httpProblems, notFound } from '../http/problem.ts'
import type { Made } from '../http/route.ts'
import { lockQuotas } from './accounts.ts'
import { quotaExceeded } from './quotas.ts'
import { accountProblems } from './schema.ts'
import { tokenView } from './view.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TOKEN = /^berth_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/
/** `last_used_at` is written once in this many milliseconds, so that reading stays reading. */
const USE_IS_NOTED_EVERY = 60_000

/** A new token: `berth_`, 43 characters of base62 that carry 256 bits, 6 of checksum. */
export function generateToken(): string {
  const secret = toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)
  return `berth_${secret}${checksum(secret)}`
}

/** Lets a leak scanner, and us, tell a token from a random word without a look at the database. */
function checksum(secret: string): string {
  const digest = hash('sha256', `berth_${secret}`)
  return toBase62(BigInt(`0x${digest.slice(0, 8)}`), 6)
}

function toBase62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text
  return text
}

export function hashToken(token: string): string {
  return hash('sha256', token)
}

/**
 * Makes a token for an account.
 * @returns its id and the value, which is never to be had again
 */
export async function createToken(
  db: Queries,
  clock: Clock,
  token: { accountId: string; name: string; scopes: readonly ScopeName[]; expiresAt: number | null },
): Promise<{ tokenId: string; value: string }> {
  const value = generateToken()
  const row: TokenTable = {
    token_id: uuid(),
    account_id: token.accountId,
    name: token.name,
    hash: hashToken(value),
    scopes: token.scopes.join(' '),
    expires_at: token.expiresAt,
    revoked_at: null,
    last_used_at: null,
    created_at: clock.now(),
  }
  await inTransaction(db, async (tx) => {
    await tx.insertInto('tokens').values(row).execute()
    await tell(tx, 'token.created', row, row.created_at)
  })
  return { tokenId: row.token_id, value }
}

/**
 * Makes a token for a customer who holds one: it can't do more than that one.
 * @param token `replaces` is the id of one whose value reached nobody; it is revoked
 * @throws ApiError insufficient_scope, quota_exceeded, token_not_found where the one to replace was revoked before
 */
export function mintToken(
  db: Database,
  clock: Clock,
  actor: Actor,
  token: { name: string; scopes: readonly ScopeName[]; expiresAt: number | null; replaces: string | null },
  made: Made,
): Promise<TokenTable & { value: string }> {
  const lacking = covered(token.scopes).find((scope) => !holds(actor, scope))
  if (lacking)
    throw insufficientScope(`Your token lacks ${lacking}, so it can't make one that has it.`, lacking)
  return db.transaction().execute(async (tx) => {
    const limit = (await lockQuotas(tx, actor.accountId)).tokens
    if (token.replaces !== null && !(await revokeWithin(tx, clock, token.replaces)))
      throw notFound(accountProblems.token_not_found)
    const count = await countTokens(tx, actor.accountId)
    if (count >= limit) throw quotaExceeded('tokens', limit, count, 1)
    const { tokenId, value } = await createToken(tx, clock, { ...token, accountId: actor.accountId })
    await made(tx, tokenId)
    return { ...(await findToken(tx, tokenId)), value }
  })
}

/** The account's tokens that were not revoked, newest first. */
export function listTokens(db: Queries, accountId: string, page: Page) {
  return pageOf(valid(db, accountId).selectAll().orderBy('token_id', 'desc'), page)
}

/** Those that were not revoked, also where they have expired. */
export function countTokens(db: Queries, accountId: string): Promise<number> {
  return countOf(valid(db, accountId))
}

export function findValidToken(db: Queries, accountId: string, tokenId: string) {
  return valid(db, accountId).selectAll().where('token_id', '=', tokenId).executeTakeFirst()
}

function valid(db: Queries, accountId: string) {
  return db.selectFrom('tokens').where('account_id', '=', accountId).where('revoked_at', 'is', null)
}

/** @returns false where there is no such token, or it was revoked before */
export function revokeToken(db: Database, clock: Clock, tokenId: string): Promise<boolean> {
  return db.transaction().execute((tx) => revokeWithin(tx, clock, tokenId))
}

async function revokeWithin(tx: Queries, clock: Clock, tokenId: string): Promise<boolean> {
  const now = clock.now()
  const row = await tx
    .updateTable('tokens')
    .set({ revoked_at: now })
    .where('token_id', '=', tokenId)
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (row) await tell(tx, 'token.revoked', row, now)
  return row !== undefined
}

/** Which of these tokens are good for something now. */
export async function validTokens(db: Queries, clock: Clock, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('tokens')
    .select('token_id')
    .where('token_id', 'in', ids)
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', clock.now())]))
    .execute()
  return new Set(rows.map((row) => row.token_id))
}

function tell(tx: Queries, type: EventType, token: TokenTable, at: number): Promise<void> {
  return record(tx, [{ accountId: token.account_id, type, data: tokenView(token), at }])
}

export function findToken(db: Queries, tokenId: string) {
  return db.selectFrom('tokens').selectAll().where('token_id', '=', tokenId).executeTakeFirstOrThrow()
}

/**
 * Who an Authorization header speaks for.
 * @throws ApiError missing_token, invalid_token, token_expired, token_revoked
 */
export function authenticator(
  db: Database,
  clock: Clock,
): (authorization: string | undefined) => Promise<Actor> {
  return async (authorization) => {
    if (!authorization)
      throw new ApiError(httpProblems.missing_token, 'Send a token: Authorization: Bearer berth_…')
    const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1]
    const [, secret, sum] = TOKEN.exec(token ?? '') ?? []
    if (!token || !secret || sum !== checksum(secret))
      throw new ApiError(
        httpProblems.invalid_token,
        'The Authorization header holds no Berth token: it must read Bearer berth_…',
      )
    const row = await byHash.first(db, { hash: hashToken(token) })
    const now = clock.now()
    if (!row) throw new ApiError(httpProblems.invalid_token, 'This token is not known. Make a new one.')
    if (row.revoked_at !== null)
      throw new ApiError(httpProblems.token_revoked, 'This token was revoked. Make a new one.')
    if (row.expires_at !== null && row.expires_at <= now)
      throw new ApiError(httpProblems.token_expired, 'This token has expired. Make a new one.')
    if ((row.last_used_at ?? 0) <= now - USE_IS_NOTED_EVERY)
      // A note for people: where it can't be written, on a full disk say, reading goes on.
      await noteUse(db, row.token_id, now).catch(() => {})
    return {
      accountId: row.account_id,
      accountStatus: row.status,
      tokenId: row.token_id,
      scopes: row.scopes.split(' '),
    }
  }
}

async function noteUse(db: Database, tokenId: string, now: number): Promise<void> {
  await db.updateTable('tokens').set({ last_used_at: now }).where('token_id', '=', tokenId).execute()
}

const byHash = prepared((db, { hash }: { hash: string }) =>
  db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.account_id', 'tokens.account_id')
    .select([
      'token_id',
      'tokens.account_id',
      'scopes',
      'expires_at',
      'revoked_at',
      'last_used_at',
      'accounts.status',
    ])
    .where('hash', '=', hash),
)
