import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { constants, DatabaseSync } from 'node:sqlite'
import { setImmediate as untilTurnEnds } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Database, isUnavailable, ping, type Queries } from './database.ts'
import { migrate } from './migrate.ts'
import { prepared } from './prepared.ts'
import { openSqlite } from './sqlite.ts'

/** A database, and another program's view of it, which has only committed data. */
async function open(
  patienceMs = 10_000,
): Promise<{ db: Database; other: DatabaseSync; committed: () => string[] }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-sqlite-'))
  const db = openSqlite(path.join(folder, 'berth.db'), { patienceMs })
  await migrate(db)
  const other = new DatabaseSync(path.join(folder, 'berth.db'))
  onTestFinished(async () => {
    await db.destroy()
    other.close()
    rmSync(folder, { recursive: true })
  })
  const pools = other.prepare('SELECT pool FROM pool_usage ORDER BY pool')
  return { db, other, committed: () => pools.all().map((row) => String(row.pool)) }
}

function add(db: Queries, pool: string) {
  return db.insertInto('pool_usage').values({ pool, cpu: 0, ram_mb: 0, disk_gb: 0 }).execute()
}

const poolNamed = prepared((db, values: { pool: string }) =>
  db.selectFrom('pool_usage').select('pool').where('pool', '=', values.pool),
)

const read = (db: Queries) => db.selectFrom('pool_usage').select('pool').orderBy('pool').execute()

test('a failed transaction that shares a commit undoes its own writes and no others', async () => {
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

test('statements stay prepared after a ping, and are prepared again after a table changes', async () => {
  const { db } = await open()
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  onTestFinished(() => prepare.mockRestore())
  const preparedBy = async (run: () => Promise<unknown>) => {
    prepare.mockClear()
    await run()
    return prepare.mock.calls.length
  }
  await read(db)
  await ping(db)
  expect(await preparedBy(() => read(db))).toBe(0)
  await sql`ALTER TABLE pool_usage ADD COLUMN more integer`.execute(db)
  expect(await preparedBy(() => read(db))).toBe(1)
})

test('an acknowledged write is on the disk, and readers see only committed writes', async () => {
  const { db, committed } = await open()
  const seen: string[][] = []
  await Promise.all([
    db
      .transaction()
      .execute(async (tx) => {
        await add(tx, 'a')
        expect([await read(tx), await read(db), await poolNamed.all(db, { pool: 'a' })]).toEqual([
          [{ pool: 'a' }],
          [],
          [],
        ])
      })
      .then(() => seen.push(committed())),
    add(db, 'b').then(() => seen.push(committed())),
  ])
  expect(seen).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ])
  expect(await read(db)).toEqual([{ pool: 'a' }, { pool: 'b' }])
})

test('readers never wait for a writer, however long its transaction and its queue', async () => {
  const { db, committed } = await open()
  const end = Promise.withResolvers<void>()
  const writing = db.transaction().execute(async (tx) => {
    await add(tx, 'a')
    await end.promise
  })
  const waiting = Array.from({ length: 500 }, (_, at) => add(db, `b${at}`))
  await untilTurnEnds()
  expect(await read(db)).toEqual([])
  expect(committed()).toEqual([])
  end.resolve()
  await Promise.all([writing, ...waiting])
  expect(await read(db)).toHaveLength(501)
})

test('if SQLite rolls back a shared commit, every writer gets an error, and readers see none of the writes', async () => {
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

test('rows include a column that was added after their statement was prepared', async () => {
  const { db } = await open()
  await add(db, 'a')
  const all = () => db.selectFrom('pool_usage').selectAll().execute()
  const row = { pool: 'a', cpu: 0, ram_mb: 0, disk_gb: 0 }
  expect(await all()).toStrictEqual([row])
  await sql`ALTER TABLE pool_usage ADD COLUMN note TEXT`.execute(db)
  expect(await all()).toStrictEqual([{ ...row, note: null }])
})

test('closing waits for running and queued transactions, and later statements are refused', async () => {
  const { db, committed } = await open()
  const begun = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const underWay = db.transaction().execute(async (tx) => {
    await add(tx, 'a')
    begun.resolve()
    await goOn.promise
    await add(tx, 'b')
  })
  await begun.promise
  const waiting = add(db, 'c')
  await untilTurnEnds()
  const closed = db.destroy()
  await untilTurnEnds()
  expect(committed()).toEqual([])
  goOn.resolve()
  await Promise.all([underWay, waiting, closed])
  expect(committed()).toEqual(['a', 'b', 'c'])
  await expect(add(db, 'd')).rejects.toThrow(/has already been destroyed|is closed/)
  await expect(poolNamed.all(db, { pool: 'a' })).rejects.toThrow('the database is closed')
})

describe('while another program writes', () => {
  test('writers wait for it, readers do not, and the event loop is never blocked', async () => {
    const { db, other, committed } = await open()
    other.exec('BEGIN IMMEDIATE')
    const writing = Promise.all([
      db.transaction().execute((tx) => add(tx, 'a')),
      add(db, 'b'),
      sql`CREATE TABLE more (name TEXT)`.execute(db),
    ])
    for (let turn = 0; turn < 5; turn++) {
      expect(await read(db)).toEqual([])
      await untilTurnEnds()
    }
    expect(committed()).toEqual([])
    other.exec('COMMIT')
    await writing
    expect(committed()).toEqual(['a', 'b'])
  })

  test('all waiting writers time out together, and a later writer succeeds once the other program is done', async () => {
    const { db, other, committed } = await open(1_000)
    other.exec('BEGIN IMMEDIATE')
    const results: unknown[] = []
    const waiting = [
      ...['a', 'b', 'c', 'd'].map((pool) => add(db, pool)),
      db.transaction().execute((tx) => add(tx, 'e')),
    ].map((write) => write.catch((error: unknown) => results.push(error)))
    await Promise.race(waiting)
    // A writer that starts its wait after the first timeout would wait for another second.
    for (let turn = 0; turn < 5; turn++) await untilTurnEnds()
    expect(results.map(isUnavailable)).toEqual(Array(5).fill(true))
    await Promise.all(waiting)
    other.exec('COMMIT')
    await add(db, 'f')
    expect(committed()).toEqual(['f'])
  })

  test('closing succeeds after the writers before it have timed out', async () => {
    const { db, other } = await open(50)
    other.exec('BEGIN IMMEDIATE')
    // On a busy machine, it may give up before anything else happens.
    const writing = Promise.allSettled([add(db, 'a')])
    await untilTurnEnds()
    const closing = Promise.allSettled([db.destroy()])
    const [[written], [closed]] = await Promise.all([writing, closing])
    expect([written.status, closed.status]).toEqual(['rejected', 'fulfilled'])
    other.exec('ROLLBACK')
  })
})

test('a statement with parameters on a table with a partial index is planned once', async () => {
  const { db, other } = await open()
  const { sql: text } = db.selectFrom('operations').select('type').where('lease_until', '>', 0).compile()
  let calls = 0
  other.setAuthorizer(() => {
    calls += 1
    return constants.SQLITE_OK
  })
  const isPlannedInEachRun = (statement: string) => {
    const known = other.prepare(statement)
    known.all(1)
    const before = calls
    known.all(2)
    return calls > before
  }
  expect(isPlannedInEachRun(text)).toBe(false)
  expect(isPlannedInEachRun(text.replace('+?', '?'))).toBe(true)
})
