import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import pino from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openPools } from '../../api/catalog/usage.ts'
import { systemClock } from '../../api/clock.ts'
import { lockDataDir } from '../../api/commands/installation.ts'
import { changeLast, type Queries, send, Unchanged } from '../../api/database/database.ts'
import { migrate } from '../../api/database/migrate.ts'
import { openPostgres } from '../../api/database/postgres.ts'
import { Loop } from '../../api/loop.ts'
import { Link } from '../../api/processes/link.ts'
import { Members } from '../../api/processes/members.ts'
import { type Server, startPostgres } from '../harness/postgres.ts'
import { berthd, folder, order, run, type Service, serveOn } from './harness/berthd.ts'
import { cutter } from './harness/cutter.ts'
import { brokenAlways } from './harness/invariants.ts'
import { PORTS } from './harness/orders.ts'

let postgres: Server
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.remove())

const statuses = async (service: Service) => {
  const { items } = (await service.call('GET', '/servers?limit=200')).body
  return new Set(items.map(({ status }: { status: string }) => status))
}

test('a commit whose answer is lost is found out: it counts where it took place, and fails where it did not', async () => {
  const proxy = await cutter(await postgres.create('cut'))
  const db = openPostgres(proxy.url)
  onTestFinished(() => db.destroy())
  await sql`CREATE TABLE notes (body text)`.execute(db)
  const note = (body: string) =>
    db.transaction().execute((tx) => sql`INSERT INTO notes VALUES (${body})`.execute(tx))
  const raw = (text: string) => ({ compile: () => sql.raw(text).compile(db) })
  proxy.cutNext('after')
  await note('kept')
  // The first write has changed nothing, so that the transaction has no id until the second one.
  proxy.cutNext('after')
  await db.transaction().execute(async (tx) => {
    await Promise.all([
      send(tx, raw("DELETE FROM notes WHERE body = 'none'")),
      send(tx, raw("INSERT INTO notes VALUES ('sent')")),
    ])
  })
  proxy.cutNext('before')
  await expect(note('lost')).rejects.toMatchObject({ code: '08006' })
  await note('next')
  const { rows } = await sql<{ body: string }>`SELECT body FROM notes`.execute(db)
  expect(rows.map(({ body }) => body)).toEqual(['kept', 'sent', 'next'])
})

test('a process that reports after all were silent is not declared dead by another that reports meanwhile', async () => {
  const db = openPostgres(await postgres.create('silent'))
  onTestFinished(() => db.destroy())
  await migrate(db)
  const bells = { ring: () => {}, on: () => {} }
  const member = () =>
    new Members({ db, clock: systemClock, log: pino({ level: 'silent' }), role: 'all', bells })
  const [first, second] = [member(), member()]
  await Promise.all([first.beat(), second.beat()])
  const dead = { host: 'one', pid: 1, role: 'all', started_at: 0, takes_pools: 0 } as const
  await db
    .insertInto('processes')
    .values({ process_id: 'dead', seen_at: 0, ...dead })
    .execute()
  await db.updateTable('processes').set({ seen_at: 0 }).execute()
  await db.transaction().execute(async (tx) => {
    await tx.updateTable('processes').set({ seen_at: 1 }).where('process_id', '=', first.processId).execute()
    await second.beat()
  })
  const living = await db.selectFrom('processes').select('process_id').execute()
  expect(new Set(living.map((row) => row.process_id))).toEqual(new Set([first.processId, second.processId]))
})

test('a heartbeat of a process takes four statements, and work that becomes its duty begins at once', async () => {
  const opened = openPostgres(await postgres.create('beat'))
  onTestFinished(() => opened.destroy())
  await migrate(opened)
  let statements = 0
  const db = opened.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      statements += 1
      return result
    },
  })
  const log = pino({ level: 'silent' })
  const bells = { ring: () => {}, on: () => {} }
  const member = () => new Members({ db, clock: systemClock, log, role: 'all', bells })
  const [first, second] = [member(), member()]
  await first.beat()
  await second.beat()
  const begun = Promise.withResolvers<void>()
  const loop = new Loop({
    ...{ clock: systemClock, log, peers: second, failure: 'it failed', pauseMs: () => 3600_000 },
    isOurs: () => second.holds('billing'),
    turn: async () => begun.resolve(),
  })
  loop.start()
  statements = 0
  await second.beat()
  expect([statements, second.holds('billing')]).toEqual([4, false])
  await first.stop()
  await second.beat()
  expect(second.holds('billing')).toBe(true)
  await begun.promise
  await loop.stop()
})

test('shared counters change at the commit: no order waits for a transaction that is still open', async () => {
  const db = openPostgres(await postgres.create('last'))
  onTestFinished(() => db.destroy())
  await migrate(db)
  await openPools(db, ['simulator'])
  const used = () => db.selectFrom('pool_usage').select('cpu').executeTakeFirstOrThrow()
  const take = (tx: Queries, cpu: number, most: number) => {
    const taken = tx.updateTable('pool_usage').set((eb) => ({ cpu: eb('cpu', '+', cpu) }))
    const where = taken.where('pool', '=', 'simulator').where('cpu', '<=', most - cpu)
    return changeLast(tx, where, { isNeeded: true })
  }
  const others = Promise.withResolvers<void>()
  const slow = db.transaction().execute(async (tx) => {
    await take(tx, 2, 6)
    await others.promise
  })
  for (const cpu of [1, 3]) await db.transaction().execute((tx) => take(tx, cpu, 6))
  expect(await used()).toEqual({ cpu: 4 })
  others.resolve()
  await slow
  expect(await used()).toEqual({ cpu: 6 })

  // Nothing of a transaction takes place that finds no room in the end.
  const full = db.transaction().execute(async (tx) => {
    await openPools(tx, ['another'])
    await take(tx, 1, 6)
  })
  await expect(full).rejects.toThrow(Unchanged)
  expect(await db.selectFrom('pool_usage').selectAll().execute()).toHaveLength(1)
})

test('on PostgreSQL the service and its commands do what they do on SQLite, with one key for all', async () => {
  const url = await postgres.create('serve')
  const data = folder()
  const env = { BERTH_DATA: data, DATABASE_URL: url }
  const service = await serveOn(url, data)
  expect(service.stdout).not.toContain(':test@')
  const made = await service.call('POST', '/servers', { ...(await order(service)), name: 'web-1' })
  expect(made.status).toBe(202)
  await expect.poll(() => statuses(service)).toEqual(new Set(['running']))
  expect((await run(['server', 'list'], env)).stdout).toContain('web-1')
  expect(await run(['server', 'stop', 'web-1'], env)).toMatchObject({
    stdout: expect.stringContaining('within 5 seconds'),
  })
  await expect.poll(() => statuses(service)).toEqual(new Set(['stopped']))
  expect(await run(['backup', '/tmp/never'], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('pg_dump'),
  })
  // It has made the key, by which the database knows its folder.
  const stranger = berthd(['serve'], { ...env, BERTH_DATA: folder(), BERTH_COMPUTE: 'simulator', PORT: '0' })
  expect(await stranger.ended).toMatchObject({ code: 1 })
  expect(stranger.stderr).toContain('secret.key is not the key that seals the secrets in the database.')
  const db = openPostgres(url)
  await sql`INSERT INTO kysely_migration VALUES ('9999-later', '')`.execute(db)
  await db.destroy()
  expect(await run(['migrate'], env)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The database was written by a newer version of Berth: .*\n$/),
  })
})

test('on PostgreSQL, lost servers are brought back only where the service runs that has their machines', async () => {
  const url = await postgres.create('rebuilt')
  const dataDir = folder()
  const env = { BERTH_DATA: dataDir, DATABASE_URL: url }
  const service = await serveOn(url, dataDir)
  const { server_id } = (await service.call('POST', '/servers', await order(service))).body
  await expect.poll(() => statuses(service)).toEqual(new Set(['running']))
  const { snapshot_id } = (await service.call('POST', '/snapshots', { server_id })).body
  const copied = async () => (await service.call('GET', `/snapshots/${snapshot_id}`)).body.status
  await expect.poll(copied).toBe('available')
  const rebuild = () => run(['host', 'rebuild'], env)
  const refused = { code: 1, stderr: expect.stringContaining('their disks may lie on another one') }
  // Another process may serve beside this one, and have the machines.
  expect(await rebuild()).toMatchObject(refused)
  service.process.kill('SIGTERM')
  await service.ended
  expect(await rebuild()).toMatchObject(refused)

  // A folder of QEMU that has the copy and has lost the server.
  mkdirSync(path.join(dataDir, 'snapshots', snapshot_id), { recursive: true })
  writeFileSync(path.join(dataDir, 'snapshots', snapshot_id, 'manifest.json'), '{}')
  const db = openPostgres(url)
  onTestFinished(() => db.destroy())
  await db.updateTable('servers').set({ pool: 'qemu' }).execute()
  await db.updateTable('snapshots').set({ pool: 'qemu' }).execute()
  const log = pino({ level: 'silent' })
  const link = await Link.open({ url, name: 'alone', isAlone: true, log, usurped: () => {} })
  onTestFinished(() => link.close())
  // It serves from another folder.
  expect(await rebuild()).toMatchObject(refused)
  onTestFinished(lockDataDir({ dataDir }))
  const { code, stdout, stderr } = await rebuild()
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(new RegExp(`${server_id} .* restoring\n`))
  const { status } = await db.selectFrom('servers').select('status').executeTakeFirstOrThrow()
  expect(status).toBe('restoring')
})

test('several migrate at once, and all find the newest schema', async () => {
  const env = { BERTH_DATA: folder(), DATABASE_URL: await postgres.create('migrated') }
  // A mistyped name is not taken for an empty installation.
  expect(await run(['account', 'list'], env)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^No installation found in .*\/migrated\. Is DATABASE_URL/),
  })
  const ran = await Promise.all([1, 2, 3].map(() => run(['migrate'], env)))
  for (const each of ran) expect(each).toMatchObject({ code: 0, stderr: '' })
})

test('lists of events come from a replica while it follows, and from the primary otherwise', async () => {
  const url = await postgres.create('followed')
  const replica = await postgres.follow()
  onTestFinished(() => replica.remove())
  const onReplica = openPostgres(replica.url('followed'))
  onTestFinished(() => onReplica.destroy())
  const service = await serveOn(url, folder(), { DATABASE_REPLICA_URL: replica.url('followed') })
  const isAsked = async () =>
    (
      await sql`SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'berthd replica %'
      AND query LIKE '%from "events"%'`.execute(onReplica)
    ).rows.length > 0
  const events = async () => (await service.call('GET', '/events?limit=100')).body.total
  const project = async (name: string) =>
    expect((await service.call('POST', '/account/projects', { name })).status).toBe(201)
  await project('a')
  const askedTwice = async () => (await events()) > 0 && (await isAsked())
  await expect.poll(askedTwice).toBe(true)

  // One that stays behind is found out.
  const before = await events()
  await sql`SELECT pg_wal_replay_pause()`.execute(onReplica)
  await project('b')
  await expect.poll(events, { interval: 100 }).toBe(before + 1)
  await sql`SELECT pg_wal_replay_resume()`.execute(onReplica)

  await replica.stop()
  await project('c')
  expect(await events()).toBe(before + 2)
  await replica.start()
  await expect.poll(askedTwice).toBe(true)
})

test('while the database restarts requests are refused with Retry-After, and then all continues by itself', async () => {
  const url = await postgres.create('restart')
  const service = await serveOn(url, folder())
  const body = await order(service)
  let isOver = false
  onTestFinished(() => {
    isOver = true
  })
  const accepted: string[] = []
  const refused: Response[] = []
  const customer = async (name: string) => {
    for (let n = 0; !isOver; n += 1) {
      const key = `${name}-${n}`
      // As a client does it: the same key until there is an answer that says what became of it.
      for (;;) {
        const reply = await service.send(
          'POST',
          '/servers',
          { ...body, name: key },
          { 'idempotency-key': key },
        )
        if (reply.status === 202)
          accepted.push(((await reply.json()) as { server_id: string }).server_id) // by the contract
        else refused.push(reply)
        if (reply.status === 202 || isOver) break
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const customers = ['ann', 'bob', 'cid', 'dan'].map(customer)
  await expect.poll(() => accepted.length).toBeGreaterThan(8)
  await postgres.stop()
  await expect.poll(() => refused.length).toBeGreaterThan(4)
  await postgres.start()
  const before = accepted.length
  await expect.poll(() => accepted.length).toBeGreaterThan(before + 8)
  isOver = true
  await Promise.all(customers)

  // An operator finds one error, and when it was over; all that failed meanwhile is a warning.
  const lines = service.stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  const lost = 'the connection to the database was lost; connecting again'
  expect(lines.filter(({ level }) => level >= 50).map(({ msg }) => msg)).toEqual([lost])
  expect(lines.filter(({ msg }) => msg === 'the database can be reached again')).toHaveLength(1)
  for (const { status, headers } of refused)
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([status === 409 ? 409 : 503, true])
  await expect.poll(() => statuses(service)).toEqual(new Set(['running']))
  const { items } = (await service.call('GET', '/servers?limit=200')).body
  const names = items.map(({ name }: { name: string }) => name)
  // Each name once: nothing was made twice, and what was accepted is there.
  expect(new Set(names).size).toBe(names.length)
  const ids = items.map(({ server_id }: { server_id: string }) => server_id)
  expect(accepted.filter((id) => !ids.includes(id))).toEqual([])
  const db = openPostgres(url)
  onTestFinished(() => db.destroy())
  expect(await brokenAlways({ db, machines: new Map(), ports: PORTS })).toEqual([])
})
