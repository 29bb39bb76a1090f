import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { chargeDue } from '../../../api/billing/metering.ts'
import { Drivers } from '../../../api/drivers/drivers.ts'
import { Sampler } from '../../../api/monitoring/sampler.ts'
import { noPeers } from '../../../api/processes/peers.ts'
import { changedShares, readGroup, saveShares, sharesInForce } from '../../../api/processes/shares.ts'
import { billedItems, pooledServers, poweredServers } from '../../../api/servers/queries.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { testDatabase } from '../../harness/database.ts'
import { make } from '../harness/ordering.ts'

const POOLS = ['simulator', 'second']

/** A process's sampler, and the pools that it holds; the duty is another process's. */
function samplerOf(t: TestApp, ...pools: string[]) {
  const held = new Set(pools)
  const peers = { ...noPeers(), holds: () => false, holdsPool: (pool: string) => held.has(pool) }
  const drivers = new Drivers('simulator', { simulator: t.driver, second: t.driver })
  const servers = { powered: poweredServers, present: pooledServers }
  const { db, clock } = t
  return {
    held,
    sampler: new Sampler({ db, clock, drivers, log: t.app.http.log, servers, peers, everySeconds: 10 }),
  }
}

/** One server in each of two pools. */
async function twoPools(): Promise<{ t: TestApp; ids: string[] }> {
  const t = await testApp()
  const ids = [await make(t), await make(t)]
  await t.db
    .updateTable('servers')
    .set({ pool: 'second' })
    .where('server_id', '=', ids[1] ?? '')
    .execute()
  return { t, ids }
}

/** The slots of each server that have a sample of a resolution. */
async function slots(t: TestApp, resolution: number): Promise<number[]> {
  const rows = await t.db
    .selectFrom('meters')
    .leftJoin('samples', 'samples.series', 'meters.series')
    .select(['server_id', 'at'])
    .where('resolution', '=', resolution)
    .execute()
  return [...Map.groupBy(rows, ({ server_id }) => server_id).values()].map(
    (own) => new Set(own.map(({ at }) => at)).size,
  )
}

test('processes that share the pools measure each server once a round, and one continues for a dead one', async () => {
  const { t } = await twoPools()
  const [first, second] = [samplerOf(t, 'simulator'), samplerOf(t, 'second')]
  t.clock.advance(600_000 - (t.clock.now() % 600_000))
  for (let round = 0; round < 30; round++) {
    t.clock.advance(10_000)
    await Promise.all([first.sampler.round(), second.sampler.round()])
  }
  expect(await slots(t, 10)).toEqual([30, 30])
  // The second one dies before it has made any minute of its samples.
  first.held.add('second')
  for (let round = 0; round < 30; round++) {
    t.clock.advance(10_000)
    await first.sampler.round()
  }
  expect([await slots(t, 10), await slots(t, 60)]).toEqual([
    [60, 60],
    [10, 10],
  ])
})

test('two processes that measure a pool at the same time count its traffic once', async () => {
  const { t, ids } = await twoPools()
  const [first, second] = [samplerOf(t, ...POOLS), samplerOf(t, ...POOLS)]
  const rounds = () => Promise.all([first.sampler.round(), second.sampler.round()])
  for (let round = 0; round < 20; round++) {
    t.clock.advance(10_000)
    await rounds()
  }
  for (const id of ids) {
    const { reading } = await t.db
      .selectFrom('meters')
      .select('reading')
      .where('server_id', '=', id)
      .executeTakeFirstOrThrow()
    const { in_bytes, out_bytes } = await t.db
      .selectFrom('traffic')
      .selectAll()
      .where('server_id', '=', id)
      .executeTakeFirstOrThrow()
    const { networkRxBytes, networkTxBytes } = JSON.parse(reading).totals
    expect([in_bytes, out_bytes]).toEqual([networkRxBytes, networkTxBytes])
  }
  const series = await t.db.selectFrom('meters').select('series').execute()
  expect(new Set(series.map((row) => row.series)).size).toBe(2)
})

test('only the process that holds a pool reconciles its machines', async () => {
  const held = new Set<string>()
  const t = await testApp({ peers: { ...noPeers(), holdsPool: (pool) => held.has(pool) } })
  const id = await make(t)
  t.driver.turnsOffByItself(id, 'crashed')
  await t.app.reconciler.look()
  const status = async () => (await t.call('GET', `/servers/${id}`)).body.status
  expect(await status()).toBe('running')
  held.add('simulator')
  await t.app.reconciler.look()
  expect(await status()).toBe('starting')
})

test('processes that charge at the same time charge each hour of each item once', async () => {
  const t = await testApp({ balance: '10000.00' })
  const ids = [await make(t), await make(t), await make(t)]
  t.clock.advance(5 * 3600_000)
  const options = { db: t.db, items: billedItems }
  const charged = await Promise.all([1, 2, 3].map(() => chargeDue(options, t.clock.now())))
  expect(charged.reduce((sum, count) => sum + count, 0)).toBe(ids.length)
  const entries = await t.db
    .selectFrom('transactions')
    .select('item_id')
    .where('type', '=', 'charge')
    .execute()
  expect(entries.map(({ item_id }) => item_id).sort()).toEqual([...ids].sort())
})

test.runIf(process.env.BERTH_TEST_DATABASE === 'postgres')(
  'a process that charges does not wait for items that another one is just charging',
  async () => {
    const t = await testApp({ balance: '10000.00' })
    const ids = [await make(t), await make(t)]
    t.clock.advance(3600_000)
    await t.db.transaction().execute(async (tx) => {
      const taken = tx
        .updateTable('billing_meters')
        .set({ traffic_month: 0 })
        .where('item_id', '=', ids[0] ?? '')
      await taken.execute()
      expect(await chargeDue({ db: t.db, items: billedItems }, t.clock.now())).toBe(1)
    })
    expect(await chargeDue({ db: t.db, items: billedItems }, t.clock.now())).toBe(1)
  },
)

test.runIf(process.env.BERTH_TEST_DATABASE === 'postgres')(
  'an item whose account others keep locked for long is charged by the next look, and not called faulty',
  async () => {
    const t = await testApp({ balance: '10000.00' })
    await make(t)
    t.clock.advance(3600_000)
    // As PostgreSQL refuses a lock after ten seconds.
    await sql`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN RAISE EXCEPTION 'locked' USING ERRCODE = '55P03'; END $$`.execute(t.db)
    await sql`CREATE TRIGGER refused BEFORE INSERT ON transactions EXECUTE FUNCTION refuse()`.execute(t.db)
    const faults: unknown[] = []
    const options = { db: t.db, items: billedItems, onFault: (item: unknown) => void faults.push(item) }
    expect(await chargeDue(options, t.clock.now())).toBe(0)
    await sql`DROP FUNCTION refuse() CASCADE`.execute(t.db)
    expect([await chargeDue(options, t.clock.now()), faults]).toEqual([1, []])
  },
)

test('the process with the duty hands out the pools, moves those of a dead one, and no other process does', async () => {
  const { db, drop } = await testDatabase()
  const process = { role: 'worker', host: 'h', pid: 1, started_at: 0, seen_at: 0, takes_pools: 1 } as const
  await db
    .insertInto('processes')
    .values([
      ...['a', 'b'].map((process_id) => ({ ...process, process_id })),
      { ...process, process_id: 'c', role: 'api', takes_pools: 0 },
      // One of an earlier version would leave its pools without anybody.
      { ...process, process_id: 'earlier', takes_pools: 0 },
    ])
    .execute()
  await db.updateTable('duties').set({ owner: 'a' }).execute()
  const pools = ['p1', 'p2', 'p3', 'p4']
  const handOut = async (self: string) => {
    await saveShares(db, changedShares(await readGroup(db), self, pools))
    expect(changedShares(await readGroup(db), self, pools)).toEqual([])
  }
  const readShares = async () => sharesInForce(await readGroup(db))
  expect(changedShares(await readGroup(db), 'b', pools)).toEqual([])
  await handOut('a')
  const shares = await readShares()
  expect(Object.values(Object.groupBy(shares.values(), (owner) => owner)).map((own) => own?.length)).toEqual([
    2, 2,
  ])
  expect(new Set(shares.values())).toEqual(new Set(['a', 'b']))
  await db.deleteFrom('processes').where('process_id', '=', 'b').execute()
  await handOut('a')
  expect(new Set((await readShares()).values())).toEqual(new Set(['a']))
  // Another process has the duty, perhaps of an earlier version, which does the work of all pools.
  await db.updateTable('duties').set({ owner: 'old' }).execute()
  expect((await readShares()).size).toBe(0)
  await db.destroy()
  await drop()
})
