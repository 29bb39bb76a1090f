import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { sql } from 'kysely'
import { inject } from 'vitest'
import type { Database } from '../../api/database/database.ts'
import { migrate } from '../../api/database/migrate.ts'
import { openPostgres } from '../../api/database/postgres.ts'
import { openSqlite } from '../../api/database/sqlite.ts'

interface Fresh {
  db: Database
  drop: () => Promise<void>
}

/**
 * A fresh database of the kind that the vitest project names, at the newest schema, or at that of the migration
 * `upTo`. The newest is what most tests want: it is made once, and used again.
 */
export async function testDatabase({ upTo }: { upTo?: string } = {}): Promise<Fresh> {
  return process.env.BERTH_TEST_DATABASE === 'postgres' ? onPostgres(upTo) : onSqlite(upTo)
}

/** The file of a database at the newest schema. */
let newest: Buffer | null = null

async function onSqlite(upTo: string | undefined): Promise<Fresh> {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-test-'))
  const file = path.join(folder, 'berth.db')
  if (upTo === undefined) {
    newest ??= await newestSqlite(path.join(folder, 'newest.db'))
    writeFileSync(file, newest)
  }
  const db = openSqlite(file)
  // Tests end with the machine that runs them: what they write need not survive its power.
  await sql`PRAGMA synchronous = OFF`.execute(db)
  if (upTo !== undefined) await migrate(db, { upTo })
  return { db, drop: async () => rmSync(folder, { recursive: true }) }
}

async function newestSqlite(file: string): Promise<Buffer> {
  const db = openSqlite(file)
  await migrate(db)
  // Which takes what is in its log into the file.
  await db.destroy()
  return readFileSync(file)
}

/** Schemas that have been used, and are again as migrations leave them. */
const spare: string[] = []

/** A schema of its own is as good as a database of its own, and made in a tenth of the time. */
async function onPostgres(upTo: string | undefined): Promise<Fresh> {
  const url = inject('postgresUrl')
  const used = upTo === undefined ? spare.pop() : undefined
  const name = used ?? `test_${randomUUID().replaceAll('-', '')}`
  const admin = openPostgres(url, { connections: 1 })
  if (!used) await sql`CREATE SCHEMA ${sql.id(name)}`.execute(admin)
  const db = openPostgres(`${url}?options=${encodeURIComponent(`-c search_path=${name}`)}`)
  if (!used) await migrate(db, upTo === undefined ? {} : { upTo })
  const drop = async () => {
    if (await restore(admin, name)) spare.push(name)
    else await sql`DROP SCHEMA ${sql.id(name)} CASCADE`.execute(admin)
    await admin.destroy()
  }
  return { db, drop }
}

/** Gives a schema the rows that migrations leave, which `public` has. @returns false where its tables are others */
async function restore(admin: Database, name: string): Promise<boolean> {
  const tables = await tablesOf(admin, name)
  if (JSON.stringify(tables) !== JSON.stringify(await tablesOf(admin, 'public'))) return false
  const statements = tables
    .filter(({ kind }) => kind === 'r' || kind === 'p')
    .flatMap(({ table }) => [
      `DELETE FROM ${name}."${table}"`,
      `INSERT INTO ${name}."${table}" SELECT * FROM public."${table}"`,
    ])
  statements.unshift(...(await partitionChanges(admin, name)))
  // References need not hold between two of these.
  const all = ['BEGIN', 'SET LOCAL session_replication_role = replica', ...statements, 'COMMIT']
  await sql.raw(all.join(';')).execute(admin)
  return true
}

/** Returns the statements that give a schema the partitions that `public` has, as tests of other days leave others. */
async function partitionChanges(admin: Database, name: string): Promise<string[]> {
  const partitionsOf = async (schema: string) => {
    const { rows } = await sql<{ table: string; bound: string }>`
      SELECT relname AS "table", pg_get_expr(relpartbound, oid) AS bound FROM pg_class
      WHERE relnamespace = ${schema}::text::regnamespace AND relispartition AND relkind = 'r'`.execute(admin)
    return new Map(rows.map(({ table, bound }) => [table, bound]))
  }
  const [present, wanted] = [await partitionsOf(name), await partitionsOf('public')]
  const others = [...present.keys()].filter((table) => !wanted.has(table))
  const missing = [...wanted].filter(([table]) => !present.has(table))
  return [
    ...others.map((table) => `DROP TABLE ${name}."${table}"`),
    ...missing.map(
      ([table, bound]) => `CREATE TABLE ${name}."${table}" PARTITION OF ${name}.samples ${bound}`,
    ),
  ]
}

/** Its tables and indexes without partitions, and how many columns each has. */
async function tablesOf(admin: Database, schema: string) {
  const { rows } = await sql<{ table: string; kind: string; columns: number }>`
    SELECT relname AS "table", relkind AS kind, relnatts AS columns
    FROM pg_class WHERE relnamespace = ${schema}::text::regnamespace AND NOT relispartition
    ORDER BY relname`.execute(admin)
  return rows
}
