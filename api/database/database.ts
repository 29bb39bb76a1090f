import {
  type AliasableExpression,
  type Compilable,
  type DatabaseConnection,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  sql,
  type Transaction,
} from 'kysely'
import type { Migration } from 'kysely/migration'
import type { PostgresConnection } from './postgres-connection.ts'
import { Unchanged, Unreachable } from './postgres-errors.ts'
import type { Schema } from './schema.ts'

export { Unchanged, Unreachable }
export type Database = Kysely<Schema>
/** A database or a transaction on it: stores accept either. */
export type Queries = Kysely<Schema> | Transaction<Schema>
/** A query that the owner of a table lends to another feature, which joins it and need not know the table. */
export type Lent<Row> = (db: Queries) => AliasableExpression<Row>

/**
 * The migrations in the order in which they run. A number is never reused, and a released migration never changes. Most
 * starts run none, so each is loaded when it is due.
 */
export const migrations: Record<string, () => Promise<Migration>> = {
  '0001-initial': () => import('./migrations/0001-initial.ts'),
  '0002-samples': () => import('./migrations/0002-samples.ts'),
  '0003-ledger': () => import('./migrations/0003-ledger.ts'),
  '0004-events': () => import('./migrations/0004-events.ts'),
  '0005-event-indexes': () => import('./migrations/0005-event-indexes.ts'),
  '0006-webhooks': () => import('./migrations/0006-webhooks.ts'),
  '0007-operation-subjects': () => import('./migrations/0007-operation-subjects.ts'),
  '0008-server-pools': () => import('./migrations/0008-server-pools.ts'),
  '0009-retention': () => import('./migrations/0009-retention.ts'),
  '0010-token-parents': () => import('./migrations/0010-token-parents.ts'),
  '0011-token-cidrs': () => import('./migrations/0011-token-cidrs.ts'),
  '0012-paid': () => import('./migrations/0012-paid.ts'),
  '0013-webhook-verification': () => import('./migrations/0013-webhook-verification.ts'),
  '0014-ended-rates': () => import('./migrations/0014-ended-rates.ts'),
  '0015-server-numbers': () => import('./migrations/0015-server-numbers.ts'),
  '0016-ports': () => import('./migrations/0016-ports.ts'),
  '0017-smtp': () => import('./migrations/0017-smtp.ts'),
  '0018-deletion-times': () => import('./migrations/0018-deletion-times.ts'),
  '0019-traffic': () => import('./migrations/0019-traffic.ts'),
  '0020-addresses': () => import('./migrations/0020-addresses.ts'),
  '0021-networks': () => import('./migrations/0021-networks.ts'),
  '0022-firewalls': () => import('./migrations/0022-firewalls.ts'),
  '0023-installation': () => import('./migrations/0023-installation.ts'),
  '0024-traffic-prices': () => import('./migrations/0024-traffic-prices.ts'),
  '0025-people': () => import('./migrations/0025-people.ts'),
  '0026-processes': () => import('./migrations/0026-processes.ts'),
  '0027-two-factor': () => import('./migrations/0027-two-factor.ts'),
  '0028-device-logins': () => import('./migrations/0028-device-logins.ts'),
  '0029-port-status': () => import('./migrations/0029-port-status.ts'),
  '0030-passkeys': () => import('./migrations/0030-passkeys.ts'),
  '0031-identities': () => import('./migrations/0031-identities.ts'),
  '0032-ordered-costs': () => import('./migrations/0032-ordered-costs.ts'),
  '0033-audit-process': () => import('./migrations/0033-audit-process.ts'),
  '0034-attempts': () => import('./migrations/0034-attempts.ts'),
  '0035-billed-items': () => import('./migrations/0035-billed-items.ts'),
  '0036-inviters': () => import('./migrations/0036-inviters.ts'),
  '0037-references': () => import('./migrations/0037-references.ts'),
  '0038-key-owners': () => import('./migrations/0038-key-owners.ts'),
  '0039-passkey-counters': () => import('./migrations/0039-passkey-counters.ts'),
  '0040-standing': () => import('./migrations/0040-standing.ts'),
  '0041-ended-ports': () => import('./migrations/0041-ended-ports.ts'),
  '0042-operator-tokens': () => import('./migrations/0042-operator-tokens.ts'),
  '0043-snapshots': () => import('./migrations/0043-snapshots.ts'),
  '0044-volumes': () => import('./migrations/0044-volumes.ts'),
  '0045-account-notes': () => import('./migrations/0045-account-notes.ts'),
  '0046-ordered-servers': () => import('./migrations/0046-ordered-servers.ts'),
  '0047-server-suspensions': () => import('./migrations/0047-server-suspensions.ts'),
  '0048-images': () => import('./migrations/0048-images.ts'),
  '0049-backups': () => import('./migrations/0049-backups.ts'),
  '0050-rescue': () => import('./migrations/0050-rescue.ts'),
  '0051-event-order': () => import('./migrations/0051-event-order.ts'),
  '0052-payments': () => import('./migrations/0052-payments.ts'),
  '0053-hcloud': () => import('./migrations/0053-hcloud.ts'),
  '0054-screens': () => import('./migrations/0054-screens.ts'),
  '0055-offsite': () => import('./migrations/0055-offsite.ts'),
  '0056-hcloud-excess': () => import('./migrations/0056-hcloud-excess.ts'),
  '0057-boot-checks': () => import('./migrations/0057-boot-checks.ts'),
  '0058-documents': () => import('./migrations/0058-documents.ts'),
  '0059-labels': () => import('./migrations/0059-labels.ts'),
  '0060-account-prices': () => import('./migrations/0060-account-prices.ts'),
  '0061-payment-methods': () => import('./migrations/0061-payment-methods.ts'),
  '0062-isos': () => import('./migrations/0062-isos.ts'),
  '0063-auto-top-up': () => import('./migrations/0063-auto-top-up.ts'),
  '0064-sample-days': () => import('./migrations/0064-sample-days.ts'),
  '0065-operations-waiting': () => import('./migrations/0065-operations-waiting.ts'),
  '0066-announcements': () => import('./migrations/0066-announcements.ts'),
  '0067-differences': () => import('./migrations/0067-differences.ts'),
  '0068-pool-shares': () => import('./migrations/0068-pool-shares.ts'),
  '0069-takes-pools': () => import('./migrations/0069-takes-pools.ts'),
  '0070-credits': () => import('./migrations/0070-credits.ts'),
  '0071-reverse-records': () => import('./migrations/0071-reverse-records.ts'),
  '0072-credit-limit': () => import('./migrations/0072-credit-limit.ts'),
  '0073-frozen-accounts': () => import('./migrations/0073-frozen-accounts.ts'),
  '0074-rolled-up-charges': () => import('./migrations/0074-rolled-up-charges.ts'),
  '0075-sources': () => import('./migrations/0075-sources.ts'),
  '0076-bank-transfers': () => import('./migrations/0076-bank-transfers.ts'),
  '0077-signs': () => import('./migrations/0077-signs.ts'),
  '0078-corrections': () => import('./migrations/0078-corrections.ts'),
  '0079-limit-steps': () => import('./migrations/0079-limit-steps.ts'),
  '0080-complaints': () => import('./migrations/0080-complaints.ts'),
  '0081-charged-currency': () => import('./migrations/0081-charged-currency.ts'),
  '0082-document-mails': () => import('./migrations/0082-document-mails.ts'),
  '0083-service-mails': () => import('./migrations/0083-service-mails.ts'),
  '0084-notices': () => import('./migrations/0084-notices.ts'),
  '0085-open-rates': () => import('./migrations/0085-open-rates.ts'),
  '0086-catalog-files': () => import('./migrations/0086-catalog-files.ts'),
  '0087-hold-mails': () => import('./migrations/0087-hold-mails.ts'),
}

/**
 * Changes all rows that a query finds, each in a transaction of its own. A row that fails does not stop the others.
 * @param some finds some of the rows that are not changed yet
 * @throws as inTransactions, once only rows that failed are left
 */
export async function changeEach<Row>(
  db: Database,
  some: { execute(): Promise<Row[]> },
  change: (tx: Queries, row: Row) => Promise<void>,
): Promise<void> {
  for (let rows = await some.execute(); rows.length > 0; rows = await some.execute())
    try {
      await inTransactions(db, rows, change)
    } catch (error) {
      if (failuresIn(error) === rows.length || (isUnavailable(error) && !isLockFailure(error))) throw error
    }
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
 * Runs a statement that claims rows for this process, which learns the result even if the reply is lost.
 * PostgreSQL reports the outcome of a transaction afterwards, but not that of a single statement. On SQLite
 * no reply is lost.
 */
export function taking<Result>(db: Database, run: (tx: Queries) => Promise<Result>): Promise<Result> {
  return isSqlite(db) ? run(db) : db.transaction().execute(run)
}

/**
 * Sends a write whose result nobody reads. On PostgreSQL it goes with the transaction's next statement or its
 * commit, which throws its error, so the write must not fail in normal use.
 * @param orElse returns the error if the write changes no row (default: no error)
 */
export async function send(tx: Queries, write: Compilable, orElse?: () => Error): Promise<void> {
  const query = write.compile()
  const requireOne = ({ numAffectedRows = 0n }: QueryResult<unknown>) => {
    if (orElse && numAffectedRows === 0n) throw orElse()
  }
  if (!tx.isTransaction) return requireOne(await tx.executeQuery(query))
  await tx.getExecutor().provideConnection(async (connection) => {
    const postgres = asPostgres(tx, connection)
    if (postgres) postgres.send(query, orElse)
    else requireOne(await connection.executeQuery(query))
  })
}

/**
 * Changes a row that many transactions change, as the last statement of this one. On PostgreSQL it is sent
 * with the commit in one message, so that other transactions wait at most for the disk, and never for this
 * process. It does not support rows with text.
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
    const postgres = asPostgres(tx, connection)
    if (postgres) {
      if (postgres.last) throw new Error('a transaction has one last change')
      postgres.last = { query, isNeeded }
      return
    }
    const { numAffectedRows = 0n } = await connection.executeQuery(query)
    if (isNeeded && numAffectedRows === 0n) throw new Unchanged()
  })
}

/** The connection if it is one to PostgreSQL. Its class is not loaded for this, since installations on SQLite need no pg. */
function asPostgres(db: Queries, connection: DatabaseConnection): PostgresConnection | null {
  return isSqlite(db) ? null : (connection as PostgresConnection) // our driver opens no others
}

/** Another transaction has just taken a value that this transaction found free. */
export class Taken extends Error {}

/** Repeats a transaction until it takes a free value. Each failure means that another transaction succeeded. */
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

/**
 * Defers the check of deferrable references to the end of this transaction, which replaces the rows that they
 * refer to.
 */
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

/**
 * Handles each item in a transaction of its own. An item that fails, or whose rows are locked, does not stop
 * the others, unless the database is away.
 * @throws the only failure, or an AggregateError, once the other items are done
 */
export async function inTransactions<Item>(
  db: Database,
  items: readonly Item[],
  work: (tx: Queries, item: Item) => Promise<void>,
): Promise<void> {
  await attemptAll(items.map((item) => () => db.transaction().execute((tx) => work(tx, item))))
}

/**
 * Runs jobs one after the other. A job that fails does not stop the others, unless the database is away.
 * @throws the only failure, or an AggregateError, once the other jobs are done
 */
export async function attemptAll(jobs: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const job of jobs)
    try {
      await job()
    } catch (error) {
      if (isUnavailable(error) && !isLockFailure(error)) throw error
      failures.push(error)
    }
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} of ${jobs.length} failed`)
  if (failures.length > 0) throw failures[0]
}

/** The number of failures that inTransactions reports by an error. */
export function failuresIn(error: unknown): number {
  return error instanceof AggregateError ? error.errors.length : 1
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

/** True if a row was refused because it refers to a row that does not exist. */
export function isOrphan(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // SQLite's CONSTRAINT_FOREIGNKEY and PostgreSQL's foreign_key_violation.
  return ('errcode' in error && error.errcode === 787) || ('code' in error && error.code === '23503')
}

/** SQLite's CORRUPT and NOTADB. */
const SQLITE_DAMAGED = [11, 26]

/** True if an error means that the file is not a database, or is damaged. */
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
