import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { type Database, migrations, type Queries } from '../../../api/database/database.ts'
import { appliedMigrations, MigrationFailed, migrate, SchemaTooNew } from '../../../api/database/migrate.ts'
import { testDatabase } from '../../harness/database.ts'

const known = Object.keys(migrations)
const newest = known.at(-1) ?? ''

async function database(): Promise<Database> {
  const { db, drop } = await testDatabase()
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  return db
}

/** Migrations that come after those that are there, while the test runs. */
function land(added: Record<string, readonly string[]>): void {
  for (const [name, statements] of Object.entries(added))
    migrations[name] = async () => ({
      up: async (db) => {
        for (const statement of statements) await sql.raw(statement).execute(db)
      },
    })
  onTestFinished(() => {
    for (const name of Object.keys(added)) delete migrations[name]
  })
}

const notes = { table: 'CREATE TABLE notes (note_id text PRIMARY KEY, body text)' }

test('a migration that fails at its last statement leaves nothing of itself, and succeeds once it is mended', async () => {
  const db = await database()
  land({
    '9001-notes': [notes.table],
    '9002-fault': ['ALTER TABLE notes ADD COLUMN size bigint', 'SELECT nonsense'],
  })
  await expect(migrate(db)).rejects.toThrow(MigrationFailed)
  await expect(migrate(db)).rejects.toThrow(/^The migration 9002-fault failed: .*nonsense/)
  expect(await appliedMigrations(db)).toEqual(known)
  await expect(sql`SELECT * FROM notes`.execute(db)).rejects.toThrow(/notes/)
  land({ '9002-fault': ['ALTER TABLE notes ADD COLUMN size bigint'] })
  expect(await migrate(db)).toEqual(['9001-notes', '9002-fault'])
  await sql`INSERT INTO notes (note_id, size) VALUES ('a', 1)`.execute(db)
  expect(await migrate(db)).toEqual([])
})

test('several programs that start at once migrate once', async () => {
  const db = await database()
  land({ '9001-notes': [notes.table, `INSERT INTO notes VALUES ('a', 'once')`] })
  const ran = await Promise.all([migrate(db), migrate(db), migrate(db)])
  expect(ran.flat()).toEqual(['9001-notes'])
  expect((await sql`SELECT * FROM notes`.execute(db)).rows).toHaveLength(1)
})

// SQLite has one writer at a time, and one process.
const onPostgres = test.runIf(process.env.BERTH_TEST_DATABASE === 'postgres')

onPostgres('a migration gives way to those who use its tables, and is carried out between them', async () => {
  const db = await database()
  const add = (table: string) => `ALTER TABLE ${table} ADD COLUMN later bigint`
  land({ '9001-later': [add('projects'), add('accounts')] })
  const count = (queries: Queries, table: 'accounts' | 'projects') =>
    queries.selectFrom(table).selectAll().execute()
  const isWaiting = async () =>
    (await sql`SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'`.execute(db)).rows
      .length > 0
  const migrating = await db.transaction().execute(async (tx) => {
    await count(tx, 'accounts')
    const begun = migrate(db)
    begun.catch(() => {})
    await expect.poll(isWaiting, { interval: 20 }).toBe(true)
    // Later transactions are not delayed, and this one can use tables that the migration is done with: no deadlock.
    await count(db, 'accounts')
    await count(tx, 'projects')
    return { begun }
  })
  expect(await migrating.begun).toEqual(['9001-later'])
})

test('a database of a newer version is left alone, with a message', async () => {
  const db = await database()
  await sql`INSERT INTO kysely_migration VALUES ('9999-later', '2030-01-01T00:00:00.000Z')`.execute(db)
  await expect(migrate(db)).rejects.toThrow(SchemaTooNew)
  await expect(migrate(db)).rejects.toThrow(
    `The database was written by a newer version of Berth: its schema is 9999-later, the newest that this version supports is ${newest}.`,
  )
})

test('leftovers of an interrupted migration of an earlier version are reported and not touched', async () => {
  const db = await database()
  await sql.raw(notes.table).execute(db)
  land({ '9001-notes': [notes.table] })
  await expect(migrate(db)).rejects.toThrow(
    /9001-notes failed: .*already exists.*earlier version was probably interrupted during it/,
  )
  await sql`SELECT * FROM notes`.execute(db)
})

test('a database with data is copied before it is changed, and stays unchanged if that fails', async () => {
  const db = await database()
  const copied: string[] = []
  const keepCopy = async (present: string) => {
    copied.push(present)
  }
  await migrate(db, { keepCopy })
  expect(copied).toEqual([])
  land({ '9001-notes': [notes.table] })
  const fails = () => Promise.reject(new Error('no room'))
  await expect(migrate(db, { keepCopy: fails })).rejects.toThrow('no room')
  expect(await appliedMigrations(db)).toEqual(known)
  await migrate(db, { keepCopy })
  expect(copied).toEqual([newest])
})

test.runIf(process.env.BERTH_TEST_DATABASE !== 'postgres')(
  'on SQLite a migration can build a table anew that others refer to, and is refused where they then refer to nothing',
  async () => {
    const db = await database()
    land({
      '9001-owners': [
        'CREATE TABLE owners (owner_id text PRIMARY KEY)',
        'CREATE TABLE things (thing_id text PRIMARY KEY, owner_id text NOT NULL REFERENCES owners ON DELETE CASCADE)',
        `INSERT INTO owners VALUES ('o')`,
        `INSERT INTO things VALUES ('t', 'o')`,
      ],
    })
    await migrate(db)
    const rebuild = (rows: string) => [
      'CREATE TABLE owners_next (owner_id text PRIMARY KEY, name text)',
      `INSERT INTO owners_next SELECT owner_id, NULL FROM owners ${rows}`,
      'DROP TABLE owners',
      'ALTER TABLE owners_next RENAME TO owners',
    ]
    land({ '9002-names': rebuild('WHERE false') })
    await expect(migrate(db)).rejects.toThrow(/rows of things refer to rows of owners that do not exist/)
    land({ '9002-names': rebuild('') })
    await migrate(db)
    expect((await sql`SELECT * FROM things`.execute(db)).rows).toEqual([{ thing_id: 't', owner_id: 'o' }])
    await expect(sql`INSERT INTO things VALUES ('u', 'nobody')`.execute(db)).rejects.toThrow(/FOREIGN KEY/)
  },
)

test.runIf(process.env.BERTH_TEST_DATABASE !== 'postgres')(
  'where the disk is full in the middle of a migration, all is as before, and it succeeds once there is room',
  async () => {
    const db = await database()
    const fill = `INSERT INTO notes SELECT value, hex(randomblob(500)) FROM
      (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 1000) SELECT value FROM n)`
    land({ '9001-notes': [notes.table, fill] })
    const pages = await sql<{ page_count: number }>`PRAGMA page_count`.execute(db)
    await sql.raw(`PRAGMA max_page_count = ${Number(pages.rows[0]?.page_count) + 20}`).execute(db)
    await expect(migrate(db)).rejects.toThrow('The migration 9001-notes failed: database or disk is full')
    expect(await appliedMigrations(db)).toEqual(known)
    await sql`PRAGMA max_page_count = 1000000`.execute(db)
    expect(await migrate(db)).toEqual(['9001-notes'])
  },
)
