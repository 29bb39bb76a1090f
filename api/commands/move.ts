import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Command } from 'commander'
import { sql } from 'kysely'
import { listAccounts } from '../accounts/accounts.ts'
import { systemClock } from '../clock.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import { type Database, migrations, type Queries } from '../database/database.ts'
import { copySqlite, openSqlite } from '../database/sqlite.ts'
import { messageOf } from '../message-of.ts'
import { tableForImport } from '../monitoring/partitions.ts'
import { lockDataDir, markMoved, openDatabase, requireInstallation } from './installation.ts'

/** The most parameters of one statement; PostgreSQL accepts 65,535. */
const PARAMETERS = 20_000
const ROWS = 1_000
/** Tables about running processes, the program itself, and this command. */
const NOT_MOVED = [
  'kysely_migration',
  'installation',
  'processes',
  'duties',
  'pool_shares',
  'console_tickets',
  'simulated_machines',
]

type Say = (line: string) => void

export function exportCommand(config: () => Config): Command {
  return new Command('export')
    .description(
      'write the SQLite database to a file, to import it into PostgreSQL; the service must be stopped',
    )
    .argument('[file]', 'a new file; an SQLite database')
    .option('--undo', 'use the SQLite database again, which the export marked as moved')
    .action(async (given: string | undefined, { undo }: { undo?: true }) => {
      const parsed = { ...config(), databaseUrl: null }
      const source = path.join(parsed.dataDir, 'berth.db')
      requireInstallation(parsed)
      if (undo) return unmark(parsed)
      if (given === undefined) throw new ConfigError('Give a new file to export to.')
      const file = path.resolve(given)
      if (existsSync(file)) throw new ConfigError(`${file} already exists. Choose another file name.`)
      const unlock = lockDataDir(parsed)
      // Opening the database migrates it to the schema that the import expects.
      const db = await openDatabase(parsed, { say: console.error, holdsLock: true, mayCreate: false })
      // The mark precedes the copy, so that nothing is written that the copy lacks.
      await markMoved(db, `was exported to ${file} on ${today()}, to be moved to PostgreSQL`)
      try {
        copySqlite(source, file)
      } catch (error) {
        await markMoved(db, null)
        throw new CommandError(`The export could not be written to ${file}: ${messageOf(error)}`)
      } finally {
        await db.destroy()
        unlock()
      }
      const rows = tablesOf(file).reduce((sum, { count }) => sum + count, 0)
      console.log(
        `${source} is marked as moved, and nothing opens it any more. To undo this: berthd export --undo`,
      )
      console.log(`${file} has all ${rows} rows. Import it with: DATABASE_URL=… berthd import ${given}`)
    })
}

const today = () => new Date().toISOString().slice(0, 10)

async function unmark(place: { dataDir: string }): Promise<void> {
  const unlock = lockDataDir(place)
  const db = await openDatabase(place, {
    say: console.error,
    holdsLock: true,
    mayCreate: false,
    mayBeMoved: true,
  })
  await markMoved(db, null)
  await db.destroy()
  unlock()
  console.log(`${path.join(place.dataDir, 'berth.db')} is in use again. What PostgreSQL has is not in it.`)
}

/** Records the new place in the exported database, if this host has it. */
async function markSource(dataDir: string, where: string): Promise<void> {
  const file = path.join(dataDir, 'berth.db')
  if (!existsSync(file)) return
  const db = openSqlite(file)
  try {
    await markMoved(db, `was moved to PostgreSQL at ${where} on ${today()}`)
  } finally {
    await db.destroy()
  }
}

export function importCommand(config: () => Config): Command {
  return new Command('import')
    .description('move an exported installation into an empty PostgreSQL; continues where it was interrupted')
    .argument('<file>', 'the file that berthd export wrote')
    .action(async (given: string) => {
      const parsed = config()
      const { databaseUrl, databaseConnections, dataDir } = parsed
      if (databaseUrl === null)
        throw new ConfigError('Set DATABASE_URL (--database-url) to the PostgreSQL database to import into.')
      const file = path.resolve(given)
      if (!existsSync(file)) throw new ConfigError(`No such file: ${file}.`)
      requireSchema(file)
      if (!existsSync(path.join(dataDir, 'secret.key')))
        throw new ConfigError(
          `${dataDir} has no secret.key. Set BERTH_DATA (--data) to the folder of the installation that was exported, or copy its secret.key there.`,
        )
      const { holdAlone, openOnPostgres, openSharedSecrets, placeOf } = await import('./on-postgres.ts')
      const link = await holdAlone(databaseUrl)
      const place = { databaseUrl, databaseConnections }
      const db = await openOnPostgres(place, { mayMigrate: true, mayCreate: true, isImport: true })
      try {
        await importInto(db, { file, dataDir, where: placeOf(databaseUrl), say: console.log })
        await openSharedSecrets(db, parsed)
      } finally {
        await db.destroy()
        await link.close()
      }
    })
}

interface Table {
  name: string
  /** The table of PostgreSQL that receives its rows. */
  into: string
  columns: string[]
  count: number
}

/** @throws CommandError if the file is of another version */
function requireSchema(file: string): void {
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    const applied = source.prepare('SELECT name FROM kysely_migration ORDER BY name').all()
    const newest = Object.keys(migrations).at(-1)
    if (applied.at(-1)?.name !== newest || applied.length !== Object.keys(migrations).length)
      throw new CommandError(
        `${file} has the schema ${applied.at(-1)?.name}, and this version ${newest}. Export it again with this version.`,
      )
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${file} was not written by berthd export.`)
  } finally {
    source.close()
  }
}

/** The tables to move, each after those that its rows refer to. */
function tablesOf(file: string): Table[] {
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    const found = source
      .prepare(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`,
      )
      .all()
      .map(({ name }) => String(name))
      .filter((name) => !NOT_MOVED.includes(name))
    const ordered: string[] = []
    const place = (name: string, path: readonly string[]): void => {
      if (ordered.includes(name) || path.includes(name) || !found.includes(name)) return
      const parents = source.prepare(`PRAGMA foreign_key_list("${name}")`).all()
      for (const { table } of parents) place(String(table), [...path, name])
      ordered.push(name)
    }
    for (const name of found) place(name, [])
    return ordered.map((name) => ({
      name,
      into: name,
      columns: source
        .prepare(`PRAGMA table_info("${name}")`)
        .all()
        .map((column) => String(column.name)),
      count: Number(source.prepare(`SELECT count(*) AS count FROM "${name}"`).get()?.count),
    }))
  } finally {
    source.close()
  }
}

interface Importing {
  file: string
  dataDir: string
  /** The database to import into, without its password. */
  where: string
  say: Say
}

/**
 * Moves all rows, table by table. Each step is one transaction, which also notes the progress.
 * @throws CommandError if the database has other data, or the rows at the end are not those that were exported
 */
async function importInto(db: Database, { file, dataDir, where, say }: Importing): Promise<void> {
  const tables = tablesOf(file)
  const fingerprint = JSON.stringify(tables.map(({ name, count }) => [name, count]))
  await begin(db, tables, fingerprint)
  const samples = tables.find(({ name }) => name === 'samples')
  // The samples may be of any day, but partitions exist only for some days.
  if (samples) samples.into = await tableForImport(db, Math.floor(systemClock.now() / 1000))
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    for (const table of tables) await moveTable(db, source, table, say)
    await moveSimulated(db, dataDir)
    await check(db, source, tables)
  } finally {
    source.close()
  }
  await markSource(dataDir, where)
  await note(db, IMPORT, 'done')
  await db.deleteFrom('installation').where('name', 'like', `${IMPORT}.%`).execute()
  say(
    'All rows are there; their counts and the sums of the ledger match. Run berthd serve with this DATABASE_URL.',
  )
}

const IMPORT = 'import'

/** @throws CommandError */
async function begin(db: Database, tables: readonly Table[], fingerprint: string): Promise<void> {
  const known = await noteOf(db, IMPORT)
  if (known === fingerprint) return
  if (known !== undefined || (await listAccounts(db)).length > 0)
    throw new CommandError(
      known === undefined || known === 'done'
        ? 'The database already contains an installation. Import into an empty database.'
        : 'The database contains part of another import. Continue that one, or import into an empty database.',
    )
  await db.transaction().execute(async (tx) => {
    // Rows that migrations inserted are replaced by the exported installation's own.
    for (const { name } of tables.toReversed()) await sql`DELETE FROM ${sql.table(name)}`.execute(tx)
    await note(tx, IMPORT, fingerprint)
  })
}

async function moveTable(
  db: Database,
  source: DatabaseSync,
  { name, into: target, columns, count }: Table,
  say: Say,
): Promise<void> {
  const list = columns.map((column) => `"${column}"`).join(', ')
  const next = source.prepare(
    `SELECT rowid AS rowid_, ${list} FROM "${name}" WHERE rowid > ? ORDER BY rowid LIMIT ?`,
  )
  const limit = Math.min(ROWS, Math.floor(PARAMETERS / columns.length))
  const progress = `${IMPORT}.${name}`
  let last = Number((await noteOf(db, progress)) ?? 0)
  for (;;) {
    const rows = next.all(last, limit)
    if (rows.length === 0) break
    last = Number(rows.at(-1)?.rowid_)
    const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`)
    const into = sql`${sql.table(target)} (${sql.join(columns.map((column) => sql.ref(column)))})`
    await db.transaction().execute(async (tx) => {
      await sql`INSERT INTO ${into} VALUES ${sql.join(values)}`.execute(tx)
      await note(tx, progress, String(last))
    })
  }
  say(`${name}: ${count}`)
}

/** Moves simulated machines, which are in a file there and in a table here. */
async function moveSimulated(db: Database, dataDir: string): Promise<void> {
  const file = path.join(dataDir, 'simulator.json')
  if (!existsSync(file)) return
  const machines: [string, object][] = JSON.parse(readFileSync(file, 'utf8'))
  for (const [server_id, machine] of machines)
    await db
      .insertInto('simulated_machines')
      .values({ server_id, machine: JSON.stringify(machine) })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
}

/** @throws CommandError */
async function check(db: Database, source: DatabaseSync, tables: readonly Table[]): Promise<void> {
  for (const { name, into, count } of tables) {
    const { rows } = await sql<{ count: number }>`SELECT count(*) AS count FROM ${sql.table(into)}`.execute(
      db,
    )
    if (rows[0]?.count !== count)
      throw new CommandError(
        `${name} has ${rows[0]?.count} rows instead of ${count}. Import again, into an empty database.`,
      )
  }
  for (const [table, column] of [
    ['transactions', 'amount'],
    ['ledgers', 'balance'],
  ] as const) {
    const was = source.prepare(`SELECT coalesce(sum("${column}"), 0) AS sum FROM "${table}"`).get()
    const is = sql<{ sum: number }>`SELECT CAST(coalesce(sum(${sql.ref(column)}), 0) AS bigint) AS sum
      FROM ${sql.table(table)}`
    const { rows } = await is.execute(db)
    if (rows[0]?.sum !== Number(was?.sum))
      throw new CommandError(`The sum of ${table} differs. Import again, into an empty database.`)
  }
}

async function note(db: Queries, name: string, value: string): Promise<void> {
  await db
    .insertInto('installation')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

async function noteOf(db: Queries, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('installation').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}
