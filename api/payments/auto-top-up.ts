import { lockAccount } from '../accounts/accounts.ts'
import { monthStart } from '../billing/accrual.ts'
import { ledgersOf } from '../billing/ledger.ts'
import { setTopUpLine } from '../billing/standing.ts'
import type { Queries } from '../database/database.ts'
import { audit } from '../events/outbox.ts'
import type { Actor } from '../http/contract/auth.ts'
import { isoTime } from '../http/contract/fields.ts'
import { bodyIssue, invalid } from '../http/contract/problem.ts'
import { formatMoney, parseMoney } from '../money.ts'
import { findMethod } from './methods.ts'
import { type Paying, paymentsOff } from './payments.ts'
import { type AutoTopUp, type AutoTopUpSet, LEAST, MOST, outOfRange } from './schema.ts'
import type { AutoTopUpTable } from './tables.ts'

type Place = Pick<Paying, 'db' | 'clock'>

/** The settings of an account; all null if they were never set. */
export async function showAutoTopUp(
  { db, clock }: Place,
  { accountId, accountStatus }: Pick<Actor, 'accountId' | 'accountStatus'>,
): Promise<AutoTopUp> {
  const now = clock.now()
  const row = await findAutoTopUp(db, accountId)
  const charged_month_rub = formatMoney(await chargedSince(db, accountId, monthStart(now)))
  const unset = { below_rub: null, amount_rub: null, monthly_limit_rub: null, payment_method_id: null }
  if (!row)
    return { is_on: false, ...unset, charged_month_rub, declines: 0, waits_until: null, off_reason: null }
  const until = (await ledgersOf(db, [accountId])).get(accountId)?.top_up_at ?? 0
  const off_reason = accountStatus === 'closed' ? 'account_closed' : row.off_reason
  return {
    is_on: off_reason === null,
    below_rub: formatMoney(row.below),
    amount_rub: formatMoney(row.amount),
    monthly_limit_rub: formatMoney(row.monthly_limit),
    payment_method_id: row.method_id,
    charged_month_rub,
    declines: row.declines,
    waits_until: until > now ? isoTime(until) : null,
    off_reason,
  }
}

export function findAutoTopUp(db: Queries, accountId: string): Promise<AutoTopUpTable | undefined> {
  return db.selectFrom('auto_top_ups').selectAll().where('account_id', '=', accountId).executeTakeFirst()
}

/** Returns the sum of an account's automatic payments that began since a moment and may have taken money. */
export async function chargedSince(db: Queries, accountId: string, since: number): Promise<number> {
  const { sum } = await db
    .selectFrom('payments')
    .select((eb) => eb.fn.sum<number | null>('amount').as('sum'))
    .where('is_automatic', '=', 1)
    .where('account_id', '=', accountId)
    .where('created_at', '>=', since)
    .where('status', '<>', 'canceled')
    .executeTakeFirstOrThrow()
  return Number(sum ?? 0)
}

/** Finds the automatic payment of an account that is still in progress. */
export function openAutomatic(db: Queries, accountId: string) {
  return db
    .selectFrom('payments')
    .select('payment_id')
    .where('is_automatic', '=', 1)
    .where('status', '=', 'pending')
    .where('account_id', '=', accountId)
    .executeTakeFirst()
}

/**
 * Turns automatic top-ups on, with these settings.
 * @throws ApiError validation_failed, payment_method_not_found, payments_off
 */
export async function setAutoTopUp(
  { db, clock, providers }: Pick<Paying, 'db' | 'clock' | 'providers'>,
  accountId: string,
  { below_rub, amount_rub, monthly_limit_rub, payment_method_id }: AutoTopUpSet,
): Promise<void> {
  const [below, amount] = [parseMoney(below_rub), parseMoney(amount_rub)]
  const monthly_limit = parseMoney(monthly_limit_rub)
  requireRange({ below, amount, monthly_limit })
  const { provider } = await findMethod(db, accountId, payment_method_id)
  if (!providers.some(({ name }) => name === provider)) throw paymentsOff(providers)
  await db.transaction().execute(async (tx) => {
    await lockAccount(tx, accountId)
    // The method may have been deleted since.
    await findMethod(tx, accountId, payment_method_id)
    const now = clock.now()
    const settings = {
      ...{ below, amount, monthly_limit, method_id: payment_method_id },
      ...{ declines: 0, off_reason: null, updated_at: now },
    }
    const payment_id = (await openAutomatic(tx, accountId))?.payment_id ?? null
    await tx
      .insertInto('auto_top_ups')
      .values({ account_id: accountId, payment_id, ...settings })
      .onConflict((conflict) => conflict.column('account_id').doUpdateSet({ payment_id, ...settings }))
      .execute()
    await setTopUpLine(tx, accountId, below)
    await audit(tx, [accountId], { objectType: 'auto_top_up', objectId: accountId, at: now })
  })
}

function requireRange({
  below,
  amount,
  monthly_limit,
}: Pick<AutoTopUpTable, 'below' | 'amount' | 'monthly_limit'>): void {
  const fault = outOfRange(amount)
  if (fault)
    throw invalid([bodyIssue('amount_rub', fault, `amount_rub must be from ${LEAST} to ${MOST} rubles.`)])
  if (below > parseMoney(MOST))
    throw invalid([bodyIssue('below_rub', 'above_maximum', `below_rub must be at most ${MOST} rubles.`)])
  if (monthly_limit < amount)
    throw invalid([
      bodyIssue('monthly_limit_rub', 'below_minimum', 'monthly_limit_rub must be at least amount_rub.'),
    ])
}

/** Turns automatic top-ups off, and deletes their settings. A payment in progress still completes. */
export function deleteAutoTopUp({ db, clock }: Place, accountId: string): Promise<void> {
  return db.transaction().execute(async (tx) => {
    await lockAccount(tx, accountId)
    const { numDeletedRows } = await tx
      .deleteFrom('auto_top_ups')
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    if (numDeletedRows === 0n) return
    await setTopUpLine(tx, accountId, null)
    await audit(tx, [accountId], { objectType: 'auto_top_up', objectId: accountId, at: clock.now() })
  })
}
