import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { messageOf } from '../message-of.ts'
import { type Database, isLockFailure, isSqlite, migrations, type Queries } from './database.ts'

/**
 * The time a migration on PostgreSQL waits for users of a table. Later users wait as long. After a second, PostgreSQL
 * would look for deadlocks, and could end a customer's transaction.
 */
const LOCK_MS = 400
/** After this time the migration is rolled back and tried again, so that others are served meanwhile. */
const LOCK_PAUSE_MS = 400
const LOCK_PATIENCE_MS = 60_000

/** A migration failed, and the whole run was rolled back. The message is one sentence. */
export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed'
}

/** The database has migrations that this program does not know. The message is one sentence. */
export class SchemaTooNew extends Error {
  override readonly name = 'SchemaTooNew'
}

export interface MigrateOptions {
  /** The last migration to run. */
  upTo?: string
  /**
   * Called before an existing database is changed, while no other process can write to it.
   * @param present the newest migration of the database
   */
  keepCopy?: (present: string) => Promise<void>
}

/**
 * Brings the database to the newest schema: all missing migrations and their records are one transaction, so
 * that a process that dies leaves the database unchanged. Several processes may do so at once.
 * @returns the names of the migrations that ran now
 * @throws MigrationFailed, SchemaTooNew, and any error of `keepCopy`
 */
export async function migrate(db: Database, options: MigrateOptions = {}): Promise<string[]> {
  // Most starts find nothing to do and need no lock. If there is no table of records yet, the transaction creates it.
  const applied = await appliedMigrations(db).catch(() => [])
  if (applied.length > 0 && pendingAfter(applied, options).length === 0) return []
  if (!isSqlite(db)) return besideOthers(() => db.transaction().execute((tx) => run(tx, options)))
  // A migration that rebuilds a table drops the old one, which other tables refer to. Inside of a transaction the
  // pragma does nothing; before the commit all references are checked.
  await sql`PRAGMA foreign_keys = OFF`.execute(db)
  try {
    return await db.transaction().execute((tx) => run(tx, options))
  } finally {
    await sql`PRAGMA foreign_keys = ON`.execute(db)
  }
}

/**
 * The names of the migrations that a database lacks; all of them if it is new.
 * @throws SchemaTooNew
 */
export async function pendingMigrations(db: Database): Promise<string[]> {
  // Without the table of records there are no other tables either.
  const { rows } = await sql<{ name: string | null }>`SELECT to_regclass('kysely_migration') AS name`.execute(
    db,
  )
  const applied = rows[0]?.name ? await appliedMigrations(db) : []
  return pendingAfter(applied, {}).map(([name]) => name)
}

/** The names of the migrations that a database has, oldest first. */
export async function appliedMigrations(db: Queries): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`SELECT name FROM kysely_migration ORDER BY name`.execute(db)
  return rows.map(({ name }) => name)
}

/** @throws SchemaTooNew */
export function refuseNewer(applied: readonly string[]): void {
  const unknown = applied.filter((name) => !(name in migrations)).at(-1)
  if (unknown)
    throw new SchemaTooNew(
      `The database was written by a newer version of Berth: its schema is ${unknown}, the newest that this version supports is ${Object.keys(migrations).at(-1)}.`,
    )
}

/** @throws SchemaTooNew */
function pendingAfter(applied: readonly string[], { upTo }: MigrateOptions) {
  refuseNewer(applied)
  const isWanted = (name: string) => upTo === undefined || name <= upTo
  return Object.entries(migrations).filter(([name]) => isWanted(name) && !applied.includes(name))
}

/** Repeats a migration that gave up waiting for users of its tables. */
async function besideOthers<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const until = performance.now() + LOCK_PATIENCE_MS
  for (;;)
    try {
      return await attempt()
    } catch (error) {
      const isLockedOut = error instanceof MigrationFailed && isLockFailure(error.cause)
      if (!isLockedOut || performance.now() > until) throw error
      await sleep(LOCK_PAUSE_MS)
    }
}

async function run(tx: Queries, options: MigrateOptions): Promise<string[]> {
  // On SQLite the transaction itself is the lock.
  if (!isSqlite(tx)) await takeTurn(tx)
  // The table is the same as Kysely's migrator created in existing installations.
  await sql`CREATE TABLE IF NOT EXISTS kysely_migration
    (name varchar(255) NOT NULL PRIMARY KEY, timestamp varchar(255) NOT NULL)`.execute(tx)
  const applied = await appliedMigrations(tx)
  const present = applied.at(-1)
  const pending = pendingAfter(applied, options)
  if (present && pending.length > 0) await options.keepCopy?.(present)
  for (const [name, load] of pending)
    try {
      const { up } = await load()
      await up(tx)
      await sql`INSERT INTO kysely_migration VALUES (${name}, ${new Date().toISOString()})`.execute(tx)
      if (isSqlite(tx)) await refuseBrokenReferences(tx)
    } catch (error) {
      throw new MigrationFailed(`The migration ${name} failed: ${explain(error)}`, { cause: error })
    }
  return pending.map(([name]) => name)
}

/** Only one process migrates at a time; others wait until it is done. */
async function takeTurn(tx: Queries): Promise<void> {
  await sql`SET LOCAL lock_timeout = 0`.execute(tx)
  // Earlier versions ran Kysely's migrator, which takes this lock.
  await sql`SELECT pg_advisory_xact_lock(3853314791062309107)`.execute(tx)
  await sql`SET LOCAL lock_timeout = ${sql.lit(LOCK_MS)}`.execute(tx)
}

async function refuseBrokenReferences(tx: Queries): Promise<void> {
  const { rows } = await sql<{ table: string; parent: string }>`PRAGMA foreign_key_check`.execute(tx)
  const [first] = rows
  if (first) throw new Error(`rows of ${first.table} refer to rows of ${first.parent} that do not exist`)
}

/** Earlier versions ran migrations without a transaction, and could leave one half done. */
function explain(error: unknown): string {
  const why = messageOf(error)
  if (isLockFailure(error))
    return `${why}; for a minute its tables were in constant use, for example by pg_dump: try again when that has finished`
  const isHalfDone = /duplicate column name|already exists|already another table/.test(why)
  return isHalfDone ? `${why}; an earlier version was probably interrupted during it` : why
}
