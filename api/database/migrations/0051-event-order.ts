import { type Kysely, SqliteAdapter, sql } from 'kysely'

/**
 * PostgreSQL counts events as they are written, and SQLite does so by itself. Their ids are in the order of clocks,
 * which differ between machines and are set back. The default is added afterwards, so that no row is written again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter
  for (const statement of isSqlite ? forSqlite : forPostgres) await sql.raw(statement).execute(db)
}

const forSqlite = [
  `DROP INDEX events_unnumbered`,
  // SQLite keeps equal entries of an index in the order of their rowids.
  `CREATE INDEX events_unnumbered ON events (position) WHERE position IS NULL`,
]

const forPostgres = [
  `ALTER TABLE events ADD COLUMN recorded bigint`,
  `CREATE SEQUENCE events_recorded OWNED BY events.recorded`,
  `ALTER TABLE events ALTER COLUMN recorded SET DEFAULT nextval('events_recorded')`,
  `UPDATE events SET recorded = 0 WHERE position IS NULL`,
  `DROP INDEX events_unnumbered`,
  `CREATE INDEX events_unnumbered ON events (recorded, event_id) WHERE position IS NULL`,
]
