import { connect, createServer } from 'node:net'
import { sql } from 'kysely'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createAccount } from '../../../api/accounts/accounts.ts'
import { type Database, isUnavailable, send } from '../../../api/database/database.ts'
import { openPostgres, type PostgresOptions } from '../../../api/database/postgres.ts'
import { ManualClock } from '../../harness/clock.ts'
import { testDatabase } from '../../harness/database.ts'

const clock = new ManualClock()

/** Opens the tables of a test again, over connections of its own. */
async function opened(
  options: PostgresOptions = {},
  through: (url: URL) => Promise<URL> = async (url) => url,
) {
  const { db: other, drop } = await testDatabase()
  const { rows } = await sql<{ name: string }>`SELECT current_schema() AS name`.execute(other)
  const url = new URL(inject('postgresUrl'))
  url.searchParams.set('options', `-c search_path=${rows[0]?.name}`)
  const db = openPostgres((await through(url)).href, { connections: 1, ...options })
  onTestFinished(async () => {
    await db.destroy()
    await other.destroy()
    await drop()
  })
  return { db, other }
}

const add = (db: Database, name: string) => createAccount(db, clock, { email: `${name}@example.com`, name })
const names = async (db: Database) =>
  (await db.selectFrom('accounts').select('name').orderBy('name').execute()).map(({ name }) => name)

async function prepared(db: Database): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`SELECT statement AS text FROM pg_prepared_statements`.execute(
    db,
  )
  return rows.map(({ text }) => text)
}

/** Forwards a connection and replaces a word that the client sends with another of the same length. */
async function replacing(url: URL, word: string, other: string): Promise<URL> {
  const proxy = createServer((client) => {
    const server = connect(Number(url.port), url.hostname)
    client.on('data', (bytes) =>
      server.write(Buffer.from(bytes.toString('latin1').replaceAll(word, other), 'latin1')),
    )
    server.pipe(client)
    for (const [socket, peer] of [
      [client, server],
      [server, client],
    ] as const)
      socket.on('error', () => {}).on('close', () => peer.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void proxy.close())
  const address = proxy.address()
  if (typeof address !== 'object' || address === null) throw new Error('the system gave no port')
  const through = new URL(url)
  through.port = String(address.port)
  return through
}

describe.runIf(process.env.BERTH_TEST_DATABASE === 'postgres')('on PostgreSQL', () => {
  test('many rows are inserted by one statement, whatever they contain and however many they are', async () => {
    const { db } = await opened()
    const odd = ['"', "'", '\\', '{a,b}', 'null', '\n', 'ж', '😀', '$1', '']
    const rows = Array.from({ length: 500 }, (_, n) => ({
      name: `row-${n}`,
      value: odd[n % odd.length] ?? '',
    }))
    const add = (some: typeof rows) =>
      db
        .insertInto('installation')
        .values(some)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow()
    expect((await add(rows.slice(0, 60))).numInsertedOrUpdatedRows).toBe(60n)
    expect((await add(rows.slice(20))).numInsertedOrUpdatedRows).toBe(440n)
    const found = await db
      .selectFrom('installation')
      .selectAll()
      .where('name', 'like', 'row-%')
      .orderBy('name')
      .execute()
    expect(found).toEqual(rows.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    const numbers = Array.from({ length: 40 }, (_, n) => ({
      ...{
        series: n,
        resolution: 10,
        at: Math.floor(Date.now() / 1000),
        cpu: null,
        memory_mb: 900 - n,
        disk_mb: 0,
      },
      ...{ disk_read: Number.MAX_SAFE_INTEGER, disk_write: null, network_rx: 0, network_tx: -1 },
    }))
    await db.insertInto('samples').values(numbers).execute()
    expect(await db.selectFrom('samples').selectAll().orderBy('series').execute()).toEqual(numbers)
    expect((await prepared(db)).filter((text) => text.startsWith('insert into "installation"'))).toHaveLength(
      1,
    )
  })

  test('a connection prepares a statement once, however long its lists are', async () => {
    const { db } = await opened()
    await add(db, 'a')
    const [{ account_id = '' } = {}] = await db.selectFrom('accounts').select('account_id').execute()
    for (const ids of [[account_id], ['x', account_id], ['{', '"', 'NULL', account_id]])
      expect(
        await db.selectFrom('accounts').select('name').where('account_id', 'in', ids).execute(),
      ).toHaveLength(1)
    expect(
      await db.selectFrom('accounts').select('name').where('account_id', 'not in', ['x']).execute(),
    ).toHaveLength(1)
    expect(
      await db.selectFrom('accounts').select('name').where('created_at', 'in', [clock.now(), 1]).execute(),
    ).toHaveLength(1)
    expect(
      (await prepared(db)).filter((text) => text.includes('= any(') || text.includes('<> all(')),
    ).toHaveLength(3)
  })

  test('a statement finds texts and numbers as they were written, also when its columns are known', async () => {
    const { db } = await opened()
    const texts = ['a "b" \\ {c}', '', 'NULL', "d'e,f", 'ж']
    for (const text of texts) await add(db, text)
    const found = () =>
      db.selectFrom('accounts').select(['name', 'created_at']).where('name', 'in', texts).execute()
    for (let time = 0; time < 3; time += 1)
      expect(new Set(await found())).toEqual(
        new Set(texts.map((name) => ({ name, created_at: clock.now() }))),
      )
    await db.updateTable('accounts').set({ created_at: sql<number>`9007199254740993` }).execute()
    await expect(found()).rejects.toThrow('beyond 2^53')
  })

  test('a connection with too many prepared statements is replaced', async () => {
    const { db } = await opened()
    for (let n = 0; n < 1_100; n += 1) await db.selectFrom('accounts').select(sql.lit(n).as('n')).execute()
    expect((await prepared(db)).length).toBeLessThan(600)
  })

  test('a migration by another process disturbs no statement alone and no beginning of a transaction', async () => {
    const { db, other } = await opened()
    await add(db, 'a')
    const read = () => db.selectFrom('accounts').selectAll().execute()
    const readTwice = () =>
      db.transaction().execute(async (tx) => {
        await sql`SELECT 1`.execute(tx)
        return tx.selectFrom('accounts').selectAll().execute()
      })
    await read()
    try {
      await sql`ALTER TABLE accounts ADD COLUMN one integer`.execute(other)
      expect(await read()).toMatchObject([{ name: 'a', one: null }])
      await sql`ALTER TABLE accounts ADD COLUMN two integer`.execute(other)
      const first = await db.transaction().execute((tx) => tx.selectFrom('accounts').selectAll().execute())
      expect(first).toMatchObject([{ name: 'a', two: null }])
      await read()
      await sql`ALTER TABLE accounts ADD COLUMN three integer`.execute(other)
      // Nothing of it took place, and it can be repeated.
      const failed = await readTwice().catch((error: unknown) => error)
      expect(isUnavailable(failed)).toBe(true)
      expect(await readTwice()).toMatchObject([{ name: 'a', three: null }])
    } finally {
      await sql`ALTER TABLE accounts DROP COLUMN one, DROP COLUMN two, DROP COLUMN three`.execute(other)
    }
  })

  test('a statement whose transaction could not begin does not run', async () => {
    const { db, other } = await opened({}, (url) => replacing(url, 'BEGIN', 'BEGAN'))
    await expect(add(db, 'a')).rejects.toThrow('BEGAN')
    expect(await names(other)).toEqual([])
  })

  test('a write that nobody waits for takes its transaction with it if it fails', async () => {
    const { db } = await opened()
    const id = (await add(db, 'a')) ?? ''
    const rename = (tx: Parameters<typeof send>[0], name: string) =>
      send(tx, tx.updateTable('accounts').set({ name }).where('account_id', '=', id))
    const repeat = (tx: Parameters<typeof send>[0]) =>
      send(
        tx,
        tx
          .insertInto('accounts')
          .columns(['account_id'])
          .expression(tx.selectFrom('accounts').select('account_id')),
      )
    await db.transaction().execute((tx) => rename(tx, 'c'))
    expect(await names(db)).toEqual(['c'])
    const atCommit = db.transaction().execute(async (tx) => {
      await rename(tx, 'd')
      await repeat(tx)
      await rename(tx, 'e')
    })
    await expect(atCommit).rejects.toMatchObject({ code: '23502' })
    const before = db.transaction().execute(async (tx) => {
      await repeat(tx)
      await tx.selectFrom('accounts').select('name').execute()
    })
    await expect(before).rejects.toMatchObject({ code: '23502' })
    expect(await names(db)).toEqual(['c'])
  })

  test('a write that must change a row and finds none undoes its transaction, with the error it was given', async () => {
    const { db } = await opened()
    const id = (await add(db, 'a')) ?? ''
    const renaming = (of: string) =>
      db.transaction().execute(async (tx) => {
        await send(tx, tx.updateTable('accounts').set({ name: 'b' }).where('account_id', '=', id))
        const second = tx.updateTable('accounts').set({ name: 'c' }).where('account_id', '=', of)
        await send(tx, second, () => new Error('it is gone'))
      })
    await expect(renaming('another')).rejects.toThrow('it is gone')
    expect(await names(db)).toEqual(['a'])
    await renaming(id)
    expect(await names(db)).toEqual(['c'])
  })

  test('a transaction that only reads takes no id and reports no commit', async () => {
    let commits = 0
    const onCommit = () => {
      commits += 1
    }
    const { db } = await opened({ onCommit })
    const assigned = sql<{ id: string | null }>`SELECT pg_current_xact_id_if_assigned()::text AS id`
    const id = await db.transaction().execute(async (tx) => {
      await tx.selectFrom('accounts').select('name').execute()
      return (await assigned.execute(tx)).rows[0]?.id
    })
    await db.transaction().execute(async () => {})
    expect([id, commits]).toEqual([null, 0])
    await add(db, 'a')
    expect(commits).toBe(1)
  })
})
