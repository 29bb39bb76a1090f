import type { Kysely, Transaction } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import * as initial from './migrations/0001-initial.ts'
import type { Schema } from './schema.ts'

export type Database = Kysely<Schema>
/** Inside a transaction or outside of one: stores take either. */
export type Queries = Kysely<Schema> | Transaction<Schema>

/** In the order they run. A number is never reused, a migration that has landed never changes. */
export const migrations: Record<string, Migration> = {
  '0001-initial': initial,
}

/**
 * Brings the database to the newest schema.
 * @returns the names of the migrations that ran now
 */
export async function migrate(db: Database): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error) throw error
  return results.map((result) => result.migrationName)
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
