import { v7 as uuid } from 'uuid'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { Page } from '../database/page.ts'
import type { LedgerTable, TransactionTable } from '../database/schema.ts'
import { type Event, record } from '../events/outbox.ts'
import { ApiError } from '../http/problem.ts'
import { formatMoney } from '../money.ts'
import { costsNow } from './rates.ts'
import { billingProblems } from './schema.ts'
import { standing } from './standing.ts'

export interface Entry {
  accountId: string
  type: TransactionTable['type']
  /** Units; charges are not above zero. */
  amount: number
  description: string
  /** The same reference a second time changes nothing. */
  reference?: string | null | undefined
  /** What a charge is for. */
  charged?: Pick<TransactionTable, 'server_id' | 'project_id' | 'hour' | 'seconds'>
}

/** A reference was booked before, for something else. */
export class ReferenceTaken extends Error {
  readonly entry: TransactionTable

  constructor(entry: TransactionTable) {
    super(`the reference ${entry.reference} is that of an entry of ${formatMoney(entry.amount)}`)
    this.entry = entry
  }
}

/**
 * The one door through which money comes in, or is taken back: adds an entry to an account's ledger.
 * @returns the entry, also where its reference was written before
 * @throws ReferenceTaken where that was with another amount
 */
export function post(
  db: Database,
  clock: Clock,
  entry: Entry & { type: 'payment' | 'refund' | 'correction' },
): Promise<{ entry: TransactionTable; isNew: boolean }> {
  const { accountId, reference, amount } = entry
  return db.transaction().execute(async (tx) => {
    const ledgers = await lockLedgers(tx, [accountId])
    const earlier = reference ? await findByReference(tx, accountId, reference) : undefined
    if (earlier && earlier.amount !== amount) throw new ReferenceTaken(earlier)
    if (earlier) return { entry: earlier, isNew: false }
    const now = clock.now()
    const [written] = append(ledgers, [entry], now)
    if (!written) throw new Error('an entry was not written')
    const ledger = ledgers.get(accountId)
    if (ledger && amount > 0) {
      // Whether it is still low, the next charge says.
      ledger.low_since = null
      if (ledger.balance > 0) ledger.depleted_since = null
    }
    await save(tx, [...ledgers.values()], [written])
    const data = { amount: formatMoney(amount), balance: formatMoney(written.balance_after) }
    if (amount > 0) await record(tx, [{ accountId, type: 'balance.topped_up', data, at: now }])
    return { entry: written, isNew: true }
  })
}

/** Adds charges to the ledgers of many accounts, and notes which balances run low or are used up by them. */
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

/** The ends of these ledgers, made where they are missing, and nobody else's until this transaction ends. */
async function lockLedgers(tx: Queries, accountIds: readonly string[]): Promise<Map<string, LedgerTable>> {
  const empty = { sequence: null, balance: 0, low_since: null, depleted_since: null }
  // In one order, so that no two writers wait for each other.
  const rows = [...accountIds].sort().map((account_id) => ({ account_id, ...empty }))
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

/** The next rows of these ledgers, which it moves on. */
function append(
  ledgers: ReadonlyMap<string, LedgerTable>,
  entries: readonly Entry[],
  now: number,
): TransactionTable[] {
  return entries.map(({ accountId, type, amount, description, reference = null, charged }) => {
    const ledger = ledgers.get(accountId)
    if (!ledger) throw new Error('an entry for a ledger that is not locked')
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
      ...(charged ?? { server_id: null, project_id: null, hour: null, seconds: null }),
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
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
    await tx
      .insertInto('transactions')
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .execute()
  await tx
    .insertInto('ledgers')
    .values(ledgers)
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet((eb) => ({
        sequence: eb.ref('excluded.sequence'),
        balance: eb.ref('excluded.balance'),
        low_since: eb.ref('excluded.low_since'),
        depleted_since: eb.ref('excluded.depleted_since'),
      })),
    )
    .execute()
}

function findByReference(db: Queries, accountId: string, reference: string) {
  return db
    .selectFrom('transactions')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('reference', '=', reference)
    .executeTakeFirst()
}

/** Units. */
export async function balanceOf(db: Queries, accountId: string): Promise<number> {
  const row = await db
    .selectFrom('ledgers')
    .select('balance')
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row?.balance ?? 0
}

/** A query of the accounts whose balance has been used up since before a moment. */
export function accountsDepletedAt(db: Queries, moment: number) {
  return db.selectFrom('ledgers').select('account_id').where('depleted_since', '<=', moment)
}

/** A query of the accounts whose balance is above zero. */
export function accountsInCredit(db: Queries) {
  return db.selectFrom('ledgers').select('account_id').where('balance', '>', 0)
}

/** Newest first. */
export async function listTransactions(db: Queries, accountId: string, page: Page) {
  const ofAccount = db.selectFrom('transactions').where('account_id', '=', accountId)
  const items = await ofAccount
    .selectAll()
    .orderBy('sequence', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  // Entries are numbered without gaps: the last one's number is how many there are.
  const ledger = await db
    .selectFrom('ledgers')
    .select('sequence')
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return { items, total: ledger?.sequence ?? 0 }
}

/**
 * @param moment the balance must not have been used up since before it: then the time of grace is over
 * @throws ApiError insufficient_balance
 */
export async function requireGrace(
  tx: Queries,
  accountId: string,
  priceHour: number,
  moment: number,
): Promise<void> {
  const ledger = await tx
    .selectFrom('ledgers')
    .select(['balance', 'depleted_since'])
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  if (ledger && ledger.depleted_since !== null && ledger.depleted_since <= moment)
    throw insufficientBalance(ledger.balance, priceHour, 'The balance is used up. ')
}

const HOURS_TO_COVER = 24

/**
 * Starting something needs a balance for a day of all that the account then pays for.
 * @param priceHour units, of all of it
 * @throws ApiError insufficient_balance
 */
export async function requireBalance(tx: Queries, accountId: string, priceHour: number): Promise<void> {
  const balance = await balanceOf(tx, accountId)
  if (balance < priceHour * HOURS_TO_COVER)
    throw insufficientBalance(balance, priceHour, 'The balance must cover all servers of the account. ')
}

/** @param balance units @param priceHour units */
export function insufficientBalance(balance: number, priceHour: number, why: string): ApiError {
  const [needed, available] = [formatMoney(priceHour * HOURS_TO_COVER), formatMoney(balance)]
  return new ApiError(
    billingProblems.insufficient_balance,
    `${why}At least ${needed} rubles are required, for the first ${HOURS_TO_COVER} hours; the balance is ${available}. Top it up first.`,
    { required: needed, available },
  )
}
