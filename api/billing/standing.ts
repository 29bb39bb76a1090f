import type { Queries } from '../database/database.ts'
import type { Event } from '../events/outbox.ts'
import { formatMoney, wholeTimes } from '../money.ts'
import type { LedgerTable } from './tables.ts'

/** A balance that lasts less than this is worth a warning. */
const LOW_HOURS = 72

/** The ledger of an account without entries. */
export const EMPTY_LEDGER = {
  ...{ sequence: null, balance: 0, credit_limit: 0, paid: 0, low_since: null, depleted_since: null },
  ...{ documented_until: 0, document_due_at: 0, top_up_below: null, top_up_at: null },
  ...{ rolled_until: 0, rolled_after: 0, rolled_entries: 0 },
} as const satisfies Omit<LedgerTable, 'account_id'>

/** The amount that an account can spend: its balance and its credit limit, in units. */
export function fundsOf({ balance, credit_limit }: Pick<LedgerTable, 'balance' | 'credit_limit'>): number {
  return balance + credit_limit
}

/**
 * Determines whether a ledger's balance is low or used up after charges. The account gets one event for each, until a
 * top-up ends it.
 * @param costHour the account's current hourly cost in units
 */
export function standing(
  ledger: LedgerTable,
  costHour: number,
  now: number,
): Pick<LedgerTable, 'low_since' | 'depleted_since'> & { event: Event | null } {
  const { balance, low_since, depleted_since } = ledger
  const funds = fundsOf(ledger)
  const isLow = costHour > 0 && funds < costHour * LOW_HOURS
  const isDepleted = costHour > 0 && funds <= 0
  const event = (type: Event['type'], hoursLeft: number): Event => ({
    accountId: ledger.account_id,
    type,
    data: { balance: formatMoney(balance), cost_hour_rub: formatMoney(costHour, 4), hours_left: hoursLeft },
    at: now,
  })
  const news = () => {
    if (isDepleted) return depleted_since === null ? event('balance.depleted', 0) : null
    return isLow && low_since === null ? event('balance.low', wholeTimes(funds, costHour)) : null
  }
  return {
    low_since: isLow ? (low_since ?? now) : null,
    depleted_since: depletedSince(ledger, isDepleted, now),
    event: news(),
  }
}

function depletedSince(ledger: LedgerTable, isDepleted: boolean, now: number) {
  const { depleted_since } = ledger
  // A time in the future was noted while the clock was ahead: the present time replaces it.
  if (isDepleted) return Math.min(depleted_since ?? now, now)
  return fundsOf(ledger) > 0 ? null : depleted_since
}

/** Queries the accounts whose balance is low, with the amount that they can spend, for warnings. */
export function lowBalances(db: Queries) {
  return db
    .selectFrom('ledgers')
    .select((eb) => [
      'account_id',
      eb('balance', '+', eb.ref('credit_limit')).as('funds'),
      'low_since as since',
    ])
    .where('low_since', 'is not', null)
    .$narrowType<{ since: number }>()
}

/** A query of the accounts whose balance is used up. */
export function depletedBalances(db: Queries) {
  return db
    .selectFrom('ledgers')
    .select(['account_id', 'balance', 'depleted_since as since'])
    .where('depleted_since', 'is not', null)
    .$narrowType<{ since: number }>()
}

/** The numbers of accounts whose balance is sufficient, low (less than the warning time) or used up. */
export function countStandings(db: Queries): Promise<{ standing: string; total: number }[]> {
  return db
    .selectFrom('ledgers')
    .select((eb) => [
      eb
        .case()
        .when('depleted_since', 'is not', null)
        .then('depleted')
        .when('low_since', 'is not', null)
        .then('low')
        .else('enough')
        .end()
        .as('standing'),
      eb.fn.countAll<number>().as('total'),
    ])
    .groupBy('standing')
    .execute()
}

/** True if the balance is not below the line of automatic top-ups, so that the next fall below it triggers one. */
export function isAboveLine({ balance, top_up_below }: LedgerTable): boolean {
  return top_up_below !== null && balance >= top_up_below
}

/** Sets the balance below which an account is topped up automatically; null: never. */
export async function setTopUpLine(tx: Queries, accountId: string, below: number | null): Promise<void> {
  const line = { top_up_below: below, top_up_at: below === null ? null : 0 }
  await tx
    .insertInto('ledgers')
    .values({ account_id: accountId, ...EMPTY_LEDGER, ...line })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet(line))
    .execute()
}

/**
 * Sets the amount that an account may owe, so that it can pay afterwards. A lower limit applies from the next charge on.
 * @param limit units; 0: the account pays in advance
 */
export async function setCreditLimit(tx: Queries, accountId: string, limit: number): Promise<void> {
  const change = { credit_limit: limit, low_since: null }
  await tx
    .insertInto('ledgers')
    .values({ account_id: accountId, ...EMPTY_LEDGER, ...change })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet(change))
    .execute()
  await tx
    .updateTable('ledgers')
    .set({ depleted_since: null })
    .where('account_id', '=', accountId)
    .where((eb) => eb(eb('balance', '+', eb.ref('credit_limit')), '>', 0))
    .execute()
}

/** Queries the accounts whose balance is below their line, and for which a top-up may begin. */
export function belowTopUpLine(db: Queries, now: number) {
  return db
    .selectFrom('ledgers')
    .select('account_id')
    .whereRef('balance', '<', 'top_up_below')
    .where('top_up_at', '<=', now)
}

/** Claims the top-up for a balance that fell below its line. @returns false if another process has claimed it */
export async function takeFall(tx: Queries, accountId: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('ledgers')
    .set({ top_up_at: null })
    .where('account_id', '=', accountId)
    .whereRef('balance', '<', 'top_up_below')
    .where('top_up_at', '<=', now)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Sets the time from which an account may be topped up automatically again. */
export async function postponeTopUp(tx: Queries, accountId: string, until: number): Promise<void> {
  await tx.updateTable('ledgers').set({ top_up_at: until }).where('account_id', '=', accountId).execute()
}
