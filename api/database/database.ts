import { type AliasableExpression, type Kysely, sql, type Transaction } from 'kysely'
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
import type { Schema } from './schema.ts'

export type Database = Kysely<Schema>
/** Inside a transaction or outside of one: stores take either. */
export type Queries = Kysely<Schema> | Transaction<Schema>
/** A query that the feature of a table lends to another one, which joins it and need not know the table. */
export type Lent<Row> = (db: Queries) => AliasableExpression<Row>

/** In the order they run. A number is never reused, a migration that has landed never changes. */
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
}

/** Runs something in the transaction that is given, or in one of its own. */
export function inTransaction<Result>(db: Queries, run: (tx: Queries) => Promise<Result>): Promise<Result> {
  return db.isTransaction ? run(db) : db.transaction().execute(run)
}

/** Asks the database for nothing. Rejects where it can't be reached. */
export async function ping(db: Queries): Promise<void> {
  await sql`SELECT 1`.execute(db)
}

/** Runs something in a transaction and undoes all that it wrote. */
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
/** PostgreSQL's classes: connection, resources, shutdown. And what the system says when nobody listens. */
const POSTGRES_UNAVAILABLE = /^(08|53|57)|^(ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT)$/

/** Whether another process holds SQLite's lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && sqliteCode(error) === 5
}

/** SQLite's CORRUPT and NOTADB. */
const SQLITE_DAMAGED = [11, 26]

/** Whether an error means that the file is no database, or not a whole one. */
export function isDamaged(error: unknown): boolean {
  return error instanceof Error && SQLITE_DAMAGED.includes(sqliteCode(error) ?? 0)
}

/** Whether an error means that the database can't be written or reached now, rather than a mistake of ours. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = sqliteCode(error)
  if (code !== null) return SQLITE_UNAVAILABLE.includes(code)
  return 'code' in error && typeof error.code === 'string' && POSTGRES_UNAVAILABLE.test(error.code)
}

/** Without what SQLite's extended codes say more. */
function sqliteCode(error: Error): number | null {
  return 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : null
}
