import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { performance } from 'node:perf_hooks'
import { v7 as uuid } from 'uuid'
import { createAccount } from '../api/accounts/accounts.ts'
import { chargeDue } from '../api/billing/metering.ts'
import { changeRate } from '../api/billing/rates.ts'
import { rollUpDue } from '../api/billing/rollup.ts'
import { usageOf } from '../api/billing/usage.ts'
import { readCatalog } from '../api/catalog/file.ts'
import { resolvePlan } from '../api/catalog/plans.ts'
import { systemClock } from '../api/clock.ts'
import type { Database } from '../api/database/database.ts'
import { migrate } from '../api/database/migrate.ts'
import { openSqlite } from '../api/database/sqlite.ts'
import { billedServer, billedItems as items } from '../api/servers/queries.ts'
import { serverRow } from '../test/harness/server-row.ts'

const HOUR = 3600_000
const SERVERS_OF_ONE = 20

/**
 * Measures charging 1,000 servers for a month, hour by hour, and 10,000 servers after three days without charges. Each
 * server's charges of the full month must equal the month price of its quote.
 */
export async function benchMonth(): Promise<void> {
  const december = { from: Date.UTC(2026, 11), until: Date.UTC(2027, 0) }
  await withServers(1_000, december.from, async (db, file, prices) => {
    const start = performance.now()
    for (let at = december.from + HOUR; at <= december.until; at += HOUR) await chargeDue({ db, items }, at)
    const seconds = (performance.now() - start) / 1000
    const accounts = await db.selectFrom('accounts').select('account_id').execute()
    const usage = (
      await Promise.all(accounts.map((row) => usageOf(db, items, row.account_id, december.from)))
    ).flatMap(({ rows }) => rows)
    const wrong = usage.filter((row) => row.amount !== prices.get(row.item_id))
    if (usage.length !== 1_000 || wrong.length > 0)
      throw new Error(`${wrong.length} servers are not charged as quoted`)
    const { n } = await db
      .selectFrom('transactions')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
    console.log(
      `a month of 1,000 servers, hour by hour: ${seconds.toFixed(1)} s (target: under 30), ${n} charges, ${(statSync(file).size / 1000 / 2 ** 20).toFixed(2)} MB a server`,
    )
    await rolledUp(db, december.until)
  })
  await withServers(10_000, december.from, async (db) => {
    await chargeDue({ db, items }, december.from + HOUR)
    const start = performance.now()
    await chargeDue({ db, items }, december.from + 73 * HOUR)
    const seconds = (performance.now() - start) / 1000
    console.log(`three days of 10,000 servers, charged at once: ${seconds.toFixed(1)} s`)
  })
}

/** Rolls up the month. */
async function rolledUp(db: Database, until: number): Promise<void> {
  const clock = { ...systemClock, now: () => until }
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  let longest = 0
  for (let rounds = 0, at = start; rounds < 1_000 / SERVERS_OF_ONE; rounds++) {
    await rollUpDue({ db, clock, keepMs: 0, hasDocuments: false })
    longest = Math.max(longest, performance.now() - at)
    at = performance.now()
  }
  const { user, system } = process.cpuUsage(cpu)
  const { n } = await db
    .selectFrom('transactions')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow()
  const figures = [(performance.now() - start) / 1000, (user + system) / 1e6, longest / 1000]
  const [seconds, ofCpu, most] = figures.map((figure) => figure.toFixed(1))
  console.log(`rolled up: ${n} entries, ${seconds} s, ${ofCpu} s of CPU, the longest round ${most} s`)
}

async function withServers(
  count: number,
  at: number,
  run: (db: Database, file: string, prices: Map<string, number>) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-month-'))
  const file = path.join(folder, 'berth.db')
  const db = openSqlite(file)
  try {
    await migrate(db)
    await run(db, file, await fill(db, count, at))
  } finally {
    await db.destroy()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @returns the month price of each server's quote */
async function fill(db: Database, count: number, at: number): Promise<Map<string, number>> {
  const catalog = readCatalog(new URL('../catalog.yaml', import.meta.url).pathname)
  const place = { zoneSlug: 'local-1', cpuType: 'amd', at } as const
  const accountIds: string[] = []
  for (let n = 0; n < count / SERVERS_OF_ONE; n++) {
    const account = { email: `c${n}@example.com`, name: 'Customer' }
    accountIds.push((await createAccount(db, { ...systemClock, now: () => at }, account)) ?? '')
  }
  const prices = new Map<string, number>()
  await db.transaction().execute(async (tx) => {
    for (let n = 0; n < count; n++) {
      const size = { cpu: 1 + (n % 8), ram_mb: 512 * (1 + (n % 16)), disk_gb: 5 * (1 + (n % 30)) }
      const plan = resolvePlan(catalog, { plan_type: 'custom', ...size }, place)
      if (Array.isArray(plan)) throw new Error('the catalogue does not offer the size')
      const price = { price_hour: plan.priceHour, price_month: plan.priceMonth }
      const account_id = accountIds[n % accountIds.length] ?? ''
      const server = serverRow({ server_id: uuid(), account_id, ...price }, at)
      await tx.insertInto('servers').values(server).execute()
      await changeRate(tx, billedServer(server), price, at)
      prices.set(server.server_id, plan.priceMonth)
    }
  })
  return prices
}
