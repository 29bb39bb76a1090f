import { createHash } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import type { Catalog } from '../../catalog/file.ts'
import type { Seller } from '../../catalog/operator.ts'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import { isoTime } from '../../http/contract/fields.ts'
import { formatMoney } from '../../money.ts'
import { monthStart } from '../accrual.ts'
import { lockLedgers, type NamedItems, namesOf, noteProgress, post } from '../ledger.ts'
import type { LedgerTable } from '../tables.ts'
import { monthName } from '../view.ts'
import { linesOf, sumOf } from './content.ts'
import { bookedSince, type Movement, movementOf, type Stretch } from './movement.ts'
import type { DocumentContent } from './schema.ts'
import type { DocumentTable } from './tables.ts'
import { percentOf, sumsOf } from './vat.ts'

/** One round looks at no more accounts than these, because charges wait for it. */
const AT_ONCE = 50
/** The pause before another look at an account that is not yet charged for the whole month. */
const CHARGED_IN_MS = 10 * 60_000
const AFTER_FAULT_MS = 3600_000

export interface Issuing {
  db: Database
  clock: Clock
  catalog: Pick<Catalog, 'operator'>
  items: NamedItems
  /** The account as documents name it, and the language of its people. */
  customerOf: (db: Queries, accountId: string) => Promise<Customer>
  projectNames: (db: Queries, accountId: string) => Promise<Map<string, string>>
  /** Called for an account whose document could not be issued. */
  onFault?: (accountId: string, error: unknown) => void
}

type Customer = Pick<DocumentContent, 'language'> & Pick<DocumentContent['customer'], 'name' | 'email'>

/**
 * Issues documents of months that have ended, for some of the accounts that are due. Each has a transaction of its own,
 * which locks the account's ledger, so that any number of processes may do this.
 * @returns the number of accounts looked at, at most AT_ONCE
 */
export async function issueDue(options: Issuing): Promise<number> {
  const { db, clock, catalog, onFault } = options
  const { seller } = catalog.operator
  if (!seller) return 0
  const due = await dueLedgers.all(db, { now: clock.now() })
  for (const { account_id: accountId } of due)
    try {
      await db.transaction().execute((tx) => issueNext(tx, options, { accountId, seller }))
    } catch (error) {
      onFault?.(accountId, error)
      await noteProgress(db, accountId, { document_due_at: clock.now() + AFTER_FAULT_MS })
    }
  return due.length
}

const dueLedgers = prepared((db, { now }: { now: number }) =>
  db
    .selectFrom('ledgers')
    .select('account_id')
    .where('document_due_at', '<=', now)
    .orderBy('document_due_at')
    .limit(AT_ONCE),
)

/** Issues the document of the first month that has none yet, and notes when the next one is due. */
async function issueNext(
  tx: Queries,
  options: Issuing,
  { accountId, seller }: { accountId: string; seller: Seller },
): Promise<void> {
  const now = options.clock.now()
  const ledger = (await lockLedgers(tx, [accountId])).get(accountId)
  // Another process may have issued it.
  if (!ledger || ledger.document_due_at > now) return
  const from = Math.max(ledger.documented_until, seller.firstMonth)
  const until = monthStart(from, 1)
  if (until > now) return noteProgress(tx, accountId, { document_due_at: until })
  if (await isCharging(tx, accountId, until))
    return noteProgress(tx, accountId, { document_due_at: now + CHARGED_IN_MS })
  const last = await lastDocument(tx, accountId)
  const after = last?.last_transaction ?? ledger.sequence ?? 0
  const stretch = { accountId, from, until, after }
  const movement = await movementOf(tx, stretch)
  if (movement.types.length > 0 || movement.sums.length > 0) {
    const opening = last?.closing_balance ?? ledger.balance - (await bookedSince(tx, accountId, from))
    await issue(tx, options, { seller, ledger, stretch, movement, opening })
  }
  await noteProgress(tx, accountId, { documented_until: until, document_due_at: monthStart(until, 1) })
}

/** True if an item may still be charged for time before a moment. */
export async function isCharging(tx: Queries, accountId: string, until: number): Promise<boolean> {
  const meter = await tx
    .selectFrom('billing_meters')
    .select('item_id')
    .where('account_id', '=', accountId)
    .where('due_at', 'is not', null)
    .where('charged_until', '<', until)
    .limit(1)
    .executeTakeFirst()
  return meter !== undefined
}

function lastDocument(tx: Queries, accountId: string) {
  return tx
    .selectFrom('documents')
    .select(['closing_balance', 'last_transaction'])
    .where('account_id', '=', accountId)
    .where('corrects', 'is', null)
    .orderBy('month', 'desc')
    .limit(1)
    .executeTakeFirst()
}

interface Issue {
  seller: Seller
  ledger: LedgerTable
  stretch: Stretch
  movement: Movement
  /** Units. */
  opening: number
}

async function issue(tx: Queries, options: Issuing, given: Issue): Promise<void> {
  const { seller, ledger, stretch, movement, opening } = given
  const { accountId } = stretch
  const { vat, total } = sumsOf(sumOf(movement.types), seller.vat)
  const sequence = await nextNumber(tx, seller.taxId)
  const key = { document_id: uuid(), number: `${seller.numberPrefix}${sequence}` }
  const content = await contentOf(tx, options, { ...given, ...key })
  const text = JSON.stringify(content)
  const row: DocumentTable = {
    ...key,
    ...{ account_id: accountId, seller: seller.taxId, sequence, type: content.type, month: stretch.from },
    ...{ last_transaction: ledger.sequence ?? 0, vat, total, opening_balance: opening },
    closing_balance: opening - sumOf(movement.types) + sumOf(movement.sums),
    ...{ corrects: null, corrected: null, reference: null },
    content: text,
    sha256: sha256Of(text),
    issued_at: Date.parse(content.issued_at),
    mail_at: mailAt(content, stretch.until),
  }
  await tx.insertInto('documents').values(row).execute()
  if (!seller.vat || seller.vat.isIncluded || vat === 0) return
  await post(tx, options.clock, {
    ...{ accountId, type: 'correction', amount: 0 - vat, reference: `vat:${key.document_id}` },
    description: `VAT of ${percentOf(seller.vat)} % for ${content.period}, document ${key.number}`,
  })
}

/** Statements need no mail. Nor do months long ago: an operator who sets the seller late issues many of them at once. */
function mailAt({ type, issued_at }: DocumentContent, until: number): number | null {
  const now = Date.parse(issued_at)
  return type === 'invoice' && monthStart(until, 1) > now ? now : null
}

/** Locks the row of the series until the transaction ends, so that a failed transaction uses up no number. */
export async function nextNumber(tx: Queries, seller: string): Promise<number> {
  const { last_number } = await tx
    .insertInto('document_series')
    .values({ seller, last_number: 1 })
    .onConflict((conflict) =>
      conflict
        .column('seller')
        .doUpdateSet((eb) => ({ last_number: eb('document_series.last_number', '+', 1) })),
    )
    .returning('last_number')
    .executeTakeFirstOrThrow()
  return last_number
}

async function contentOf(
  tx: Queries,
  { clock, items, customerOf, projectNames }: Issuing,
  {
    seller,
    stretch,
    movement,
    opening,
    document_id,
    number,
  }: Issue & { document_id: string; number: string },
): Promise<DocumentContent> {
  const { accountId, from } = stretch
  const ids = new Set(movement.items.map(({ item_id }) => item_id))
  const names = {
    items: await namesOf(tx, items, accountId, [...ids]),
    projects: await projectNames(tx, accountId),
  }
  const { language, name, email } = await customerOf(tx, accountId)
  const charged = sumOf(movement.types)
  const { net, vat, total } = sumsOf(charged, seller.vat)
  return {
    ...{ document_id, type: movement.types.length > 0 ? 'invoice' : 'statement', number },
    ...{ period: monthName(from), currency: 'RUB', language, issued_at: isoTime(clock.now()) },
    seller: { name: seller.name, address: seller.address, tax_id: seller.taxId },
    customer: { account_id: accountId, name, email },
    vat: seller.vat && { percent: percentOf(seller.vat), is_included: seller.vat.isIncluded },
    ...linesOf(movement, names),
    charges_rub: formatMoney(charged),
    net_rub: formatMoney(net),
    vat_rub: formatMoney(vat),
    total_rub: formatMoney(total),
    opening_balance_rub: formatMoney(opening),
    closing_balance_rub: formatMoney(opening - charged + sumOf(movement.sums)),
  }
}

export function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
