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
 * Returns a fresh database of the kind that the vitest project names, migrated fully or up to the migration `upTo`.
 * Most tests want the newest schema, so it is created once and reused.
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
  // Data of tests need not survive a power cut.
  await sql`PRAGMA synchronous = OFF`.execute(db)
  if (upTo !== undefined) await migrate(db, { upTo })
  return { db, drop: async () => rmSync(folder, { recursive: true }) }
}

async function newestSqlite(file: string): Promise<Buffer> {
  const db = openSqlite(file)
  await migrate(db)
  // Closing checkpoints the write-ahead log, so that the file alone has everything.
  await db.destroy()
  return readFileSync(file)
}

/** A schema and its connections, which tests reuse: fresh connections would load the catalog of all tables again. */
interface Schema {
  name: string
  db: Database
}

const spare: Schema[] = []

/** The connection that creates and restores schemas, and a description of the schema that they copy. */
interface Original {
  admin: Database
  layout: string
  partitions: ReadonlyMap<string, string>
  /** Tables in which migrations leave rows. */
  filled: ReadonlySet<string>
}

let original: Promise<Original> | null = null

async function readOriginal(): Promise<Original> {
  const admin = openPostgres(inject('postgresUrl'), { connections: 1, isPatient: true })
  const tables = await tablesOf(admin, 'public')
  return {
    admin,
    layout: JSON.stringify(tables),
    partitions: await partitionsOf(admin, 'public'),
    filled: new Set(await tablesWithRows(admin, 'public', tables)),
  }
}

/** A separate schema isolates a test as well as a separate database, and takes a tenth of the time to create. */
async function onPostgres(upTo: string | undefined): Promise<Fresh> {
  original ??= readOriginal()
  const like = await original
  const schema = (upTo === undefined ? spare.pop() : undefined) ?? (await newSchema(like.admin, upTo))
  const end = schema.db.destroy.bind(schema.db)
  // An application ends its connections as it closes, but the next test needs them.
  const db = Object.assign(schema.db, { destroy: async () => {} })
  const drop = async () => {
    db.destroy = end
    const isIdle = !(await isBusy(like.admin, schema.name))
    if (isIdle && (await restore(like, schema.name))) return void spare.push(schema)
    await end()
    await sql`DROP SCHEMA ${sql.id(schema.name)} CASCADE`.execute(like.admin)
  }
  return { db, drop }
}

async function newSchema(admin: Database, upTo: string | undefined): Promise<Schema> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await sql`CREATE SCHEMA ${sql.id(name)}`.execute(admin)
  const url = `${inject('postgresUrl')}?options=${encodeURIComponent(`-c search_path=${name}`)}`
  const db = openPostgres(url, { name })
  await migrate(db, upTo === undefined ? {} : { upTo })
  return { name, db }
}

/** Returns whether a statement of a test still runs that could write after the schema is restored. */
async function isBusy(admin: Database, name: string): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM pg_stat_activity WHERE application_name = ${name} AND state <> 'idle'`.execute(admin)
  return rows.length > 0
}

/** Resets a schema to the rows that migrations leave. @returns false if its tables differ */
async function restore({ admin, layout, partitions, filled }: Original, name: string): Promise<boolean> {
  const tables = await tablesOf(admin, name)
  if (JSON.stringify(tables) !== layout) return false
  const used = await tablesWithRows(admin, name, tables)
  const statements = [
    ...partitionChanges(name, await partitionsOf(admin, name), partitions),
    ...[...new Set([...used, ...filled])].map((table) => `DELETE FROM ${name}."${table}"`),
    ...[...filled].map((table) => `INSERT INTO ${name}."${table}" SELECT * FROM public."${table}"`),
  ]
  // Foreign keys need not hold between two statements. Sent together, they are one transaction, which fails as a whole.
  const all = ['SET LOCAL session_replication_role = replica', ...statements]
  await sql.raw(all.join(';')).execute(admin)
  return true
}

/** Returns the statements that restore the partitions of a schema: tests on other dates leave other partitions. */
function partitionChanges(
  name: string,
  present: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, string>,
): string[] {
  const others = [...present.keys()].filter((table) => !wanted.has(table))
  const missing = [...wanted].filter(([table]) => !present.has(table))
  return [
    ...others.map((table) => `DROP TABLE ${name}."${table}"`),
    ...missing.map(
      ([table, bound]) => `CREATE TABLE ${name}."${table}" PARTITION OF ${name}.samples ${bound}`,
    ),
  ]
}

async function partitionsOf(admin: Database, schema: string): Promise<Map<string, string>> {
  const { rows } = await sql<{ table: string; bound: string }>`
    SELECT relname AS "table", pg_get_expr(relpartbound, oid) AS bound FROM pg_class
    WHERE relnamespace = ${schema}::text::regnamespace AND relispartition AND relkind = 'r'`.execute(admin)
  return new Map(rows.map(({ table, bound }) => [table, bound]))
}

interface Relation {
  table: string
  kind: string
  columns: number
}

/** Lists the tables and indexes of a schema without partitions, each with its number of columns. */
async function tablesOf(admin: Database, schema: string): Promise<Relation[]> {
  const { rows } = await sql<Relation>`
    SELECT relname AS "table", relkind AS kind, relnatts AS columns
    FROM pg_class WHERE relnamespace = ${schema}::text::regnamespace AND NOT relispartition
    ORDER BY relname`.execute(admin)
  return rows
}

async function tablesWithRows(admin: Database, schema: string, relations: Relation[]): Promise<string[]> {
  const tables = relations.filter(({ kind }) => kind === 'r' || kind === 'p').map(({ table }) => table)
  const answers = tables.map((table) => `EXISTS (SELECT FROM ${schema}."${table}")`)
  const { rows } = await sql<{
    found: boolean[]
  }>`SELECT ARRAY[${sql.raw(answers.join(', '))}] AS found`.execute(admin)
  return tables.filter((_, at) => rows[0]?.found[at])
}
