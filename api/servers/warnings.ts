import { sql } from 'kysely'
import { findAccount } from '../accounts/accounts.ts'
import { changedSince } from '../accounts/status.ts'
import type { AccountTable } from '../accounts/tables.ts'
import { ledgersOf } from '../billing/ledger.ts'
import { costsNow } from '../billing/rates.ts'
import { depletedBalances, EMPTY_LEDGER, lowBalances } from '../billing/standing.ts'
import type { Catalog } from '../catalog/file.ts'
import { topUpUrl } from '../catalog/operator.ts'
import type { Clock } from '../clock.ts'
import { type Database, inTransactions, type Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { Role } from '../http/contract/auth.ts'
import { countMails, enqueueMail, MOST_WAITING } from '../mail/queue.ts'
import { formatMoney } from '../money.ts'
import { mailOf, pageOfAccount } from '../people/letters/mails.ts'
import { type WarningFacts, type WarningKind, warning } from '../people/letters/warnings.ts'
import { PAYING, readersOf } from '../people/membership/members.ts'
import type { Secrets } from '../secrets.ts'
import { missingToResume } from './cover.ts'
import { SUSPENDED } from './states.ts'
import type { WarningTable } from './tables.ts'

const HOUR = 3600_000
const DAY = 24 * HOUR
const HOLDS = ['account_suspended', 'account_frozen', 'account_closed'] as const

interface WarningOptions {
  db: Database
  clock: Clock
  secrets: Secrets
  catalog: Pick<Catalog, 'operator'>
  /** Returns the address at which people open the console. */
  siteUrl: () => string
  /** Returns the address of the console's page for payments; null if there is no payment provider. */
  billingPage: () => string | null
  /** Called after mails were queued. */
  mailed: () => void
  /** The time after which suspended servers are deleted; null: never. */
  keepSuspendedMs: number | null
}

/** A warning that the people of an account should get. */
interface Due {
  accountId: string
  kind: WarningKind
  since: number
  /** A weaker warning that is unnecessary after this one. */
  covers?: { kind: WarningKind; since: number }
  facts?: Partial<WarningFacts>
}

/**
 * Mails people before and after servers are suspended or deleted. It compares the present state with the warnings
 * that were mailed, so nothing is missed while the service is down. The number of mails that wait for a mail server
 * is limited.
 */
export async function warnPeople(options: WarningOptions): Promise<void> {
  const { db, clock, mailed } = options
  const now = clock.now()
  const due = [
    ...(await lowDue(db, now)),
    ...(await suspendedDue(options, now)),
    ...(await deletionDue(db, now)),
    ...(await statusDue(db, now)),
    ...(await resumedDue(db, now)),
  ]
  let isQueued = false
  let isFull = false
  try {
    await inTransactions(db, due, async (tx, one) => {
      isFull ||= (await countMails(tx)) >= MOST_WAITING
      if (!isFull) isQueued = (await send(tx, options, one, now)) || isQueued
    })
  } finally {
    if (isQueued) mailed()
  }
}

async function lowDue(db: Database, now: number): Promise<Due[]> {
  const urgent = await unwarned(db, 'balance_urgent', await low.all(db, {}), now)
  if (urgent.length === 0) return []
  const unmailed = new Set(await unwarned(db, 'balance_low', urgent, now))
  const costs = await costsNow(
    db,
    urgent.map(({ account_id }) => account_id),
  )
  return urgent.flatMap((row): Due[] => {
    const { account_id: accountId, funds, since } = row
    const cost = costs.get(accountId)?.hour ?? 0
    if (cost <= 0) return []
    const left = Math.max(0, funds / cost) * HOUR
    const facts = { until: funds > 0 ? now + left : null }
    const weaker = { kind: 'balance_low' as const, since }
    if (left < DAY) return [{ accountId, kind: 'balance_urgent', since, covers: weaker, facts }]
    return unmailed.has(row) ? [{ accountId, ...weaker, facts }] : []
  })
}

async function suspendedDue({ db, keepSuspendedMs }: WarningOptions, now: number): Promise<Due[]> {
  const rows = await unwarned(db, 'suspended', await suspended.all(db, {}), now)
  return rows.flatMap(({ account_id: accountId, since, delete_at: deleteAt, total, dated }): Due[] => {
    // The next check of the billing worker sets the times of deletion.
    if (keepSuspendedMs !== null && Number(dated) < Number(total)) return []
    const isWithinWeek = deleteAt !== null && deleteAt - now <= 7 * DAY
    const covers = isWithinWeek ? { covers: { kind: 'deletion_week' as const, since: deleteAt } } : {}
    return [{ accountId, kind: 'suspended', since, ...covers, facts: { deleteAt } }]
  })
}

async function deletionDue(db: Database, now: number): Promise<Due[]> {
  const soon = await doomed.all(db, { moment: now + 7 * DAY })
  const near = soon.filter(({ since }) => since <= now + DAY)
  const far = soon.filter(({ since }) => since > now + DAY)
  const asDue =
    (kind: WarningKind) =>
    ({ account_id: accountId, since }: Found) => {
      return { accountId, kind, since, facts: { deleteAt: since } }
    }
  return [
    ...(await unwarned(db, 'deletion_week', far, now)).map(asDue('deletion_week')),
    ...(await unwarned(db, 'deletion_day', near, now)).map(asDue('deletion_day')),
  ]
}

/**
 * A change of status older than a week is not mailed. Its end is mailed only to accounts that got a mail about the
 * change.
 */
async function statusDue(db: Database, now: number): Promise<Due[]> {
  const rows = await changed.all(db, { after: now - 7 * DAY })
  const due: Due[] = []
  for (const kind of [...HOLDS, 'account_resumed'] as const) {
    const theirs = rows.filter((row) => kind === kindOf(row))
    for (const { account_id: accountId, since, status_reason } of await unwarned(db, kind, theirs, now))
      due.push({ accountId, kind, since, facts: { reason: status_reason ?? '' } })
  }
  if (!due.some(({ kind }) => kind === 'account_resumed')) return due
  const told = await untold(db, HOLDS, 'account_resumed').select('told.account_id').execute()
  const waiting = new Set(told.map(({ account_id }) => account_id))
  return due.filter(({ accountId, kind }) => kind !== 'account_resumed' || waiting.has(accountId))
}

function kindOf({ status, frozen_at }: Pick<AccountTable, 'status' | 'frozen_at'>): WarningKind {
  if (status === 'active') return 'account_resumed'
  return frozen_at === null ? `account_${status}` : 'account_frozen'
}

/** Finds the accounts that got a mail about suspended servers, and whose servers have resumed. */
async function resumedDue(db: Database, now: number): Promise<Due[]> {
  const rows = await unwarned(db, 'resumed', await resumed.all(db, {}), now)
  return rows.map(({ account_id: accountId, since }) => ({ accountId, kind: 'resumed', since }))
}

// The billing worker runs these queries every few seconds, so each is compiled once.
const low = prepared((db) => lowBalances(db))
const suspended = prepared((db) => suspendedByBalance(db))
const doomed = prepared((db, { moment }: { moment: number }) => deletionsBefore(db, moment))
const changed = prepared((db, { after }: { after: number }) => changedSince(db, after))
const resumed = prepared((db) => resumedByBalance(db))

interface Found {
  account_id: string
  since: number
}

/** Returns the accounts that got no warning about this state. A kind of warning is sent at most once a day. */
async function unwarned<Row extends Found>(
  db: Database,
  kind: WarningKind,
  found: readonly Row[],
  now: number,
): Promise<Row[]> {
  if (found.length === 0) return []
  const sent = await db.selectFrom('warnings').selectAll().where('kind', '=', kind).execute()
  const byAccount = new Map(sent.map((row) => [row.account_id, row]))
  return found.filter(({ account_id, since }) => {
    const before = byAccount.get(account_id)
    return !before || (before.since !== since && before.sent_at <= now - DAY)
  })
}

/** @returns false if another process has sent it */
async function send(tx: Queries, options: WarningOptions, due: Due, now: number): Promise<boolean> {
  const { accountId, kind, since, covers } = due
  if (!(await claim(tx, { account_id: accountId, kind, since, sent_at: now }))) return false
  if (covers) await claim(tx, { account_id: accountId, ...covers, sent_at: now })
  const readers = await readersOf(tx, accountId, kind.startsWith('balance_') ? PAYING : EVERYBODY)
  if (readers.length === 0) return false
  const site = new URL(options.siteUrl())
  const own = pageOf(kind)
  const page = own === '/billing' ? topUpUrl(options.catalog, accountId, options.billingPage()) : null
  const link = page === null ? pageOfAccount(site.href, own, accountId) : new URL(page)
  const missing = await missingToResume(tx, accountId)
  const { balance, credit_limit } = (await ledgersOf(tx, [accountId])).get(accountId) ?? EMPTY_LEDGER
  const facts = {
    site: site.host,
    account: (await findAccount(tx, accountId)).email,
    balance: formatMoney(balance),
    creditLimit: credit_limit === 0 ? null : formatMoney(credit_limit),
    missing: missing === null ? null : formatMoney(missing),
    ...{ until: null, deleteAt: null, reason: '', canPay: page !== null },
    ...due.facts,
  }
  for (const reader of readers)
    await enqueueMail(tx, options, mailOf(reader, warning(reader.language, kind, facts), link))
  return true
}

/** The page of the console that a warning leads to. */
function pageOf(kind: WarningKind): string {
  if (kind.startsWith('account_')) return '/account'
  return kind === 'resumed' ? '/servers' : '/billing'
}

const EVERYBODY: readonly Role[] = [...PAYING, 'member']

/** Notes a warning. @returns false if it was noted before */
async function claim(tx: Queries, warned: WarningTable): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await tx
    .insertInto('warnings')
    .values(warned)
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'kind'])
        .doUpdateSet({ since: warned.since, sent_at: warned.sent_at })
        .where('warnings.since', '<>', warned.since),
    )
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n
}

/** Queries the accounts with servers that are suspended because the balance is used up, and since when. */
function suspendedByBalance(db: Queries) {
  return db
    .selectFrom('servers')
    .innerJoin(depletedBalances(db).as('depleted'), 'depleted.account_id', 'servers.account_id')
    .select((eb) => [
      'servers.account_id',
      'depleted.since',
      eb.fn.min<number | null>('delete_at').as('delete_at'),
      eb.fn.countAll().as('total'),
      eb.fn.count('delete_at').as('dated'),
    ])
    .where('deleted_at', 'is', null)
    .where('status', '=', 'suspended')
    .where('status_reason', '=', SUSPENDED)
    .groupBy(['servers.account_id', 'depleted.since'])
}

/** Queries the accounts that got a warning of these kinds, but no later mail that the matter is over. */
function untold(db: Queries, kinds: readonly WarningKind[], back: WarningKind) {
  return db
    .selectFrom('warnings as told')
    .leftJoin('warnings as back', (join) =>
      join.onRef('back.account_id', '=', 'told.account_id').on('back.kind', '=', back),
    )
    .where('told.kind', 'in', kinds)
    .where((eb) => eb.or([eb('back.sent_at', 'is', null), eb('back.sent_at', '<', eb.ref('told.sent_at'))]))
}

/** Queries the accounts whose servers resumed after a suspension for the balance, with the time of the suspension. */
function resumedByBalance(db: Queries) {
  const theirs = db
    .selectFrom('servers')
    .select('server_id')
    .whereRef('servers.account_id', '=', sql.ref('told.account_id'))
    .where('deleted_at', 'is', null)
  const suspended = theirs.where('status', '=', 'suspended').where('status_reason', '=', SUSPENDED)
  const kept = theirs
    .where('status', 'not in', ['suspended', 'deleting'])
    .whereRef('created_at', '<=', sql.ref('told.sent_at'))
  const depleted = db.selectFrom(depletedBalances(db).as('depleted')).select('depleted.account_id')
  return untold(db, ['suspended'], 'resumed')
    .select(['told.account_id', 'told.since'])
    .where(({ not, exists }) => not(exists(suspended)))
    .where(({ exists }) => exists(kept))
    .where('told.account_id', 'not in', depleted)
}

/**
 * Queries the accounts with servers that will be deleted before a moment, with the time of the first
 * deletion.
 */
function deletionsBefore(db: Queries, moment: number) {
  return db
    .selectFrom('servers')
    .select((eb) => ['account_id', eb.fn.min<number>('delete_at').as('since')])
    .where('deleted_at', 'is', null)
    .where('status', '=', 'suspended')
    .where('delete_at', '<=', moment)
    .groupBy('account_id')
}
