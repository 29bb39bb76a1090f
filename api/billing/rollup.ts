import type { Clock } from '../clock.ts'
import { type Database, deferReferences, type Queries } from '../database/database.ts'
import { monthStart } from './accrual.ts'
import { insertEntries, lockLedgers, noteProgress } from './ledger.ts'
import type { TransactionTable } from './tables.ts'

/** One round looks at no more accounts and entries than these, because charges wait for it. */
const ACCOUNTS_AT_ONCE = 20
const ENTRIES_A_ROUND = 20_000
/** The most entries of one transaction, for accounts with very many items. */
const MOST_AT_ONCE = 32_000

export interface RollingUp {
  db: Database
  clock: Clock
  /** The time for which single charges are kept; null: forever. */
  keepMs: number | null
  /** True if documents are issued. Charges are rolled up only after the document of their month. */
  hasDocuments: boolean
  /** The entries of one transaction, for which other writers wait (default: 2,000; more for accounts with many items). */
  entriesAtOnce?: number
  /** The accounts that failed in the previous round: they stay the first, and others come after them (default: 0). */
  failedBefore?: number
  /** Called for an account whose charges could not be rolled up. */
  onFault?: (accountId: string, error: unknown) => void
}

/** The charges of a period that were booked before a time. */
interface Stretch {
  accountId: string
  from: number
  until: number
  bookedBefore: number
}

/** The entry after which to continue, and the number of entries to read from there. */
interface Place {
  after: number
  limit: number
}

/**
 * Rolls up charges of months that ended long ago, for some of the accounts that have them. In each run of consecutive
 * charges, those of an item are replaced by one entry with their sum, in the place of the last. All balances around
 * the run stay the same, as do the sums by item, project and month. Each step is a transaction that locks the
 * account's ledger and notes its place. So any number of processes may do this, and die at any time.
 * @returns the number of accounts that failed
 */
export async function rollUpDue(options: RollingUp): Promise<number> {
  const { db, clock, keepMs, hasDocuments, entriesAtOnce = 2_000, failedBefore = 0, onFault } = options
  if (keepMs === null) return 0
  const bookedBefore = clock.now() - keepMs
  const until = monthStart(bookedBefore)
  const due = await db
    .selectFrom('ledgers')
    .select(['account_id', 'rolled_until'])
    .where('rolled_until', '<', until)
    // A document that is still to be issued recognizes late charges by their sequence, so its month must not be
    // rolled up yet.
    .$if(hasDocuments, (query) =>
      query.where((eb) => eb.or([eb('documented_until', '=', 0), eb('documented_until', '>=', until)])),
    )
    .orderBy('rolled_until')
    .limit(ACCOUNTS_AT_ONCE + failedBefore)
    .execute()
  let left = ENTRIES_A_ROUND
  let failed = 0
  for (const { account_id: accountId, rolled_until: from } of due)
    try {
      const stretch = { accountId, from, until, bookedBefore }
      while (left > 0 && stretch.from < until) {
        const month = await firstMonth(db, stretch)
        stretch.from = month.until
        left = await rollUpMonth(db, month, { limit: entriesAtOnce, left })
      }
    } catch (error) {
      failed += 1
      onFault?.(accountId, error)
    }
  return failed
}

/** Narrows a stretch to its first month with charges; returns it unchanged if it has none. */
async function firstMonth(db: Queries, stretch: Stretch): Promise<Stretch> {
  const first = await chargesOf(db, stretch).select('hour').orderBy('hour').limit(1).executeTakeFirst()
  if (first?.hour == null) return stretch
  return { ...stretch, from: monthStart(first.hour), until: monthStart(first.hour, 1) }
}

function chargesOf(db: Queries, { accountId, from, until }: Stretch) {
  const own = db.selectFrom('transactions').where('account_id', '=', accountId)
  return own.where('hour', '>=', from).where('hour', '<', until)
}

/** @returns the number of entries that this round may still read */
async function rollUpMonth(
  db: Database,
  month: Stretch,
  { limit, left }: { limit: number; left: number },
): Promise<number> {
  const { first, last } = await chargesOf(db, month)
    .select(({ fn }) => [fn.min<number | null>('sequence').as('first'), fn.max('sequence').as('last')])
    .executeTakeFirstOrThrow()
  // The first entry of a ledger is never rolled up: the chain begins with it.
  let place: Place | null = first === null ? null : { after: Math.max(1, first - 1), limit }
  let rest = left
  while (place !== null && place.after < last) {
    if (rest <= 0) return rest
    rest -= place.limit
    place = await rollUpAfter(db, month, place)
  }
  await noteProgress(db, month.accountId, { rolled_until: month.until, rolled_after: 0 })
  return rest
}

/** Rolls up charges after an entry. @returns the place to continue at; null if nothing is left */
function rollUpAfter(db: Database, month: Stretch, { after, limit }: Place): Promise<Place | null> {
  return db.transaction().execute(async (tx) => {
    const ledger = (await lockLedgers(tx, [month.accountId])).get(month.accountId)
    if (!ledger || ledger.rolled_until >= month.until) return null
    const entries = await tx
      .selectFrom('transactions')
      .selectAll()
      .where('account_id', '=', month.accountId)
      .where('sequence', '>', Math.max(after, ledger.rolled_after))
      .orderBy('sequence')
      .limit(limit)
      .execute()
    const last = entries.at(-1)
    if (!last) return null
    let taken = 0
    let cutOff: { begin: number; isRolledUp: boolean } | null = null
    for (const run of runsOf(entries, month)) {
      const rolled = rolledUp(run)
      if (rolled.length < run.length) await replace(tx, run, rolled)
      taken += run.length - rolled.length
      if (run.at(-1) === last && entries.length === limit)
        cutOff = { begin: run[0]?.previous ?? 0, isRolledUp: rolled.length * 2 <= limit }
    }
    // If the limit cut a run off, the next step starts at its beginning again, so that its parts are rolled up together.
    const isWider = cutOff !== null && !cutOff.isRolledUp && limit < MOST_AT_ONCE
    const next = cutOff?.isRolledUp || isWider ? (cutOff?.begin ?? 0) : last.sequence
    const rolled_entries = ledger.rolled_entries + taken
    await noteProgress(tx, month.accountId, { rolled_after: next, rolled_entries })
    return { after: next, limit: isWider ? limit * 2 : limit }
  })
}

/** Returns the runs of consecutive entries that are charges of the month. */
function runsOf(entries: readonly TransactionTable[], { from, until, bookedBefore }: Stretch) {
  const runs: TransactionTable[][] = []
  let run: TransactionTable[] = []
  for (const entry of entries) {
    const { hour, created_at } = entry
    if (hour !== null && hour >= from && hour < until && created_at < bookedBefore) {
      if (run.length === 0) runs.push(run)
      run.push(entry)
    } else run = []
  }
  return runs
}

/** Merges charges for the same item and project into the last of them. */
export function rolledUp(charges: readonly TransactionTable[]): TransactionTable[] {
  const sums = new Map<string, TransactionTable>()
  for (const charge of charges) {
    const key = [charge.item_id, charge.project_id, charge.bytes === null].join()
    const sum = sums.get(key)
    // Deleting first moves the key to the end of the map.
    sums.delete(key)
    sums.set(key, sum ? added(sum, charge) : charge)
  }
  let [previous, balance] = [charges[0]?.previous ?? null, charges[0]?.balance_before ?? 0]
  return [...sums.values()].map((sum) => {
    const entry = { ...sum, previous, balance_before: balance, balance_after: balance + sum.amount }
    previous = entry.sequence
    balance = entry.balance_after
    return entry
  })
}

function added(sum: TransactionTable, charge: TransactionTable): TransactionTable {
  return {
    ...charge,
    first_hour: sum.first_hour ?? sum.hour,
    amount: sum.amount + charge.amount,
    seconds: (sum.seconds ?? 0) + (charge.seconds ?? 0),
    bytes: charge.bytes === null ? null : (sum.bytes ?? 0) + charge.bytes,
  }
}

async function replace(
  tx: Queries,
  run: readonly TransactionTable[],
  rolled: readonly TransactionTable[],
): Promise<void> {
  const [first, last] = [run[0], run.at(-1)]
  if (!first || !last) return
  await deferReferences(tx)
  await tx
    .deleteFrom('transactions')
    .where('account_id', '=', first.account_id)
    .where('sequence', '>=', first.sequence)
    .where('sequence', '<=', last.sequence)
    .execute()
  await insertEntries(tx, rolled)
}
