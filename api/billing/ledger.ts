import { sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import type { Clock } from '../clock.ts'
import { inTransaction, type Lent, type Queries } from '../database/database.ts'
import type { Page } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { audit, type Event, record } from '../events/outbox.ts'
import { ApiError } from '../http/contract/problem.ts'
import { formatMoney, UNITS_PER_KOPECK, wholeTimes } from '../money.ts'
import { costsNow } from './rates.ts'
import { billingProblems } from './schema.ts'
import { EMPTY_LEDGER, fundsOf, isAboveLine, standing } from './standing.ts'
import type { LedgerTable, TransactionTable } from './tables.ts'

/** Every item that is or was billed, with its last name. The name of a public address is the address itself. */
export type NamedItems = Lent<{ item_id: string; account_id: string; name: string }>

export interface Entry {
  accountId: string
  type: TransactionTable['type']
  /** The amount in units, which is zero or less for charges. */
  amount: number
  description: string
  /** Makes a repeat harmless: a second entry with the same reference is not booked. */
  reference?: string | null | undefined
  /** The item and the time that a charge is for. */
  charged?: Pick<TransactionTable, keyof typeof NO_CHARGE>
}

const NO_CHARGE = { item_type: null, item_id: null, project_id: null, hour: null, seconds: null, bytes: null }

/** The reference was booked before, with another amount or in another account. */
export class ReferenceTaken extends Error {
  constructor(earlier: TransactionTable, { accountId, amount }: { accountId: string; amount: number }) {
    const isOwn = earlier.account_id === accountId
    const used = `${formatMoney(earlier.amount)}${isOwn ? '' : ` in the account ${earlier.account_id}`}`
    const wanted = isOwn ? `, not ${formatMoney(amount)}` : ''
    super(`the reference ${earlier.reference} was used for an entry of ${used}${wanted}`)
  }
}

/**
 * Adds an entry to an account's ledger, and to its audit log with the amount. All payments, refunds and corrections
 * are booked here.
 * @returns the entry, even if its reference was written before
 * @throws ReferenceTaken if it was booked with another amount or in another account
 */
export function post(
  db: Queries,
  clock: Clock,
  entry: Entry & { type: 'payment' | 'refund' | 'correction' },
): Promise<{ entry: TransactionTable; isNew: boolean }> {
  const { accountId, reference, amount } = entry
  return inTransaction(db, async (tx) => {
    const ledgers = await lockLedgers(tx, [accountId])
    const earlier = reference ? await findByReference(tx, accountId, reference) : undefined
    if (earlier && (earlier.amount !== amount || earlier.account_id !== accountId))
      throw new ReferenceTaken(earlier, entry)
    if (earlier) return { entry: earlier, isNew: false }
    const now = clock.now()
    const [written] = append(ledgers, [entry], now)
    if (!written) throw new Error('an entry was not written')
    const ledger = ledgers.get(accountId)
    if (ledger && entry.type === 'payment') ledger.paid += amount
    if (ledger && amount > 0) {
      // The next charge finds out if the balance is still low.
      ledger.low_since = null
      if (fundsOf(ledger) > 0) ledger.depleted_since = null
      if (isAboveLine(ledger)) ledger.top_up_at = 0
    }
    await save(tx, [...ledgers.values()], [written])
    if (reference) await takeReference(tx, { ...entry, reference }, written.sequence)
    await audit(tx, [accountId], {
      objectType: 'transaction',
      objectId: written.transaction_id,
      amount,
      at: now,
    })
    const data = { amount: formatMoney(amount), balance: formatMoney(written.balance_after) }
    if (amount > 0) await record(tx, [{ accountId, type: 'balance.topped_up', data, at: now }])
    return { entry: written, isNew: true }
  })
}

/** Adds charges to the ledgers of many accounts, and notes which balances they make low or use up. */
export async function charge(tx: Queries, charges: readonly Entry[], now: number): Promise<void> {
  if (charges.length === 0) return
  const ledgers = await lockLedgers(tx, [...new Set(charges.map(({ accountId }) => accountId))])
  const rows = append(ledgers, charges, now)
  const costs = await costsNow(tx, [...ledgers.keys()])
  const events: Event[] = []
  for (const [accountId, ledger] of ledgers) {
    const { event, ...since } = standing(ledger, costs.get(accountId)?.hour ?? 0, now)
    ledgers.set(accountId, { ...ledger, ...since })
    if (event) events.push(event)
  }
  await save(tx, [...ledgers.values()], rows)
  await record(tx, events)
}

/**
 * Locks these ledgers until the transaction ends, and returns their last sequences and balances. Creates missing
 * rows.
 */
export async function lockLedgers(
  tx: Queries,
  accountIds: readonly string[],
): Promise<Map<string, LedgerTable>> {
  // Rows are locked in one order, so that no two writers wait for each other.
  const rows = [...accountIds].sort().map((account_id) => ({ account_id, ...EMPTY_LEDGER }))
  const ledgers = await tx
    .insertInto('ledgers')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet((eb) => ({ account_id: eb.ref('excluded.account_id') })),
    )
    .returningAll()
    .execute()
  return new Map(ledgers.map((ledger) => [ledger.account_id, ledger]))
}

/** Builds the rows of new entries, and advances the given ledgers past them. */
function append(
  ledgers: ReadonlyMap<string, LedgerTable>,
  entries: readonly Entry[],
  now: number,
): TransactionTable[] {
  return entries.map(({ accountId, type, amount, description, reference = null, charged }) => {
    const ledger = ledgers.get(accountId)
    if (!ledger) throw new Error('the ledger of the entry is not locked')
    const { sequence: previous, balance: balance_before } = ledger
    ledger.sequence = (previous ?? 0) + 1
    ledger.balance = balance_before + amount
    return {
      transaction_id: uuid(),
      account_id: accountId,
      sequence: ledger.sequence,
      previous,
      type,
      balance_before,
      amount,
      balance_after: ledger.balance,
      ...(charged ?? NO_CHARGE),
      server_id: charged?.item_id ?? null,
      first_hour: null,
      description,
      reference,
      created_at: now,
    }
  })
}

/** Bounds the parameters of one statement: SQLite takes 32,766, PostgreSQL 65,535. */
const ROWS_AT_ONCE = 1000

async function save(
  tx: Queries,
  ledgers: readonly LedgerTable[],
  rows: readonly TransactionTable[],
): Promise<void> {
  await insertEntries(tx, rows)
  await tx
    .insertInto('ledgers')
    .values(ledgers)
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet((eb) => ({
        sequence: eb.ref('excluded.sequence'),
        balance: eb.ref('excluded.balance'),
        paid: eb.ref('excluded.paid'),
        low_since: eb.ref('excluded.low_since'),
        depleted_since: eb.ref('excluded.depleted_since'),
        top_up_at: eb.ref('excluded.top_up_at'),
      })),
    )
    .execute()
}

/** Inserts rows that continue an account's chain, or replace a part of it. */
export async function insertEntries(tx: Queries, rows: readonly TransactionTable[]): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
    await tx
      .insertInto('transactions')
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .execute()
}

/** Finds the entry that was booked with a reference, in this account or another. */
async function findByReference(
  db: Queries,
  accountId: string,
  reference: string,
): Promise<TransactionTable | undefined> {
  const own = db.selectFrom('transactions').selectAll().where('account_id', '=', accountId)
  return (await own.where('reference', '=', reference).executeTakeFirst()) ?? bookedAs(db, reference)
}

function bookedAs(db: Queries, reference: string): Promise<TransactionTable | undefined> {
  return db
    .selectFrom('booked_references as booked')
    .innerJoin('transactions', (join) =>
      join
        .onRef('transactions.account_id', '=', 'booked.account_id')
        .onRef('transactions.sequence', '=', 'booked.sequence'),
    )
    .selectAll('transactions')
    .where('booked.reference', '=', reference)
    .executeTakeFirst()
}

/** @throws ReferenceTaken if another account took it at the same time */
async function takeReference(
  tx: Queries,
  entry: { accountId: string; amount: number; reference: string },
  sequence: number,
): Promise<void> {
  const { accountId: account_id, reference } = entry
  const { numInsertedOrUpdatedRows = 0n } = await tx
    .insertInto('booked_references')
    .values({ reference, account_id, sequence })
    .onConflict((conflict) => conflict.column('reference').doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows > 0n) return
  const other = await bookedAs(tx, reference)
  throw other ? new ReferenceTaken(other, entry) : new Error('a reference without its entry')
}

type Progress = 'documented_until' | 'document_due_at' | 'rolled_until' | 'rolled_after' | 'rolled_entries'

/** Notes the month up to which an account's entries are in documents or rolled up. */
export async function noteProgress(
  db: Queries,
  accountId: string,
  note: Partial<Pick<LedgerTable, Progress>>,
): Promise<void> {
  await db.updateTable('ledgers').set(note).where('account_id', '=', accountId).execute()
}

/** The ledgers of many accounts, by account; accounts without entries are absent. */
export async function ledgersOf(
  db: Queries,
  accountIds: readonly string[],
): Promise<Map<string, LedgerTable>> {
  if (accountIds.length === 0) return new Map()
  const rows = await db.selectFrom('ledgers').selectAll().where('account_id', 'in', accountIds).execute()
  return new Map(rows.map((row) => [row.account_id, row]))
}

/** Returns the accounts of a list that have an entry with a reference. */
export async function accountsBooked(
  db: Queries,
  accounts: Lent<{ account_id: string }>,
  reference: string,
): Promise<string[]> {
  const rows = await db
    .selectFrom('transactions')
    .innerJoin(accounts(db).as('wanted'), 'wanted.account_id', 'transactions.account_id')
    .select('wanted.account_id')
    .where('reference', '=', reference)
    .orderBy('wanted.account_id')
    .execute()
  return rows.map(({ account_id }) => account_id)
}

/** True if an account has an entry with a reference. */
export async function isBooked(db: Queries, accountId: string, reference: string): Promise<boolean> {
  return (await findByReference(db, accountId, reference))?.account_id === accountId
}

/** Units. */
export async function balanceOf(db: Queries, accountId: string): Promise<number> {
  const own = db.selectFrom('ledgers').where('account_id', '=', accountId)
  return (await own.select('balance').executeTakeFirst())?.balance ?? 0
}

/** The amount that an account can spend: its balance and its credit limit, in units. */
export async function fundsLeft(db: Queries, accountId: string): Promise<number> {
  return (await fundsIn(db, accountId).executeTakeFirst())?.funds ?? 0
}

/** A query of the same; no row if nothing was ever booked. */
export function fundsIn(db: Queries, accountId: string) {
  const own = db.selectFrom('ledgers').where('account_id', '=', accountId)
  return own.select((eb) => eb('balance', '+', eb.ref('credit_limit')).as('funds'))
}

/** Returns the sum in units of an account's payments, less chargebacks; gifts do not count. */
export async function paidBy(db: Queries, accountId: string): Promise<number> {
  const row = await paid.first(db, { accountId })
  return row?.paid ?? 0
}

/** A query of the same; no row if nothing was ever booked. */
export function paidIn(db: Queries, accountId: string) {
  return db.selectFrom('ledgers').select('paid').where('account_id', '=', accountId)
}

const paid = prepared((db, { accountId }: { accountId: string }) => paidIn(db, accountId))

/**
 * Queries the accounts whose grace period is over. Either the balance was used up before a moment, or the debt beyond
 * the credit limit equals all payments. So accounts that never paid have no grace period.
 */
export function accountsOverdue(db: Queries, moment: number) {
  return db
    .selectFrom('ledgers')
    .selectAll()
    .where('depleted_since', 'is not', null)
    .where((eb) =>
      eb.or([eb('depleted_since', '<=', moment), eb(sql<number>`balance + credit_limit + paid`, '<=', 0)]),
    )
}

/** Queries the accounts that can still spend money. */
export function accountsInCredit(db: Queries) {
  return db
    .selectFrom('ledgers')
    .select('account_id')
    .where((eb) => eb(eb('balance', '+', eb.ref('credit_limit')), '>', 0))
}

/** An account's entries, newest first, each with its item's name. */
export async function listTransactions(db: Queries, lent: NamedItems, accountId: string, page: Page) {
  const ofAccount = db.selectFrom('transactions').where('account_id', '=', accountId)
  const entries = await ofAccount
    .selectAll()
    .orderBy('sequence', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const ids = new Set(entries.flatMap(({ item_id }) => item_id ?? []))
  const names = await namesOf(db, lent, accountId, [...ids])
  const items = entries.map((entry) => ({ ...entry, item_name: names.get(entry.item_id ?? '') ?? null }))
  // The last sequence counts the entries, since only those that were rolled up have left gaps.
  const ledger = await db
    .selectFrom('ledgers')
    .select((eb) => eb(eb.fn.coalesce('sequence', eb.lit(0)), '-', eb.ref('rolled_entries')).as('total'))
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return { items, total: ledger?.total ?? 0 }
}

/** The names of items of an account, by their ids; those that are unknown, or moved to another account, are absent. */
export async function namesOf(db: Queries, items: NamedItems, accountId: string, itemIds: readonly string[]) {
  if (itemIds.length === 0) return new Map<string, string>()
  const own = db.selectFrom(items(db).as('items')).where('account_id', '=', accountId)
  const rows = await own.select(['item_id', 'name']).where('item_id', 'in', itemIds).execute()
  return new Map(rows.map(({ item_id, name }) => [item_id, name]))
}

/**
 * @param moment the grace period is over if the balance was used up before this time
 * @throws ApiError insufficient_balance
 */
export async function requireGrace(
  tx: Queries,
  accountId: string,
  priceHour: number,
  moment: number,
): Promise<void> {
  const overdue = await accountsOverdue(tx, moment).where('account_id', '=', accountId).executeTakeFirst()
  if (overdue) throw insufficientBalance(fundsOf(overdue), priceHour, 'The balance is used up. ')
}

const HOURS_TO_COVER = 24

/**
 * The balance that an order requires, in units, rounded up to whole kopecks.
 * @param priceHour units, of everything that the account then pays for
 */
export function coverOf(priceHour: number): number {
  return wholeTimes(priceHour * HOURS_TO_COVER + UNITS_PER_KOPECK - 1, UNITS_PER_KOPECK) * UNITS_PER_KOPECK
}

/**
 * Checks that what the account can spend covers a day of everything that it then pays for.
 * @param funds units
 * @param priceHour units, of everything
 * @throws ApiError insufficient_balance
 */
export function requireFunds(funds: number, priceHour: number): void {
  if (funds < coverOf(priceHour))
    throw insufficientBalance(funds, priceHour, 'The balance must cover all servers of the account. ')
}

/** @param funds units @param priceHour units */
export function insufficientBalance(funds: number, priceHour: number, why: string): ApiError {
  // The sum is rounded down, because half up it may seem to be enough.
  const rest = ((funds % UNITS_PER_KOPECK) + UNITS_PER_KOPECK) % UNITS_PER_KOPECK
  const [needed, available] = [formatMoney(coverOf(priceHour)), formatMoney(funds - rest)]
  return new ApiError(
    billingProblems.insufficient_balance,
    `${why}At least ${needed} rubles are required, for the first ${HOURS_TO_COVER} hours; ${available} is available. Top up the balance first.`,
    { required: needed, available },
  )
}
