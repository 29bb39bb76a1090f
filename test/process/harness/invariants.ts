import type { Database } from '../../../api/database/database.ts'
import type { MachineState } from '../../../api/drivers/driver.ts'
import type { OperationTable } from '../../../api/operations/tables.ts'
import type { ServerTable } from '../../../api/servers/tables.ts'

const ACTIVE = ['pending', 'running']
const PARTS = ['cpu', 'ram_mb', 'disk_gb'] as const

interface World {
  db: Database
  /** Machines as the driver sees them. */
  machines: ReadonlyMap<string, MachineState>
  /** The machine of each volume, as the driver sees it (default: not checked). */
  volumes?: ReadonlyMap<string, string | null>
  ports: { first: number; last: number }
}

/**
 * Checks what must hold at every moment, whatever died: at most one active operation for each subject, and each sum
 * equal to what the servers hold.
 * @returns a sentence for each broken promise
 */
export async function brokenAlways({ db, ports }: World): Promise<string[]> {
  const { live, operations, accounts, projects, pool } = await readAll(db)
  const broken: string[] = []
  const expectEqual = (what: string, is: number, shouldBe: number) => {
    if (is !== shouldBe) broken.push(`${what} is ${is} instead of ${shouldBe}`)
  }
  const active = operations.filter((operation) => ACTIVE.includes(operation.status))
  const subjectOf = ({ subject_type, subject_id }: OperationTable) => `${subject_type} ${subject_id}`
  for (const [subject, these] of Map.groupBy(active, subjectOf))
    expectEqual(`the number of active operations of ${subject}`, these.length, 1)

  // A server that is being resized holds what it had and what it will gain.
  const growths = active.filter((operation) => operation.type === 'resize')
  const growthOf = (operation: OperationTable): ServerTable => JSON.parse(operation.data).growth
  const held = (accountId: string | null, part: (typeof PARTS)[number]) =>
    sum(live.filter((row) => accountId === null || row.account_id === accountId).map((row) => row[part])) +
    sum(
      growths
        .filter((row) => accountId === null || row.account_id === accountId)
        .map((row) => growthOf(row)[part]),
    )
  for (const account of accounts) {
    const own = live.filter((row) => row.account_id === account.account_id)
    expectEqual(`servers_used of ${account.email}`, account.servers_used, own.length)
    for (const part of PARTS)
      expectEqual(`${part}_used of ${account.email}`, account[`${part}_used`], held(account.account_id, part))
  }
  const volumes = await readVolumes(db)
  const inVolumes = { cpu: 0, ram_mb: 0, disk_gb: sum(volumes.map(({ size_gb }) => size_gb)) }
  for (const part of PARTS)
    expectEqual(`${part} of the pools`, pool[part] ?? 0, held(null, part) + inVolumes[part])
  for (const project of projects) {
    const count = live.filter((row) => row.project_id === project.project_id).length
    expectEqual(`server_count of ${project.name}`, project.server_count, count)
  }

  const used = live.map((row) => row.ssh_port ?? 0)
  expectEqual('the number of different ssh ports', new Set(used).size, live.length)
  const strays = used.filter((port) => port < ports.first || port > ports.last)
  expectEqual('the number of ssh ports outside the range', strays.length, 0)
  return broken
}

/** Further checks, which hold once no operation is left to carry out. */
export async function brokenAtRest(world: World): Promise<string[]> {
  const { live, operations } = await readAll(world.db)
  const broken = await brokenAlways(world)
  for (const operation of operations) {
    if (ACTIVE.includes(operation.status)) broken.push(`${describe(operation)} never ended`)
    if (operation.lease_until !== 0) broken.push(`${describe(operation)} still holds a lease`)
  }
  for (const server of live) {
    const newest = operations.findLast((operation) => operation.server_id === server.server_id)
    const settled = ['running', 'stopped', 'error', 'suspended']
    if (!settled.includes(server.status))
      broken.push(`server ${server.server_id} is stuck in ${server.status} after ${newest?.type}`)
    const power = world.machines.get(server.server_id)?.power ?? 'absent'
    const shouldBe =
      server.status === 'running' ? ['running'] : server.has_disk ? ['stopped'] : ['stopped', 'absent']
    if (server.status !== 'error' && !shouldBe.includes(power))
      broken.push(`server ${server.server_id} is ${server.status}, its machine is ${power}`)
  }
  const copies = await world.db.selectFrom('snapshots').selectAll().where('deleted_at', 'is', null).execute()
  for (const { snapshot_id, item_type, status } of copies)
    if (status === 'creating') broken.push(`${item_type} ${snapshot_id} is stuck in ${status}`)
  const known = new Set(live.map((row) => row.server_id))
  for (const id of world.machines.keys()) if (!known.has(id)) broken.push(`machine ${id} is an orphan`)
  const volumes = await readVolumes(world.db)
  for (const { volume_id, status, server_id } of volumes) {
    if (status !== (server_id === null ? 'available' : 'attached'))
      broken.push(`volume ${volume_id} of ${server_id} is stuck in ${status}`)
    const holder = world.volumes?.get(volume_id) ?? null
    if (world.volumes && holder !== server_id)
      broken.push(`volume ${volume_id} of ${server_id} is attached to ${holder}`)
  }
  const kept = new Set(volumes.map(({ volume_id }) => volume_id))
  for (const id of world.volumes?.keys() ?? []) if (!kept.has(id)) broken.push(`volume ${id} is an orphan`)
  return broken
}

/** The volumes that are not deleted. */
function readVolumes(db: Database) {
  return db.selectFrom('volumes').selectAll().where('deleted_at', 'is', null).execute()
}

/** Checks the books: entries follow each other, and each second of each rate is charged once. */
export async function brokenLedgers(db: Database): Promise<string[]> {
  const broken: string[] = []
  const entries = await db.selectFrom('transactions').selectAll().orderBy('sequence').execute()
  const ledgers = await db.selectFrom('ledgers').selectAll().execute()
  for (const { account_id, balance } of ledgers) {
    const own = entries.filter((entry) => entry.account_id === account_id)
    const total = sum(own.map(({ amount }) => amount))
    if (total !== balance) broken.push(`the balance of ${account_id} is ${balance} instead of ${total}`)
    for (const [at, { sequence, balance_before, amount, balance_after }] of own.entries())
      if (
        sequence !== at + 1 ||
        balance_before !== (own[at - 1]?.balance_after ?? 0) ||
        balance_before + amount !== balance_after
      )
        broken.push(`entry ${sequence} of ${account_id} does not follow the one before`)
  }
  const rates = await db.selectFrom('rates').selectAll().execute()
  for (const { item_id, charged_until } of await db.selectFrom('billing_meters').selectAll().execute()) {
    const own = rates.filter((rate) => rate.item_id === item_id)
    const due = own.map(({ starts_at, ends_at }) => {
      const until = Math.min(ends_at ?? charged_until, charged_until)
      return Math.max(0, until - starts_at) / 1000
    })
    const charges = entries.filter((entry) => entry.item_id === item_id && entry.bytes === null)
    const charged = sum(charges.map(({ seconds }) => seconds ?? 0))
    if (charged !== sum(due))
      broken.push(`item ${item_id} is charged for ${charged} s instead of ${sum(due)}`)
  }
  return broken
}

async function readAll(db: Database) {
  const live = await db.selectFrom('servers').selectAll().where('deleted_at', 'is', null).execute()
  const operations = await db.selectFrom('operations').selectAll().orderBy('operation_id').execute()
  const accounts = await db.selectFrom('accounts').selectAll().execute()
  const projects = await db.selectFrom('projects').selectAll().execute()
  const pools = await db.selectFrom('pool_usage').selectAll().execute()
  const pool = Object.fromEntries(PARTS.map((part) => [part, sum(pools.map((row) => row[part]))]))
  return { live, operations, accounts, projects, pool }
}

function describe({ operation_id, type, step, status }: OperationTable): string {
  return `${type} ${operation_id} (${status}, step ${step})`
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
