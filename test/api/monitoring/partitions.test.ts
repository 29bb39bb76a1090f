import { sql } from 'kysely'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import type { Database } from '../../../api/database/database.ts'
import { migrate } from '../../../api/database/migrate.ts'
import { openPostgres } from '../../../api/database/postgres.ts'
import { addPartitions, dropPartitions, tableForImport } from '../../../api/monitoring/partitions.ts'
import { averages } from '../../../api/monitoring/store.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { testDatabase } from '../../harness/database.ts'
import { make } from '../harness/ordering.ts'

const DAY = 86_400
const today = Math.floor(Date.now() / 1000 / DAY)

async function database(upTo?: string): Promise<Database> {
  const { db, drop } = await testDatabase(upTo === undefined ? {} : { upTo })
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  return db
}

async function sample(t: TestApp, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    t.clock.advance(10_000)
    await t.app.sampler.round()
  }
}

/** The tables of samples that have rows. */
async function filled(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`SELECT DISTINCT tableoid::regclass::text AS name FROM samples
    ORDER BY name`.execute(db)
  return rows.map(({ name }) => name)
}

async function tables(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`SELECT relname AS name FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname LIKE 'samples%'
    ORDER BY relname`.execute(db)
  return rows.map(({ name }) => name)
}

const insert = (db: Database, table: string, rows: readonly (readonly [number, number, number])[]) =>
  sql`INSERT INTO ${sql.table(table)} (series, resolution, at, cpu)
    VALUES ${sql.join(rows.map((row) => sql`(${sql.join([...row, 700])})`))} ON CONFLICT DO NOTHING`.execute(
    db,
  )

async function cpuOf(db: Database, from: number): Promise<number[]> {
  const pieces = [10, 60].map((resolution) => ({ resolution, seconds: 10, from, until: from + 2 * DAY }))
  const [first, second] = pieces
  if (!first || !second) throw new Error('there are two')
  const rows = await averages(db, 1, [first, second], DAY, ['cpu'])
  return rows.map(({ cpu }) => cpu ?? Number.NaN)
}

/** A schema of a test, over a connection of its own. */
async function beside(db: Database): Promise<Database> {
  const { rows } = await sql<{ name: string }>`SELECT current_schema() AS name`.execute(db)
  const url = new URL(inject('postgresUrl'))
  url.searchParams.set('options', `-c search_path=${rows[0]?.name}`)
  const other = openPostgres(url.href, { connections: 1 })
  onTestFinished(() => other.destroy())
  return other
}

describe.runIf(process.env.BERTH_TEST_DATABASE === 'postgres')('on PostgreSQL', () => {
  test('samples of a day are a table, which is dropped whole when they are too old', async () => {
    const t = await testApp()
    await make(t)
    const day = Math.floor(t.clock.now() / 1000 / DAY)
    await sample(t, 60)
    expect(await filled(t.db)).toEqual([`samples_10_${day}`, `samples_60_${day}`])
    t.clock.advance(1.9 * DAY * 1000)
    await t.app.sampler.round()
    expect(await tables(t.db)).not.toContain(`samples_10_${day}`)
    expect(await tables(t.db)).toContain(`samples_60_${day}`)
    // After a pause of months there are tables for samples again, and none for days on which there were none.
    t.clock.advance(100 * DAY * 1000)
    await sample(t, 2)
    const later = Math.floor(t.clock.now() / 1000 / DAY)
    expect(await filled(t.db)).toContain(`samples_10_${later}`)
    const numbers = (await tables(t.db)).map((name) => Number(name.split('_')[2]))
    expect(Math.max(...numbers)).toBe(Math.max(later, today + 7) + (later >= today + 7 ? 1 : 0))
    expect(numbers.filter((number) => number < later - 31)).toEqual([])
  })

  test('a table that is being read for long is dropped later, and until then nobody waits for it', async () => {
    const db = await database()
    await addPartitions(db, 0, 0)
    const reader = await beside(db)
    await reader.transaction().execute(async (tx) => {
      await sql`SELECT 1 FROM samples_10_0`.execute(tx)
      await dropPartitions(db, today * DAY)
      expect(await tables(db)).toContain('samples_10_0')
      expect((await sql`SELECT 1 FROM kept_samples`.execute(db)).rows).toEqual([])
    })
    await dropPartitions(db, today * DAY)
    expect(await tables(db)).not.toContain('samples_10_0')
  })

  test('two processes that make tables at once make each of them once', async () => {
    const db = await database()
    await Promise.all([1, 2, 3].map((end) => addPartitions(db, 0, end * DAY)))
    const made = (await tables(db)).filter((name) => /^samples_10_\d$/.test(name))
    expect(made).toEqual([0, 1, 2, 3, 4].map((day) => `samples_10_${day}`))
  })

  test('samples from before there were partitions are kept until they are too old, and then dropped whole', async () => {
    const db = await database('0063-auto-top-up')
    const hour = (today - 1) * DAY
    await insert(db, 'samples', [
      [1, 10, hour],
      [1, 10, hour + 10],
      [2, 60, hour],
    ])
    expect(await migrate(db, { upTo: '0064-sample-days' })).toEqual(['0064-sample-days'])
    expect(await cpuOf(db, hour)).toEqual([700])
    // As a process of the version before does, which goes on for a while.
    await insert(db, 'samples', [
      [1, 10, today * DAY],
      [1, 10, (today + 7) * DAY],
    ])
    expect(await cpuOf(db, hour)).toEqual([700, 700])
    await addPartitions(db, hour, (today + 9) * DAY)
    const before = `samples_until_${today + 1}`
    await dropPartitions(db, (today + 30) * DAY)
    expect(await tables(db)).toContain(before)
    await dropPartitions(db, (today + 31) * DAY)
    expect(await tables(db)).not.toContain(before)
    expect(await cpuOf(db, hour)).toEqual([])
  })

  test('an installation without samples, such as a new one, has nothing but partitions', async () => {
    const db = await database()
    expect((await tables(db)).filter((name) => name.includes('until'))).toEqual([])
    await insert(db, 'samples', [[1, 10, today * DAY]])
    expect(await cpuOf(db, today * DAY)).toEqual([700])
  })

  test('nothing is left of a deleted server in the table of samples from before partitions', async () => {
    const t = await testApp()
    const id = await make(t)
    await sample(t, 1)
    const table = await tableForImport(t.db, Math.floor(t.clock.now() / 1000))
    const { series } = await t.db.selectFrom('meters').select('series').executeTakeFirstOrThrow()
    await insert(t.db, table, [
      [series, 10, 10],
      [series + 1, 10, 10],
    ])
    await t.call('DELETE', `/servers/${id}`)
    await t.finish()
    await sample(t, 1)
    const { rows } = await sql<{ series: number }>`SELECT series FROM kept_samples`.execute(t.db)
    expect(rows).toEqual([{ series: series + 1 }])
  })
})
