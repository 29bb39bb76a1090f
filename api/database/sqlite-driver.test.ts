import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { type Database, migrate, type Queries } from './database.ts'
import { openSqlite } from './sqlite.ts'

/** A database, and what another program sees of it: only what was committed. */
async function open(): Promise<{ db: Database; committed: () => string[] }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-sqlite-'))
  const db = openSqlite(path.join(folder, 'berth.db'))
  await migrate(db)
  const other = new DatabaseSync(path.join(folder, 'berth.db'))
  onTestFinished(async () => {
    await db.destroy()
    other.close()
    rmSync(folder, { recursive: true })
  })
  const pools = other.prepare('SELECT pool FROM pool_usage ORDER BY pool')
  return { db, committed: () => pools.all().map((row) => String(row.pool)) }
}

function add(db: Queries, pool: string) {
  return db.insertInto('pool_usage').values({ pool, cpu: 0, ram_mb: 0, disk_gb: 0 }).execute()
}

const read = (db: Queries) => db.selectFrom('pool_usage').select('pool').orderBy('pool').execute()

test('of transactions that share a commit, one that fails takes back its own writes and no others', async () => {
  const { db, committed } = await open()
  const results = await Promise.allSettled([
    db.transaction().execute((tx) => add(tx, 'a')),
    db.transaction().execute(async (tx) => {
      await add(tx, 'b')
      throw new Error('changed my mind')
    }),
    db.transaction().execute(async (tx) => {
      await add(tx, 'c')
      await add(tx, 'c')
    }),
    add(db, 'd'),
  ])
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
  expect(committed()).toEqual(['a', 'd'])
})

test('whoever is told of a write, the writer or a reader, finds it on the disk', async () => {
  const { db, committed } = await open()
  const seen: string[][] = []
  await Promise.all([
    db
      .transaction()
      .execute((tx) => add(tx, 'a'))
      .then(() => seen.push(committed())),
    add(db, 'b').then(() => seen.push(committed())),
    read(db).then((rows) => {
      expect(rows).toEqual([{ pool: 'a' }, { pool: 'b' }])
      seen.push(committed())
    }),
  ])
  expect(seen).toEqual([
    ['a', 'b'],
    ['a', 'b'],
    ['a', 'b'],
  ])
})

test('when SQLite takes back all that shares a commit, every writer is told, and readers see none of it', async () => {
  const { db, committed } = await open()
  await sql`CREATE TRIGGER fatal BEFORE INSERT ON pool_usage WHEN NEW.pool = 'fatal'
    BEGIN SELECT RAISE(ROLLBACK, 'the disk is gone'); END`.execute(db)
  const [first, reader, fatal] = await Promise.allSettled([
    db.transaction().execute((tx) => add(tx, 'a')),
    read(db),
    db.transaction().execute(async (tx) => {
      await add(tx, 'b')
      await add(tx, 'fatal').catch(() => {})
      await add(tx, 'c')
    }),
  ])
  expect([first.status, fatal.status]).toEqual(['rejected', 'rejected'])
  expect(reader).toEqual({ status: 'fulfilled', value: [] })
  expect(committed()).toEqual([])
  await add(db, 'later')
  expect(committed()).toEqual(['later'])
})

test('a row has the columns that its table has now, under their names', async () => {
  const { db } = await open()
  await add(db, 'a')
  const all = () => db.selectFrom('pool_usage').selectAll().execute()
  const row = { pool: 'a', cpu: 0, ram_mb: 0, disk_gb: 0 }
  expect(await all()).toStrictEqual([row])
  await sql`ALTER TABLE pool_usage ADD COLUMN note TEXT`.execute(db)
  expect(await all()).toStrictEqual([{ ...row, note: null }])
})
