import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { hashToken } from '../api/accounts/token-value.ts'
import { migrate } from '../api/database/migrate.ts'
import { openPostgres } from '../api/database/postgres.ts'
import { startPostgres } from '../test/harness/postgres.ts'
import { cpuOf, cpuOfDatabase } from './cpu.ts'
import { creating } from './creates.ts'
import { fill, idOf, openAccount, RUNNING, sellPlenty, type World } from './filled.ts'
import { CONNECTIONS, create, serving, speed } from './serving.ts'
import { MEASURED } from './statements.ts'

const SERVERS = 100_000
const READS = 1_000
const CREATES = 500
/** The time for which the background work is measured: six rounds of the sampler and the reconciler. */
const WATCH_MS = 60_000

/**
 * Measures 100,000 servers in PostgreSQL, through one, two and four processes, beside SQLite and beside the SQL
 * alone.
 */
export async function benchCluster(rounds: number): Promise<void> {
  const postgres = await startPostgres(MEASURED)
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-cluster-'))
  try {
    const embedded = await beginEmbedded()
    const { order } = embedded
    const url = await postgres.create('berth')
    const db = openPostgres(url)
    await migrate(db)
    const world = { folder, url, db, order, token: await openAccount(db) }
    sellPlenty(folder)
    await fill(world, 0, 100)
    const small = await reads(world, 1, rounds)
    await fill(world, 100, SERVERS)
    await sql`VACUUM ANALYZE`.execute(db)
    const large = await reads(world, 1, rounds)
    say(
      'page one of 100,000 servers costs',
      large.list.cpuMs / small.list.cpuMs,
      'times that of 100 (target: at most 1.2)',
    )
    await besideSql(world, large, rounds)
    await besideEmbedded(embedded, large, rounds)
    for (const processes of [2, 4]) {
      const these = await reads(world, processes, rounds)
      say(
        `${processes} processes answer`,
        these.list.perSecond / large.list.perSecond,
        'times the lists of one',
      )
    }
    await settle(world)
    await creating(world)
    await watching(world, postgres.url('berth'))
    await db.destroy()
  } finally {
    await postgres.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

function say(what: string, ratio: number, of: string): void {
  console.log(`${what} ${ratio.toFixed(2)} ${of}`)
}

/** Connects the running machines, which a worker does once: these 10,000 writes must not count. */
async function settle(world: World): Promise<void> {
  const untold = world.db
    .selectFrom('simulated_machines')
    .select('server_id')
    .where('machine', 'like', '%"isOn":true%')
    .where('machine', 'not like', '%"network":%')
    .limit(1)
  await serving(world, { apis: 0, workers: 1 }, async () => {
    while (await untold.executeTakeFirst()) await sleep(1_000)
  })
  await sql`VACUUM ANALYZE`.execute(world.db)
}

const get = (token: string, url: string) =>
  `GET ${url} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\n\r\n`

/** Measures one kind of request by CPU time, which other users of the machine affect less than wall time. */
interface Cost {
  perSecond: number
  /** CPU time of all processes and the database for each request. */
  cpuMs: number
}

interface Reads {
  list: Cost
  one: Cost
}

/** The processes whose CPU time counts. */
interface Counted {
  pids: readonly number[]
  url: string | null
}

async function costOf({ pids, url }: Counted, requests: number, run: () => Promise<unknown>): Promise<Cost> {
  const used = async () => pids.reduce((sum, pid) => sum + cpuOf(pid), url ? await cpuOfDatabase(url) : 0)
  const [before, began] = [await used(), performance.now()]
  await run()
  const seconds = (performance.now() - began) / 1000
  return { perSecond: requests / seconds, cpuMs: (1000 * ((await used()) - before)) / requests }
}

const middle = (costs: readonly Cost[]): Cost => ({
  perSecond: median(costs.map(({ perSecond }) => perSecond)),
  cpuMs: median(costs.map(({ cpuMs }) => cpuMs)),
})

const show = ({ perSecond, cpuMs }: Cost) => `${perSecond.toFixed(0)}/s, ${cpuMs.toFixed(2)} ms of CPU each`

/** The median of each measurement. */
async function reads(world: World, processes: number, rounds: number): Promise<Reads> {
  const { url, token } = world
  const found = await serving(world, { apis: processes }, (ports, pids) =>
    readsAt({ pids, url }, { ports, token, id: idOf(50) }, rounds),
  )
  const { total } = await world.db
    .selectFrom('accounts')
    .select('servers_used as total')
    .executeTakeFirstOrThrow()
  console.log(
    `${processes} on PostgreSQL with ${total} servers: lists ${show(found.list)}; single ones ${show(found.one)}`,
  )
  return found
}

async function readsAt(
  counted: Counted,
  { ports, token, id }: { ports: readonly number[]; token: string; id: string },
  rounds: number,
): Promise<Reads> {
  const [list, one]: [Cost[], Cost[]] = [[], []]
  const ask = (url: string) => () => speed(ports, READS, 'HTTP/1.1 200', () => get(token, url))
  for (let round = 0; round <= rounds; round += 1) {
    list.push(await costOf(counted, READS, ask('/v1/servers?limit=20')))
    one.push(await costOf(counted, READS, ask(`/v1/servers/${id}`)))
  }
  // The first round warms up.
  return { list: middle(list.slice(1)), one: middle(one.slice(1)) }
}

/** The statements of a list and of one server, over as many connections as a process has. */
async function besideSql({ url, token }: World, reads: Reads, rounds: number): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 20 })
  const account = async () =>
    (await pool.query('SELECT account_id FROM tokens WHERE hash = $1', [hashToken(token)])).rows[0].account_id
  const page =
    'SELECT * FROM servers WHERE deleted_at IS NULL AND account_id = $1 ORDER BY server_id DESC LIMIT 20'
  const active = "SELECT * FROM operations WHERE subject_id = $1 AND status IN ('pending', 'running')"
  const statements = {
    list: async () => {
      const owner = await account()
      await pool.query(page, [owner])
      await pool.query('SELECT servers_used FROM accounts WHERE account_id = $1', [owner])
    },
    one: async () => {
      const owner = await account()
      await pool.query('SELECT * FROM servers WHERE server_id = $1 AND account_id = $2', [idOf(50), owner])
      await pool.query(active, [idOf(50)])
    },
  }
  for (const name of ['list', 'one'] as const) {
    const costs: Cost[] = []
    for (let round = 0; round <= rounds; round += 1) {
      let left = READS
      const caller = async () => {
        while (left-- > 0) await statements[name]()
      }
      const all = () => Promise.all(Array.from({ length: CONNECTIONS }, caller))
      costs.push(await costOf({ pids: [process.pid], url }, READS, all))
    }
    const alone = middle(costs.slice(1))
    console.log(`the SQL of GET ${name} alone: ${show(alone)}`)
    say(`GET ${name} costs`, reads[name].cpuMs / alone.cpuMs, 'times the CPU of its SQL alone')
  }
  await pool.end()
}

interface Embedded {
  child: ChildProcess
  berth: number
  token: string
  order: object
}

/** The service on SQLite, as bench/api.ts has it. */
async function beginEmbedded(): Promise<Embedded> {
  const child = fork(new URL('./server.ts', import.meta.url))
  const [said] = (await once(child, 'message')) as [Omit<Embedded, 'child'>] // the first message of bench/server.ts
  return { child, ...said }
}

async function besideEmbedded(
  { child, berth, token, order }: Embedded,
  postgres: Reads,
  rounds: number,
): Promise<void> {
  const made = await fetch(`http://127.0.0.1:${berth}/v1/servers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(order),
  })
  const { server_id } = (await made.json()) as { server_id: string } // by the contract
  // Two connections of one thread would wait for each other.
  await sleep(5_000)
  const filled = once(child, 'message')
  child.send({ fill: SERVERS })
  await filled
  const counted = { pids: [child.pid ?? 0], url: null }
  const embedded = await readsAt(counted, { ports: [berth], token, id: server_id }, rounds)
  const creates = await speed([berth], CREATES, 'HTTP/1.1 202', () => create(token, order))
  child.disconnect()
  await once(child, 'exit')
  console.log(`SQLite: lists ${show(embedded.list)}; single ones ${show(embedded.one)}`)
  say('a list on PostgreSQL costs', postgres.list.cpuMs / embedded.list.cpuMs, 'times the CPU of SQLite,')
  say('a single server', postgres.one.cpuMs / embedded.one.cpuMs, 'times')
  console.log(`SQLite: ${creates.toFixed(0)} creates a second`)
}

/**
 * Measures the share of a core that measuring, metering and reconciling 10,000 servers takes, here and in the
 * database.
 */
async function watching(world: World, url: string): Promise<void> {
  await world.db.deleteFrom('operations').execute()
  await serving(world, { apis: 0, workers: 1 }, async (_, [pid = 0]) => {
    await sleep(15_000)
    const seconds = async () => [cpuOf(pid), await cpuOfDatabase(url)] as const
    const [before, databaseBefore] = await seconds()
    await sleep(WATCH_MS)
    const [after, databaseAfter] = await seconds()
    const { rounds } = await world.db
      .selectFrom('samples')
      .select((eb) => eb.fn.count<number>('at').distinct().as('rounds'))
      .where('at', '>=', Math.floor((Date.now() - WATCH_MS) / 1000) - 10)
      .executeTakeFirstOrThrow()
    // If others use the machine, there are fewer rounds, each at the same cost.
    console.log(`in ${WATCH_MS / 1000} s the sampler made ${rounds} rounds`)
    const share = (used: number) => (1000 * used) / WATCH_MS
    say(
      `${RUNNING} running servers take`,
      share(after - before),
      'of a core of a process (target: under 0.5),',
    )
    say('and', share(databaseAfter - databaseBefore), 'of one of the database')
  })
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
