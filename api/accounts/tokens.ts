import { hash, randomBytes } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { isWithin } from '../cidrs.ts'
import type { Clock } from '../clock.ts'
import { type Database, inTransaction, type Queries } from '../database/database.ts'
import { countOf, type Page, pageOf } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { record } from '../events/outbox.ts'
import type { EventType } from '../events/types.ts'
import {
  type Actor,
  CredentialRefused,
  covered,
  holds,
  insufficientScope,
  type Role,
  roleScopes,
  type Scope,
  type ScopeName,
  type Whose,
  whoseIs,
} from '../http/contract/auth.ts'
import { isoTime } from '../http/contract/fields.ts'
import { ApiError, bodyIssue, httpProblems, invalid, notFound } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { lockQuotas } from './accounts.ts'
import { requireRoom } from './quotas.ts'
import { accountProblems } from './schema.ts'
import type { TokenTable } from './tables.ts'
import { cidrsOf, tokenView } from './view.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TOKEN = /^berth_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

/** A new token: `berth_`, 43 characters of base62 that carry 256 bits, 6 of checksum. */
function generateToken(): string {
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

/** Whether a text has the form of a token, checksum and all. */
export function isToken(text: string): boolean {
  const [, secret, sum] = TOKEN.exec(text) ?? []
  return secret !== undefined && sum === checksum(secret)
}

export function hashToken(token: string): string {
  return hash('sha256', token)
}

/**
 * Creates a token for an account.
 * @returns its id and the value, which cannot be read again
 */
export async function createToken(
  db: Queries,
  clock: Clock,
  token: {
    accountId: string
    name: string
    scopes: readonly ScopeName[]
    expiresAt: number | null
    /** The ranges, in canonical form, that it may be used from; none: anywhere. */
    cidrs?: readonly string[]
    /** The token that it is created with; it is revoked with that one. */
    parentId?: string | null
    /** The person who creates it; it is revoked when she leaves the account. */
    personId?: string | null
  },
): Promise<{ tokenId: string; value: string }> {
  const value = generateToken()
  const row: TokenTable = {
    token_id: uuid(),
    account_id: token.accountId,
    name: token.name,
    hash: hashToken(value),
    scopes: token.scopes.join(' '),
    parent_token_id: token.parentId ?? null,
    person_id: token.personId ?? null,
    cidrs: JSON.stringify(token.cidrs ?? []),
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

export interface Minting {
  db: Database
  clock: Clock
  roleNow: (tx: Queries, accountId: string, personId: string) => Promise<Role>
}

/**
 * Creates a token with the token of a customer: it can't do more than that one, nor from elsewhere, nor outlive it.
 * @param token `replaces` is the id of one whose value reached nobody; it is revoked
 * @throws ApiError insufficient_scope, quota_exceeded, validation_failed, token_revoked, token_not_found where the one
 * to replace was revoked before
 */
export function mintToken(
  { db, clock, roleNow }: Minting,
  actor: Pick<Actor, 'accountId' | 'tokenId' | 'scopes'> & { person: { personId: string } | null },
  token: {
    name: string
    scopes: readonly ScopeName[]
    cidrs: readonly string[]
    expiresAt: number | null
    replaces: string | null
  },
  remember: Remember,
): Promise<TokenTable & { value: string }> {
  const { accountId, tokenId: parentId, person } = actor
  return db.transaction().execute(async (tx) => {
    const quotas = await lockQuotas(tx, accountId)
    // Behind the lock: whose token or role was just taken makes none that would be missed by who took it.
    const scopes = person ? roleScopes[await roleNow(tx, accountId, person.personId)] : actor.scopes
    const lacking = covered(token.scopes).find((scope) => !holds({ scopes }, scope))
    if (lacking)
      throw insufficientScope(`You do not have the scope ${lacking}, so you can't give it.`, lacking)
    const parent = await requireUnrevoked(tx, actor)
    const expiresAt = token.expiresAt ?? parent.expires_at
    if (parent.expires_at !== null && (expiresAt ?? 0) > parent.expires_at) throw outlives(parent.expires_at)
    const cidrs = within(cidrsOf(parent), token.cidrs)
    if (token.replaces !== null && !(await revokeWithin(tx, clock, token.replaces)))
      throw notFound(accountProblems.token_not_found)
    requireRoom(quotas, 'tokens', await countTokens(tx, accountId))
    const { tokenId, value } = await createToken(tx, clock, {
      ...token,
      accountId,
      parentId,
      personId: person?.personId ?? null,
      expiresAt,
      cidrs,
    })
    await remember(tx, tokenId)
    return { ...(await findToken(tx, tokenId)), value }
  })
}

/**
 * Looks whether the token of a request was revoked since it was let in, behind the lock of the account.
 * @returns how far what it creates may reach
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

/** How far what an actor creates or revokes may reach: a person is bound by her role alone. */
function boundsOf(
  db: Queries,
  { tokenId }: Pick<Actor, 'tokenId'>,
): Promise<Pick<TokenTable, 'revoked_at' | 'expires_at' | 'cidrs'>> {
  if (tokenId !== null) return findToken(db, tokenId)
  return Promise.resolve({ revoked_at: null, expires_at: null, cidrs: '[]' })
}

/** The account's tokens that were not revoked, newest first. */
export function listTokens(db: Queries, accountId: string, page: Page) {
  return pageOf(valid(db, accountId).selectAll().orderBy('token_id', 'desc'), page)
}

/** A query of the tokens of all accounts that were not revoked: for operators. */
export function everyToken(db: Queries) {
  return db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.account_id', 'tokens.account_id')
    .selectAll('tokens')
    .select('accounts.email')
    .where('revoked_at', 'is', null)
    .orderBy('token_id')
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

/**
 * A token revokes itself, and those that could be created with it: else a short-lived one that leaks could lock its
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
      `The token outlives yours, which expires at ${isoTime(own.expires_at)}. Use one that lasts as long, or the token itself.`,
    )
  const [around, cidrs] = [cidrsOf(own), cidrsOf(token)]
  const isWider = around.length > 0 && (cidrs.length === 0 || cidrs.some((cidr) => !isWithin(cidr, around)))
  if (isWider)
    throw new ApiError(
      accountProblems.token_not_revocable,
      `The token may be used from elsewhere than yours: ${around.join(', ')}. Use one without such a list, or the token itself.`,
    )
}

/**
 * Revokes a token, and those that were created with it, or with these.
 * @param options `keepChildren`: those become tokens of its own parent instead
 * @returns false where there is no such token, or it was revoked before
 */
export function revokeToken(
  db: Database,
  clock: Clock,
  token: { accountId: string; tokenId: string },
  { keepChildren = false } = {},
): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    // So that none is created meanwhile with one of these.
    await lockQuotas(tx, token.accountId)
    if (keepChildren) await adoptChildren(tx, token.tokenId)
    return revokeWithin(tx, clock, token.tokenId)
  })
}

/** Revokes what a person created in an account, with all that was created with it. @param keep scopes that it may have */
export async function revokeTokensOf(
  tx: Queries,
  clock: Clock,
  { accountId, personId, keep }: { accountId: string; personId: string; keep: readonly Scope[] },
): Promise<void> {
  const rows = await valid(tx, accountId).selectAll().where('person_id', '=', personId).execute()
  for (const row of rows)
    if (covered(row.scopes.split(' ')).some((scope) => !keep.includes(scope)))
      await revokeWithin(tx, clock, row.token_id)
}

/** Goes down level by level: each turn revokes a token at least, of which an account has only so many. */
async function revokeWithin(tx: Queries, clock: Clock, tokenId: string): Promise<boolean> {
  const now = clock.now()
  let revoked = await revokeWhere(tx, now, 'token_id', [tokenId])
  const isFound = revoked.length > 0
  while (revoked.length > 0) revoked = await revokeWhere(tx, now, 'parent_token_id', revoked)
  return isFound
}

/** @returns the ids of those that it revoked */
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
  for (const row of rows) await tell(tx, 'token.revoked', row, now)
  return rows.map((row) => row.token_id)
}

async function adoptChildren(tx: Queries, tokenId: string): Promise<void> {
  const { parent_token_id } = await findToken(tx, tokenId)
  await tx
    .updateTable('tokens')
    .set({ parent_token_id })
    .where('parent_token_id', '=', tokenId)
    .where('revoked_at', 'is', null)
    .execute()
}

export function tokenRevoked(whose: Whose | null): ApiError {
  return new CredentialRefused(httpProblems.token_revoked, 'The token was revoked. Create a new one.', whose)
}

function outlives(expiresAt: number): ApiError {
  const message = `expires_at must not be later than that of your token: ${isoTime(expiresAt)}.`
  return invalid([bodyIssue('expires_at', 'above_maximum', message)])
}

/**
 * The ranges of a token that is created with another one.
 * @param own those of the other one; none: anywhere
 * @throws ApiError validation_failed where it could be used from elsewhere
 */
function within(own: readonly string[], wanted: readonly string[]): readonly string[] {
  if (own.length === 0) return wanted
  const message = (cidr: string) =>
    `${cidr} must be within the addresses that your token may be used from: ${own.join(', ')}.`
  const issues = wanted.flatMap((cidr, at) =>
    isWithin(cidr, own) ? [] : [bodyIssue(`cidrs.${at}`, 'above_maximum', message(cidr))],
  )
  if (issues.length > 0) throw invalid(issues)
  return wanted.length > 0 ? wanted : own
}

/** Which of these tokens may follow what happens now: those of active accounts. */
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

function tell(tx: Queries, type: EventType, token: TokenTable, at: number): Promise<void> {
  return record(tx, [{ accountId: token.account_id, type, data: tokenView(token), at }])
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
      'cidrs',
      'expires_at',
      'revoked_at',
      'last_used_at',
      'accounts.status',
    ])
    .where('hash', '=', hash),
)

/** Deletes some of the tokens that were revoked before a moment; @returns how many */
export function forgetTokens(db: Database, before: number, limit: number): Promise<number> {
  return forget(db, ids(db).where('revoked_at', '<', before).limit(limit))
}

/** Of an account's revoked tokens deletes some beyond the newest; @returns how many */
export function forgetExcessTokens(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const revoked = ids(db).where('account_id', '=', accountId).where('revoked_at', 'is not', null)
  return forget(db, revoked.orderBy('revoked_at', 'desc').limit(limit).offset(most))
}

function ids(db: Database) {
  return db.selectFrom('tokens').select('token_id')
}

async function forget(db: Database, old: ReturnType<typeof ids>): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('tokens').where('token_id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}
