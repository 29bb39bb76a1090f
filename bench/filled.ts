import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parse, stringify } from 'yaml'
import { createAccount } from '../api/accounts/accounts.ts'
import { createToken } from '../api/accounts/tokens.ts'
import { post } from '../api/billing/ledger.ts'
import { changeRate } from '../api/billing/rates.ts'
import { readCatalog } from '../api/catalog/file.ts'
import { systemClock as clock } from '../api/clock.ts'
import type { Database } from '../api/database/database.ts'
import { parseMoney } from '../api/money.ts'
import { billedServer } from '../api/servers/queries.ts'
import { serverRow } from '../test/harness/server-row.ts'

/** The number of servers that run. */
export const RUNNING = 10_000
const PLENTY = JSON.stringify({ servers: 1e6, projects: 1e6, cpu: 1e6, ram_mb: 1e12, disk_gb: 1e9 })

/** The smallest server of the sample catalogue. */
export function smallest() {
  const { presets, templates } = readCatalog('catalog.yaml')
  const ids = { template_id: templates[0]?.templateId, preset_id: presets[0]?.presetId }
  return { zone_slug: 'local-1', plan_type: 'preset', cpu_type: 'amd', ...ids }
}

/** An installation on PostgreSQL with one account. */
export interface World {
  folder: string
  url: string
  db: Database
  token: string
  order: object
}

/** @returns a token of it */
export async function openAccount(db: Database, email = 'bench@example.com'): Promise<string> {
  const account = { email, name: 'Bench' }
  const accountId = (await createAccount(db, clock, account)) ?? ''
  await db.updateTable('accounts').set({ quotas: PLENTY }).execute()
  const payment = { accountId, type: 'payment', description: 'bench', reference: null } as const
  await post(db, clock, { ...payment, amount: parseMoney('100000000') })
  const token = { accountId, name: 'bench', scopes: ['read', 'write'], expiresAt: null } as const
  return (await createToken(db, clock, token)).value
}

/** The sample catalogue with unlimited capacity. */
export function sellPlenty(folder: string): void {
  const catalog = parse(readFileSync('catalog.yaml', 'utf8'))
  for (const zone of catalog.zones) zone.overcommit = { cpu: 1000, ram: 1000, disk: 1000 }
  writeFileSync(path.join(folder, 'catalog.yaml'), stringify(catalog))
}

export const idOf = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`

/** Servers from one number up to another; the first 10,000 of all run. */
export async function fill({ db }: World, from: number, until: number): Promise<void> {
  const { account_id } = await db.selectFrom('accounts').select('account_id').executeTakeFirstOrThrow()
  const now = clock.now()
  const price = { price_hour: 0, price_month: 0 }
  for (let at = from; at < until; at += 500) {
    const numbers = Array.from({ length: Math.min(500, until - at) }, (_, n) => at + n)
    await db.transaction().execute(async (tx) => {
      const rows = numbers.map((n) => ({
        ...serverRow({ server_id: idOf(n), account_id, ...price }, now),
        ...(n < RUNNING ? {} : { status: 'stopped' as const, started_at: null, billed_since: null }),
      }))
      await tx.insertInto('servers').values(rows).execute()
      const on = numbers.filter((n) => n < RUNNING)
      for (const n of on) await changeRate(tx, billedServer({ server_id: idOf(n), account_id }), price, now)
      const machines = numbers.map((n) => ({ server_id: idOf(n), machine: machineOf(n) }))
      await tx.insertInto('simulated_machines').values(machines).execute()
    })
  }
  await db.updateTable('accounts').set({ servers_used: until }).execute()
}

function machineOf(n: number): string {
  const spec = {
    ...{ serverId: idOf(n), hostname: 'bench', cpu: 1, ramMb: 1024, diskGb: 10, cpuType: 'amd' },
    ...{ image: { slug: 'micro', sources: [] }, username: 'berth', sshPublicKeys: [], owner: 'bench' },
    interfaces: [],
  }
  const times = { startedAt: 1, readyAt: 1, offAt: null, stopReason: null }
  return JSON.stringify({ spec, diskGb: 10, isOn: n < RUNNING, ...times })
}
