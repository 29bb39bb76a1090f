import {
  type AliasableExpression,
  type Compilable,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  sql,
  type Transaction,
} from 'kysely'
import type { Migration } from 'kysely/migration'
import * as initial from './migrations/0001-initial.ts'
import * as samples from './migrations/0002-samples.ts'
import * as ledger from './migrations/0003-ledger.ts'
import * as events from './migrations/0004-events.ts'
import * as eventIndexes from './migrations/0005-event-indexes.ts'
import * as webhooks from './migrations/0006-webhooks.ts'
import * as operationSubjects from './migrations/0007-operation-subjects.ts'
import * as serverPools from './migrations/0008-server-pools.ts'
import * as retention from './migrations/0009-retention.ts'
import * as tokenParents from './migrations/0010-token-parents.ts'
import * as tokenCidrs from './migrations/0011-token-cidrs.ts'
import * as paid from './migrations/0012-paid.ts'
import * as webhookVerification from './migrations/0013-webhook-verification.ts'
import * as endedRates from './migrations/0014-ended-rates.ts'
import * as serverNumbers from './migrations/0015-server-numbers.ts'
import * as ports from './migrations/0016-ports.ts'
import * as smtp from './migrations/0017-smtp.ts'
import * as deletionTimes from './migrations/0018-deletion-times.ts'
import * as traffic from './migrations/0019-traffic.ts'
import * as addresses from './migrations/0020-addresses.ts'
import * as networks from './migrations/0021-networks.ts'
import * as firewalls from './migrations/0022-firewalls.ts'
import * as installation from './migrations/0023-installation.ts'
import * as trafficPrices from './migrations/0024-traffic-prices.ts'
import * as people from './migrations/0025-people.ts'
import * as processes from './migrations/0026-processes.ts'
import * as twoFactor from './migrations/0027-two-factor.ts'
import * as deviceLogins from './migrations/0028-device-logins.ts'
import * as portStatus from './migrations/0029-port-status.ts'
import * as passkeys from './migrations/0030-passkeys.ts'
import * as identities from './migrations/0031-identities.ts'
import * as orderedCosts from './migrations/0032-ordered-costs.ts'
import * as auditProcess from './migrations/0033-audit-process.ts'
import * as attempts from './migrations/0034-attempts.ts'
import * as billedItems from './migrations/0035-billed-items.ts'
import * as inviters from './migrations/0036-inviters.ts'
import * as references from './migrations/0037-references.ts'
import * as keyOwners from './migrations/0038-key-owners.ts'
import * as passkeyCounters from './migrations/0039-passkey-counters.ts'
import * as standing from './migrations/0040-standing.ts'
import * as endedPorts from './migrations/0041-ended-ports.ts'
import * as operatorTokens from './migrations/0042-operator-tokens.ts'
import * as snapshots from './migrations/0043-snapshots.ts'
import * as volumes from './migrations/0044-volumes.ts'
import * as accountNotes from './migrations/0045-account-notes.ts'
import * as orderedServers from './migrations/0046-ordered-servers.ts'
import * as serverSuspensions from './migrations/0047-server-suspensions.ts'
import * as images from './migrations/0048-images.ts'
import * as backups from './migrations/0049-backups.ts'
import * as rescue from './migrations/0050-rescue.ts'
import * as eventOrder from './migrations/0051-event-order.ts'
import * as payments from './migrations/0052-payments.ts'
import * as hcloud from './migrations/0053-hcloud.ts'
import * as screens from './migrations/0054-screens.ts'
import * as offsite from './migrations/0055-offsite.ts'
import * as hcloudExcess from './migrations/0056-hcloud-excess.ts'
import * as bootChecks from './migrations/0057-boot-checks.ts'
import * as documents from './migrations/0058-documents.ts'
import * as labels from './migrations/0059-labels.ts'
import * as accountPrices from './migrations/0060-account-prices.ts'
import * as paymentMethods from './migrations/0061-payment-methods.ts'
import * as isos from './migrations/0062-isos.ts'
import * as autoTopUp from './migrations/0063-auto-top-up.ts'
import * as sampleDays from './migrations/0064-sample-days.ts'
import * as operationsWaiting from './migrations/0065-operations-waiting.ts'
import * as announcements from './migrations/0066-announcements.ts'
import * as differences from './migrations/0067-differences.ts'
import * as poolShares from './migrations/0068-pool-shares.ts'
import * as takesPools from './migrations/0069-takes-pools.ts'
import * as credits from './migrations/0070-credits.ts'
import * as reverseRecords from './migrations/0071-reverse-records.ts'
import * as creditLimit from './migrations/0072-credit-limit.ts'
import * as frozenAccounts from './migrations/0073-frozen-accounts.ts'
import * as rolledUpCharges from './migrations/0074-rolled-up-charges.ts'
import * as sources from './migrations/0075-sources.ts'
import { PostgresConnection, Unchanged, Unreachable } from './postgres-connection.ts'
import type { Schema } from './schema.ts'

export { Unchanged, Unreachable }
export type Database = Kysely<Schema>
/** Inside a transaction or outside of one: stores take either. */
export type Queries = Kysely<Schema> | Transaction<Schema>
/** A query that the feature of a table lends to another one, which joins it and need not know the table. */
export type Lent<Row> = (db: Queries) => AliasableExpression<Row>

/** The migrations in the order in which they run. A number is never reused, and a released migration never changes. */
export const migrations: Record<string, Migration> = {
  '0001-initial': initial,
  '0002-samples': samples,
  '0003-ledger': ledger,
  '0004-events': events,
  '0005-event-indexes': eventIndexes,
  '0006-webhooks': webhooks,
  '0007-operation-subjects': operationSubjects,
  '0008-server-pools': serverPools,
  '0009-retention': retention,
  '0010-token-parents': tokenParents,
  '0011-token-cidrs': tokenCidrs,
  '0012-paid': paid,
  '0013-webhook-verification': webhookVerification,
  '0014-ended-rates': endedRates,
  '0015-server-numbers': serverNumbers,
  '0016-ports': ports,
  '0017-smtp': smtp,
  '0018-deletion-times': deletionTimes,
  '0019-traffic': traffic,
  '0020-addresses': addresses,
  '0021-networks': networks,
  '0022-firewalls': firewalls,
  '0023-installation': installation,
  '0024-traffic-prices': trafficPrices,
  '0025-people': people,
  '0026-processes': processes,
  '0027-two-factor': twoFactor,
  '0028-device-logins': deviceLogins,
  '0029-port-status': portStatus,
  '0030-passkeys': passkeys,
  '0031-identities': identities,
  '0032-ordered-costs': orderedCosts,
  '0033-audit-process': auditProcess,
  '0034-attempts': attempts,
  '0035-billed-items': billedItems,
  '0036-inviters': inviters,
  '0037-references': references,
  '0038-key-owners': keyOwners,
  '0039-passkey-counters': passkeyCounters,
  '0040-standing': standing,
  '0041-ended-ports': endedPorts,
  '0042-operator-tokens': operatorTokens,
  '0043-snapshots': snapshots,
  '0044-volumes': volumes,
  '0045-account-notes': accountNotes,
  '0046-ordered-servers': orderedServers,
  '0047-server-suspensions': serverSuspensions,
  '0048-images': images,
  '0049-backups': backups,
  '0050-rescue': rescue,
  '0051-event-order': eventOrder,
  '0052-payments': payments,
  '0053-hcloud': hcloud,
  '0054-screens': screens,
  '0055-offsite': offsite,
  '0056-hcloud-excess': hcloudExcess,
  '0057-boot-checks': bootChecks,
  '0058-documents': documents,
  '0059-labels': labels,
  '0060-account-prices': accountPrices,
  '0061-payment-methods': paymentMethods,
  '0062-isos': isos,
  '0063-auto-top-up': autoTopUp,
  '0064-sample-days': sampleDays,
  '0065-operations-waiting': operationsWaiting,
  '0066-announcements': announcements,
  '0067-differences': differences,
  '0068-pool-shares': poolShares,
  '0069-takes-pools': takesPools,
  '0070-credits': credits,
  '0071-reverse-records': reverseRecords,
  '0072-credit-limit': creditLimit,
  '0073-frozen-accounts': frozenAccounts,
  '0074-rolled-up-charges': rolledUpCharges,
  '0075-sources': sources,
}

/**
 * Changes all rows that a query finds, each in a transaction of its own.
 * @param some finds some of them at a time, and no longer those that were changed
 */
export async function changeEach<Row>(
  db: Database,
  some: { execute(): Promise<Row[]> },
  change: (tx: Queries, row: Row) => Promise<void>,
): Promise<void> {
  for (let rows = await some.execute(); rows.length > 0; rows = await some.execute())
    for (const row of rows) await db.transaction().execute((tx) => change(tx, row))
}

/** Runs a function in the given transaction, or in a new one. */
export function inTransaction<Result>(db: Queries, run: (tx: Queries) => Promise<Result>): Promise<Result> {
  return db.isTransaction ? run(db) : db.transaction().execute(run)
}

/** True if the database is a file of this process, without a pool of connections. */
export function isSqlite(db: Queries): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter
}

/** Sends an empty query. Rejects if the database can't be reached. */
export async function ping(db: Queries): Promise<void> {
  await sql`SELECT 1`.execute(db)
}

/**
 * Runs a statement by which this process takes something, so that it learns the result even if the reply is lost.
 * PostgreSQL reports the outcome of a transaction afterwards, but not that of a single statement. On SQLite no reply is
 * lost.
 */
export function taking<Result>(db: Database, run: (tx: Queries) => Promise<Result>): Promise<Result> {
  return isSqlite(db) ? run(db) : db.transaction().execute(run)
}

/**
 * Sends a write whose result nobody reads. On PostgreSQL it goes with the transaction's next statement or its commit,
 * which throws its error: so it must be one that is not refused in normal use.
 * @param orElse the error if it changes no row (default: it need not)
 */
export async function send(tx: Queries, write: Compilable, orElse?: () => Error): Promise<void> {
  const query = write.compile()
  const requireOne = ({ numAffectedRows = 0n }: QueryResult<unknown>) => {
    if (orElse && numAffectedRows === 0n) throw orElse()
  }
  if (!tx.isTransaction) return requireOne(await tx.executeQuery(query))
  await tx.getExecutor().provideConnection(async (connection) => {
    if (connection instanceof PostgresConnection) connection.send(query, orElse)
    else requireOne(await connection.executeQuery(query))
  })
}

/**
 * Changes a row that many transactions change, as the last statement of this one. On PostgreSQL it is sent with the
 * commit in one message, so that others wait for the disk at most, and never for this process. It does not support rows
 * with text.
 * @param isNeeded true if the transaction fails with Unchanged when no row matches
 */
export async function changeLast(
  tx: Queries,
  change: Compilable,
  { isNeeded }: { isNeeded: boolean },
): Promise<void> {
  if (!tx.isTransaction) throw new Error('a last change must be part of a transaction')
  const query = change.compile()
  await tx.getExecutor().provideConnection(async (connection) => {
    if (connection instanceof PostgresConnection) {
      if (connection.last) throw new Error('a transaction has one last change')
      connection.last = { query, isNeeded }
      return
    }
    const { numAffectedRows = 0n } = await connection.executeQuery(query)
    if (isNeeded && numAffectedRows === 0n) throw new Unchanged()
  })
}

/** Another transaction has just taken what this one had found free. */
export class Taken extends Error {}

/** Repeats a transaction until nothing that it finds free is taken meanwhile, each time by one that has succeeded. */
export async function untilFree<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (;;)
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Taken)) throw error
    }
}

/** Waits until no other transaction holds a lock by this name, and holds it. SQLite has one writer anyway. */
export async function lockName(tx: Queries, name: string): Promise<void> {
  if (!isSqlite(tx)) await sql`SELECT pg_advisory_xact_lock(hashtext(${name}), 0)`.execute(tx)
}

/** Lets references that are deferrable be checked at the end of this transaction, which replaces what they refer to. */
export async function deferReferences(tx: Queries): Promise<void> {
  const defer = isSqlite(tx) ? sql`PRAGMA defer_foreign_keys = ON` : sql`SET CONSTRAINTS ALL DEFERRED`
  await defer.execute(tx)
}

/** Runs a function in a transaction and rolls it back. */
export async function dryRun(db: Database, run: (tx: Queries) => Promise<void>): Promise<void> {
  const undo = new Error('undo')
  try {
    await db.transaction().execute(async (tx) => {
      await run(tx)
      throw undo
    })
  } catch (error) {
    if (error !== undo) throw error
  }
}

/** SQLite's BUSY, READONLY, IOERR, FULL and CANTOPEN. */
const SQLITE_UNAVAILABLE = [5, 8, 10, 13, 14]
/**
 * PostgreSQL's classes connection, resources and shutdown (of the server, or of a statement that took too long), and
 * its codes for a lock that was not available, an idle transaction, and transactions that wait for each other.
 */
const POSTGRES_UNAVAILABLE = /^(08|53|57)|^(55P03|25P03|40P01|40001)$/

/** True if another process holds SQLite's lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && sqliteCode(error) === 5
}

/** True if a row was refused because a unique index has its value already. */
export function isDuplicate(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // SQLite's CONSTRAINT and PostgreSQL's unique_violation.
  return sqliteCode(error) === 19 || ('code' in error && error.code === '23505')
}

/** SQLite's CORRUPT and NOTADB. */
const SQLITE_DAMAGED = [11, 26]

/** True if an error means that the file is not a database, or a damaged one. */
export function isDamaged(error: unknown): boolean {
  return error instanceof Error && SQLITE_DAMAGED.includes(sqliteCode(error) ?? 0)
}

/** True if an error means that the database can't be written or reached now, and is not a bug. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = sqliteCode(error)
  if (code !== null) return SQLITE_UNAVAILABLE.includes(code)
  return 'code' in error && typeof error.code === 'string' && POSTGRES_UNAVAILABLE.test(error.code)
}

/** SQLite's IOERR_SHMSIZE: the index of its log can't grow. */
const SQLITE_NO_ROOM = 4874
/** PostgreSQL's disk_full, and the system's names. */
const NO_ROOM = ['53100', 'ENOSPC', 'EDQUOT']

/** True if an error of the database or the system means that a disk is full. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (sqliteCode(error) === 13) return true
  return (
    ('errcode' in error && error.errcode === SQLITE_NO_ROOM) ||
    ('code' in error && NO_ROOM.includes(String(error.code)))
  )
}

/** True if a PostgreSQL error means that others hold a lock that is needed, or that transactions deadlock. */
export function isLockFailure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')
}

/** Removes the extended part of SQLite's codes. */
function sqliteCode(error: Error): number | null {
  return 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : null
}
