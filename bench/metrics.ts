import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { sql } from 'kysely'
import pino from 'pino'
import { createAccount } from '../api/accounts/accounts.ts'
import { createToken } from '../api/accounts/tokens.ts'
import { type App, buildApp } from '../api/app.ts'
import { readCatalog } from '../api/catalog/file.ts'
import type { Database } from '../api/database/database.ts'
import { migrate } from '../api/database/migrate.ts'
import { openPostgres } from '../api/database/postgres.ts'
import { openSqlite } from '../api/database/sqlite.ts'
import { PLAIN_NETWORK } from '../api/drivers/driver.ts'
import { Drivers } from '../api/drivers/drivers.ts'
import { Simulator } from '../api/drivers/simulator/simulator.ts'
import { addPartitions } from '../api/monitoring/partitions.ts'
import type { SampleTable } from '../api/monitoring/tables.ts'
import { LONGEST_SPAN, tiers } from '../api/monitoring/tiers.ts'
import { Secrets } from '../api/secrets.ts'
import { ManualClock } from '../test/harness/clock.ts'
import { startPostgres } from '../test/harness/postgres.ts'
import { serverRow } from '../test/harness/server-row.ts'
import { cpuOfDatabase } from './cpu.ts'

const SERVERS = 10_000
/** The number of servers with a history of 30 days; all 10,000 would take 20 GB. */
const OLD_SERVERS = 50
const INTERVAL_MS = 10_000

/** Measures sampling 10,000 simulated servers, and reading 30 days of one of them, on both databases. */
export async function benchMetrics(rounds: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-bench-'))
  const postgres = await startPostgres()
  try {
    const file = path.join(folder, 'berth.db')
    const onFile = { what: 'SQLite', db: openSqlite(file), cpuSeconds: async () => 0 }
    const size = async () => {
      await sql`PRAGMA wal_checkpoint(TRUNCATE)`.execute(onFile.db)
      return statSync(file).size
    }
    await measuring(onFile, rounds, size)
    const url = await postgres.create('berth')
    const db = openPostgres(url)
    await measuring({ what: 'PostgreSQL', db, cpuSeconds: () => cpuOfDatabase(url) }, rounds, async () => {
      const { rows } = await sql<{ bytes: number }>`SELECT sum(pg_total_relation_size(oid))::bigint AS bytes
        FROM pg_class WHERE relkind = 'r' AND relname LIKE 'samples%'`.execute(db)
      return rows[0]?.bytes ?? 0
    })
  } finally {
    await postgres.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Place {
  what: string
  db: Database
  /** The CPU time of the database's own processes. */
  cpuSeconds: () => Promise<number>
}

/** @param size returns the bytes of all samples, and perhaps of a constant remainder */
async function measuring(place: Place, rounds: number, size: () => Promise<number>): Promise<void> {
  const { what, db } = place
  const clock = new ManualClock()
  const driver = new Simulator({ clock })
  await migrate(db)
  const accountId = (await createAccount(db, clock, { email: 'bench@example.com', name: 'Bench' })) ?? ''
  const token = (
    await createToken(db, clock, { accountId, name: 'bench', scopes: ['read'], expiresAt: null })
  ).value
  const app = await buildApp({
    db,
    clock,
    drivers: new Drivers('simulator', { simulator: driver }),
    catalog: readCatalog(new URL('../catalog.yaml', import.meta.url).pathname),
    secrets: new Secrets(Buffer.alloc(32)),
    log: pino({ level: 'error' }),
    rateLimits: { reads: 1e9, writes: 1e9, anonymous: 1e9 },
    sshPorts: { first: 1024, last: 65535 },
    sshHost: '127.0.0.1',
  })
  const ids = await makeServers(db, driver, accountId)
  console.log(`On ${what}:`)
  await sampling(app, clock, rounds, place)
  const bytes = await history(db, clock, size)
  console.log(
    `30 days of a server: ${(bytes / 2 ** 20).toFixed(2)} MiB with the index, in ${tiers.reduce((sum, { keptFor, resolution }) => sum + keptFor / resolution, 0)} samples`,
  )
  await queries(app, clock, ids.slice(0, OLD_SERVERS), token)
  await app.close()
  await db.destroy().catch(() => {})
}

async function makeServers(db: Database, driver: Simulator, accountId: string): Promise<string[]> {
  const ids = Array.from(
    { length: SERVERS },
    (_, at) => `00000000-0000-7000-8000-${String(at).padStart(12, '0')}`,
  )
  for (const serverId of ids) {
    await driver.define(specOf(serverId))
    await driver.connect(new Map([[serverId, { ...PLAIN_NETWORK, number: 1 }]]))
    await driver.start(serverId)
  }
  for (let at = 0; at < ids.length; at += 500) {
    const rows = ids
      .slice(at, at + 500)
      .map((id) => serverRow({ server_id: id, account_id: accountId, price_hour: 0, price_month: 0 }, 0))
    await db.insertInto('servers').values(rows).execute()
  }
  return ids
}

/** Rounds as in operation, each beginning when the previous one has ended. */
async function sampling(
  app: App,
  clock: ManualClock,
  rounds: number,
  { what, cpuSeconds }: Place,
): Promise<void> {
  const cpuMs: number[] = []
  const wallMs: number[] = []
  let database = 0
  for (let round = 0; round <= rounds; round++) {
    clock.advance(INTERVAL_MS)
    const [begun, cpu] = [performance.now(), process.cpuUsage()]
    await app.sampler.round()
    const { user, system } = process.cpuUsage(cpu)
    // The first round creates 10,000 meters.
    if (round === 0) {
      database = await cpuSeconds()
      continue
    }
    cpuMs.push((user + system) / 1000)
    wallMs.push(performance.now() - begun)
  }
  const mean = (list: number[]) => list.reduce((sum, value) => sum + value, 0) / list.length
  console.log(
    `${SERVERS} servers sampled every ${INTERVAL_MS / 1000} s on ${what}: ${(mean(cpuMs) / INTERVAL_MS).toFixed(3)} of a core over ${rounds} rounds (target: at most 0.5), and ${((1000 * ((await cpuSeconds()) - database)) / rounds / INTERVAL_MS).toFixed(3)} in the database; the longest round took ${Math.max(...wallMs).toFixed(0)} ms`,
  )
}

/** Writes the history of some servers, in the order of real operation. @returns bytes for each */
async function history(db: Database, clock: ManualClock, size: () => Promise<number>): Promise<number> {
  await db.deleteFrom('samples').where('series', '<=', OLD_SERVERS).execute()
  await addPartitions(db, clock.now() / 1000 - LONGEST_SPAN - 3_600, clock.now() / 1000)
  const empty = await size()
  const now = Math.floor(clock.now() / 1000)
  await db.transaction().execute(async (tx) => {
    for (const { resolution, keptFor, madeEvery } of tiers)
      for (let at = Math.floor(now / madeEvery) * madeEvery - keptFor; at < now; at += madeEvery) {
        const slots = Array.from({ length: madeEvery / resolution }, (_, slot) => at + slot * resolution)
        const rows = Array.from({ length: OLD_SERVERS }, (_, server) =>
          slots.map((slot) => sampleOf(server + 1, resolution, slot)),
        )
        await tx.insertInto('samples').values(rows.flat()).execute()
      }
  })
  return ((await size()) - empty) / OLD_SERVERS
}

async function queries(app: App, clock: ManualClock, ids: string[], token: string): Promise<void> {
  for (const [what, query] of [
    ['30 days', { start: 30 * 86_400 }],
    ['24 hours', { start: 86_400 }],
    ['the last hour', { start: 3_600 }],
    ['24 hours, every minute', { start: 86_400, step: 60 }],
  ] as const) {
    const start = new Date(clock.now() - query.start * 1000).toISOString()
    const step = 'step' in query ? `&step=${query.step}` : ''
    const times: number[] = []
    const cpu = process.cpuUsage()
    for (let at = 0; at < 60; at++) {
      const begun = performance.now()
      const reply = await app.http.inject({
        method: 'GET',
        url: `/v1/servers/${ids[at % ids.length]}/metrics?start=${start}${step}`,
        headers: { authorization: `Bearer ${token}` },
      })
      if (reply.statusCode !== 200) throw new Error(reply.body)
      times.push(performance.now() - begun)
    }
    const { user, system } = process.cpuUsage(cpu)
    times.sort((a, b) => a - b)
    const [median, p95] = [times[30] ?? 0, times[57] ?? 0]
    console.log(
      `metrics of ${what}: ${median.toFixed(1)} ms, 95 of 100 below ${p95.toFixed(1)} ms (target: 50), ${((user + system) / 60_000).toFixed(1)} ms of CPU`,
    )
  }
}

function sampleOf(series: number, resolution: number, at: number): SampleTable {
  const wave = 1 + Math.sin(at / 7_000 + series)
  return {
    series,
    resolution,
    at,
    cpu: Math.round(2_500 * wave),
    memory_mb: Math.round(900 + 100 * wave),
    disk_mb: 7_000 + (at % 1_000),
    disk_read: Math.round(150_000 * wave),
    disk_write: Math.round(90_000 * wave),
    network_rx: Math.round(60_000 * wave),
    network_tx: Math.round(200_000 * wave),
  }
}

function specOf(serverId: string) {
  return {
    ...{ serverId, hostname: 'bench', cpu: 1, ramMb: 1024, diskGb: 20, cpuType: 'amd' as const },
    ...{ image: { slug: 'micro', sources: [] }, username: 'berth', sshPublicKeys: [], password: null },
    ...{
      userData: null,
      diskId: 'first',
      instanceId: serverId,
      owner: 'bench',
      interfaces: [{ mac: '52:54:00:00:00:01', addresses: [] }],
    },
  }
}
