import { v7 as uuid } from 'uuid'
import { isCharging } from '../billing/documents/issuing.ts'
import { ledgersOf, lockLedgers, post } from '../billing/ledger.ts'
import type { LedgerTable } from '../billing/tables.ts'
import { chargedAfter } from '../billing/usage.ts'
import type { Clock } from '../clock.ts'
import { type Database, isLockFailure, type Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { type Page, pageOf } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { record } from '../events/outbox.ts'
import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import { formatMoney } from '../money.ts'
import type { AccountCredit } from './schema.ts'
import type { CreditTable } from './tables.ts'

const DAY_MS = 24 * 3600_000
/** The most accounts whose ended credit one pass books. */
const AT_ONCE = 50
/** The pause before a credit is checked again while its last hours are not charged yet. */
const CHARGED_IN_MS = 10 * 60_000
const AFTER_FAULT_MS = 3600_000

interface Place {
  db: Database
  clock: Clock
}

/** A credit to give to an account. */
interface Grant {
  accountId: string
  /** Units. */
  amount: number
  days: number
  promoCodeId: string | null
  description: string
}

/**
 * Gives an account credit. A debt is paid first; charges use the credit before other money.
 * @returns the credit; null if the account has redeemed this code before, and got nothing
 */
export async function grant(tx: Queries, clock: Clock, given: Grant): Promise<CreditTable | null> {
  const { accountId, amount, days, promoCodeId, description } = given
  const now = clock.now()
  const ledger = await lockLedger(tx, accountId)
  await settle(tx, ledger, now)
  const row: CreditTable = {
    ...{ credit_id: uuid(), account_id: accountId, promo_code_id: promoCodeId, amount },
    unspent: amount - Math.min(amount, Math.max(0, -ledger.balance)),
    ...{ counted_to: ledger.sequence ?? 0, expired: 0, created_at: now, ended_at: null },
    ...{ expires_at: now + days * DAY_MS, look_at: now + days * DAY_MS },
  }
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('credits')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) return null
  const reference = `credit:${row.credit_id}`
  const { entry } = await post(tx, clock, { accountId, type: 'correction', amount, description, reference })
  const data = creditView(row, entry.balance_after)
  await record(tx, [{ accountId, type: 'credit.granted', data, at: now }])
  return row
}

async function lockLedger(tx: Queries, accountId: string): Promise<LedgerTable> {
  const ledger = (await lockLedgers(tx, [accountId])).get(accountId)
  if (!ledger) throw new Error('a ledger was not locked')
  return ledger
}

function openCredits(db: Queries, accountId: string): Promise<CreditTable[]> {
  return db
    .selectFrom('credits')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('ended_at', 'is', null)
    .orderBy('expires_at')
    .orderBy('credit_id')
    .execute()
}

/** Returns the open credits of an account, reduced by all charges up to its last entry. */
async function countedCredits(db: Queries, ledger: LedgerTable): Promise<CreditTable[]> {
  const open = await openCredits(db, ledger.account_id)
  if (open.length === 0) return []
  // All were counted together, and no charge came between that count and the youngest credit.
  const from = Math.min(...open.map(({ counted_to }) => counted_to))
  const { charged, left } = await chargedAfter(db, ledger, from)
  // Debits that other money does not cover take credit, so that what is paid later never expires in its place.
  const unspent = open.reduce((sum, credit) => sum + credit.unspent, 0)
  return spend(open, Math.max(charged, unspent - left), ledger.sequence ?? 0)
}

/** Divides charges among credits in their order: those that end first are used first. */
function spend(open: readonly CreditTable[], charged: number, counted_to: number): CreditTable[] {
  let rest = charged
  return open.map((credit) => {
    const used = Math.min(credit.unspent, rest)
    rest -= used
    return { ...credit, unspent: credit.unspent - used, counted_to }
  })
}

/** Saves how much of an account's credits is used; its ledger is locked. @returns the credits that are left */
async function settle(tx: Queries, ledger: LedgerTable, now: number): Promise<CreditTable[]> {
  const counted = await countedCredits(tx, ledger)
  for (const { credit_id, unspent, counted_to } of counted)
    await tx
      .updateTable('credits')
      .set({ unspent, counted_to, ...(unspent === 0 && { ended_at: now, look_at: null }) })
      .where('credit_id', '=', credit_id)
      .execute()
  return counted.filter(({ unspent }) => unspent > 0)
}

/**
 * Books the expiry of due credits, each once, in a transaction of its account. No more expires than charges, debits and
 * refunds have left of the balance.
 * @param place.onFault is called for an account that failed, which is tried again in an hour
 * @returns the number of accounts checked, at most AT_ONCE
 */
export async function expireDue({
  db,
  clock,
  onFault,
}: Place & { onFault?: (accountId: string, error: unknown) => void }): Promise<number> {
  const now = clock.now()
  const due = await dueCredits.all(db, { now })
  const accountIds = new Set(due.map(({ account_id }) => account_id))
  for (const accountId of accountIds)
    try {
      await db.transaction().execute((tx) => expireOf(tx, clock, accountId))
    } catch (error) {
      if (isLockFailure(error)) continue
      onFault?.(accountId, error)
      await db
        .updateTable('credits')
        .set({ look_at: now + AFTER_FAULT_MS })
        .where('account_id', '=', accountId)
        .where('look_at', '<=', now)
        .execute()
    }
  return accountIds.size
}

const dueCredits = prepared((db, { now }: { now: number }) =>
  db.selectFrom('credits').select('account_id').where('look_at', '<=', now).orderBy('look_at').limit(AT_ONCE),
)

async function expireOf(tx: Queries, clock: Clock, accountId: string): Promise<void> {
  const now = clock.now()
  const ledger = await lockLedger(tx, accountId)
  let { balance } = ledger
  for (const credit of await settle(tx, ledger, now)) {
    const { credit_id, unspent, expires_at } = credit
    if (expires_at > now) continue
    if (await isCharging(tx, accountId, expires_at)) {
      const later = { look_at: now + CHARGED_IN_MS }
      await tx.updateTable('credits').set(later).where('credit_id', '=', credit_id).execute()
      continue
    }
    const expired = Math.min(unspent, Math.max(0, balance))
    balance -= expired
    const ended = { expired, look_at: null, ended_at: now }
    await tx.updateTable('credits').set(ended).where('credit_id', '=', credit_id).execute()
    if (expired === 0) continue
    await post(tx, clock, {
      ...{ accountId, type: 'correction', amount: -expired, reference: `credit:${credit_id}:expired` },
      description: `Credit of ${isoTime(credit.created_at).slice(0, 10)} expired`,
    })
    const data = creditView({ ...credit, ...ended }, balance)
    await record(tx, [{ accountId, type: 'credit.expired', data, at: now }])
  }
}

/** The number of credits of an account that have not ended. */
export async function countOpen(db: Queries, accountId: string): Promise<number> {
  return (await openCredits(db, accountId)).length
}

/** An account's credits, newest first, as the customer sees them. */
export async function listCredits(
  db: Queries,
  accountId: string,
  page: Page,
): Promise<{ items: AccountCredit[]; total: number }> {
  const own = db.selectFrom('credits').selectAll().where('account_id', '=', accountId)
  const { items, total } = await pageOf(own.orderBy('credit_id', 'desc'), page)
  const ledger = (await ledgersOf(db, [accountId])).get(accountId)
  const counted = ledger ? await countedCredits(db, ledger) : []
  const current = (row: CreditTable) => counted.find(({ credit_id }) => credit_id === row.credit_id) ?? row
  return { total, items: items.map((row) => creditView(current(row), ledger?.balance ?? 0)) }
}

/** @throws Error if there is none */
export async function showCredit(db: Queries, accountId: string, creditId: string): Promise<AccountCredit> {
  const row = await db
    .selectFrom('credits')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('credit_id', '=', creditId)
    .executeTakeFirstOrThrow()
  const ledger = (await ledgersOf(db, [accountId])).get(accountId)
  return creditView(row, ledger?.balance ?? 0)
}

/** @param balance of the account, in units */
function creditView(row: CreditTable, balance: number): AccountCredit {
  const left = row.ended_at === null ? Math.min(row.unspent, Math.max(0, balance)) : 0
  return {
    credit_id: row.credit_id,
    source: row.promo_code_id === null ? 'trial' : 'promo_code',
    amount_rub: formatMoney(row.amount),
    left_rub: formatMoney(left),
    expired_rub: formatMoney(row.expired),
    expires_at: isoTime(row.expires_at),
    ended_at: isoTimeOrNull(row.ended_at),
    created_at: isoTime(row.created_at),
  }
}

/** Deletes at most `limit` credits that ended before a moment and whose code is gone. @returns the number deleted */
export function forgetCredits(db: Database, before: number, limit: number): Promise<number> {
  const codes = db.selectFrom('promo_codes').select('promo_code_id')
  const ended = db
    .selectFrom('credits')
    .select('credit_id')
    .where('ended_at', '<', before)
    .where((eb) => eb.or([eb('promo_code_id', 'is', null), eb('promo_code_id', 'not in', codes)]))
  return deleteFound(db, 'credits', 'credit_id', ended.limit(limit))
}
