import { hash, randomInt } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { refuseClosed } from '../accounts/status.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { type Page, pageOf } from '../database/page.ts'
import type { Actor } from '../http/contract/auth.ts'
import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import { readMoment } from '../http/contract/moment.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { formatMoney, parseMoney } from '../money.ts'
import { countOpen, grant } from './credits.ts'
import { creditProblems, MOST_CREDITS, type PromoCode, type PromoCodeCreate } from './schema.ts'
import type { PromoCodeTable } from './tables.ts'

/** Letters and digits that are hard to confuse: 16 of them carry 80 bits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 16

interface Place {
  db: Database
  clock: Clock
}

/** Counts attempts to redeem codes, for each account and person. */
export interface Tries {
  /** @throws ApiError rate_limited */
  take: (key: string) => Promise<void>
  giveBack: (key: string) => Promise<void>
}

function generateCode(): string {
  const letters = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)])
  return letters.join('').replace(/(.{4})(?=.)/g, '$1-')
}

/** Hashes a code without a salt: attempts are limited and short codes refused, so guessing takes too long. */
function hashCode(code: string): string {
  return hash('sha256', code.toUpperCase().replace(/[ -]/g, ''))
}

/**
 * Creates a promo code.
 * @returns the row with the plain code, and whether it is new: a repeat with equal code and terms finds the first one
 * @throws ApiError validation_failed, promo_code_exists
 */
export async function createPromoCode(
  { db, clock }: Place,
  { code = generateCode(), name, amount_rub, credit_days, max_uses, expires_at }: PromoCodeCreate,
): Promise<{ row: PromoCodeTable; code: string; isNew: boolean }> {
  const now = clock.now()
  const expiresAt = readMoment('expires_at', expires_at)
  const row: PromoCodeTable = {
    ...{ promo_code_id: uuid(), name, hash: hashCode(code), amount: parseMoney(amount_rub), credit_days },
    ...{ max_uses, uses: 0, expires_at: expiresAt, revoked_at: null, created_at: now },
  }
  if (expiresAt <= now)
    throw invalid([bodyIssue('expires_at', 'below_minimum', 'expires_at must be in the future.')])
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('promo_codes')
    .values(row)
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows !== 0n) return { row, code, isNew: true }
  const known = await withHash(db, row.hash).executeTakeFirstOrThrow()
  const kept = ['name', 'amount', 'credit_days', 'max_uses', 'expires_at'] as const
  if (kept.every((part) => known[part] === row[part])) return { row: known, code, isNew: false }
  throw new ApiError(
    creditProblems.promo_code_exists,
    `Nothing was created: ${known.name} has this code, with other terms.`,
  )
}

function withHash(db: Queries, hash: string) {
  return db.selectFrom('promo_codes').selectAll().where('hash', '=', hash)
}

export function listPromoCodes(db: Queries, page: Page) {
  return pageOf(db.selectFrom('promo_codes').selectAll().orderBy('promo_code_id', 'desc'), page)
}

/** @throws ApiError promo_code_not_found */
export async function findPromoCode(db: Queries, id: string): Promise<PromoCodeTable> {
  const row = await db
    .selectFrom('promo_codes')
    .selectAll()
    .where('promo_code_id', '=', id)
    .executeTakeFirst()
  return found(row, creditProblems.promo_code_not_found)
}

/** Revokes a promo code: nobody can redeem it, but credit already given stays. @throws ApiError promo_code_not_found */
export async function revokePromoCode({ db, clock }: Place, id: string): Promise<PromoCodeTable> {
  await db
    .updateTable('promo_codes')
    .set({ revoked_at: clock.now() })
    .where('promo_code_id', '=', id)
    .where('revoked_at', 'is', null)
    .execute()
  return findPromoCode(db, id)
}

/**
 * Redeems a code for an account, once.
 * @returns the id of the credit
 * @throws ApiError rate_limited, promo_code_invalid, promo_code_redeemed, too_many_credits, account_suspended
 */
export async function redeem(
  { db, clock, tries }: Place & { tries: Tries },
  { accountId, person }: Pick<Actor, 'accountId' | 'person'>,
  code: string,
  remember: Remember,
): Promise<string> {
  const keys = [`account ${accountId}`, ...(person ? [`person ${person.personId}`] : [])]
  for (const key of keys) await tries.take(key)
  const creditId = await db.transaction().execute(async (tx) => {
    const { promo_code_id, amount, credit_days } = await useCode(tx, clock, accountId, hashCode(code))
    await refuseClosed(tx, accountId)
    const credit = await grant(tx, clock, {
      ...{ accountId, amount, days: credit_days, promoCodeId: promo_code_id },
      description: `Promo code, for ${credit_days} days`,
    })
    if (!credit) throw redeemed()
    if ((await countOpen(tx, accountId)) > MOST_CREDITS)
      throw new ApiError(
        creditProblems.too_many_credits,
        `Nothing changed: an account has at most ${MOST_CREDITS} credits that have not ended.`,
      )
    await remember(tx, credit.credit_id)
    return credit.credit_id
  })
  for (const key of keys) await tries.giveBack(key)
  return creditId
}

/** Counts one use of a code, unless it is used up, expired or revoked. Only one request gets the last use. */
async function useCode(tx: Queries, clock: Clock, accountId: string, hash: string): Promise<PromoCodeTable> {
  const now = clock.now()
  const used = await tx
    .updateTable('promo_codes')
    .set((eb) => ({ uses: eb('uses', '+', 1) }))
    .where('hash', '=', hash)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .whereRef('uses', '<', 'max_uses')
    .returningAll()
    .executeTakeFirst()
  if (used) return used
  const known = await withHash(tx, hash).executeTakeFirst()
  if (!known) throw refused('No such code: check its letters.')
  const own = tx.selectFrom('credits').select('credit_id').where('account_id', '=', accountId)
  if (await own.where('promo_code_id', '=', known.promo_code_id).executeTakeFirst()) throw redeemed()
  if (known.revoked_at !== null) throw refused('The operator has revoked it.')
  throw refused(
    known.expires_at <= now
      ? `It expired at ${isoTime(known.expires_at)}.`
      : 'It was redeemed as often as it may be.',
  )
}

function refused(why: string): ApiError {
  return new ApiError(creditProblems.promo_code_invalid, `Nothing changed. ${why}`)
}

function redeemed(): ApiError {
  return new ApiError(
    creditProblems.promo_code_redeemed,
    'Nothing changed: each account can redeem a code once, and this one has.',
  )
}

export function promoCodeView(row: PromoCodeTable): PromoCode {
  const { promo_code_id, name, credit_days, max_uses, uses } = row
  return {
    ...{ promo_code_id, name, credit_days, max_uses, uses },
    amount_rub: formatMoney(row.amount),
    expires_at: isoTime(row.expires_at),
    revoked_at: isoTimeOrNull(row.revoked_at),
    created_at: isoTime(row.created_at),
  }
}

/** Deletes at most `limit` codes whose validity ended before a moment. @returns the number deleted */
export function forgetPromoCodes(db: Database, before: number, limit: number): Promise<number> {
  const old = db.selectFrom('promo_codes').select('promo_code_id').where('expires_at', '<', before)
  return deleteFound(db, 'promo_codes', 'promo_code_id', old.limit(limit))
}
