import { randomInt } from 'node:crypto'
import { sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import { takeRoom } from '../accounts/accounts.ts'
import type { Capacity } from '../catalog/capacity.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Clock } from '../clock.ts'
import { type Database, inTransaction, type Queries, send, Taken } from '../database/database.ts'
import { countIn, countOf, type Page, pageOf } from '../database/page.ts'
import { prepared, type RowOf } from '../database/prepared.ts'
import { type PortRange, SSH_PORT } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { soon } from '../drivers/soon.ts'
import { record } from '../events/outbox.ts'
import type { Quota } from '../feature.ts'
import { ApiError, bodyIssue, found, invalid, type ProblemType } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { noteEnded } from './ended.ts'
import { type PortPublish, portProblems } from './schema.ts'
import type { PortTable } from './tables.ts'
import { portView } from './view.ts'

/** The columns of a server that concern its ports. */
export interface PublishedServer {
  server_id: string
  account_id: string
  zone_slug: string
  pool: string
  created_at: number
}

/** The rows of servers. */
interface PublishedServers {
  find(db: Queries, accountId: string, serverId: string): Promise<PublishedServer | undefined>
  /** Finds any server, even a deleted one. */
  get(db: Queries, serverId: string): Promise<PublishedServer>
  /** @throws ApiError operation_in_progress */
  lockToChange(
    tx: Queries,
    serverId: string,
    isMeant: (server: PublishedServer) => boolean,
  ): Promise<PublishedServer | undefined>
}

export interface PortsOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  capacity: Capacity
  serverRows: PublishedServers
  /** The error for a server that does not exist. */
  serverNotFound: ProblemType
  sshPorts: PortRange
  /** The name or address that customers connect to, by the zone of a server. */
  hostOf: (zoneSlug: string) => string
  /** Called when the ports of servers have changed. */
  changed: (serverIds: readonly string[]) => void
}

const QUICK_TRIES = 16

/** Newest first; the port for SSH is last. */
export function listPorts(db: Queries, serverId: string, page: Page) {
  return pageOf(inOrder(db, serverId), page)
}

/** All ports of a server, in the order of lists. */
export function allPorts(db: Queries, serverId: string): Promise<PortTable[]> {
  return inOrder(db, serverId).execute()
}

function inOrder(db: Queries, serverId: string) {
  return ofServer(db, serverId).selectAll().orderBy('is_system').orderBy('port_id', 'desc')
}

export function findPort(db: Queries, accountId: string, serverId: string, portId: string) {
  return ofServer(db, serverId)
    .selectAll()
    .where('account_id', '=', accountId)
    .where('port_id', '=', portId)
    .executeTakeFirst()
}

/** A query of the ports that lead to servers, now or after their next start. */
export function leadingPorts(db: Queries) {
  return db
    .selectFrom('ports')
    .select(['server_id', 'port_id', 'protocol', 'host_port', 'port'])
    .where('status', '<>', 'closing')
}

export const portQuota: Quota = {
  name: 'ports',
  description: 'Published ports, besides those for SSH',
  limit: 20,
  example: 1,
  count: (db, accountId) =>
    countIn(db.selectFrom('ports').where('account_id', '=', accountId).where('is_system', '=', 0)),
}

/** @throws ApiError validation_failed, not_supported, server_not_found, operation_in_progress, quota_exceeded, port_taken */
export async function publishPort(
  { db, clock, drivers, capacity, serverRows, serverNotFound, sshPorts, hostOf, changed }: PortsOptions,
  loaded: PublishedServer,
  wanted: PortPublish,
  remember: Remember,
): Promise<PortTable> {
  if (wanted.host_port !== undefined) requireInRange(wanted.host_port, sshPorts)
  await capacity.require(loaded, 'published_ports')
  const { server_id, account_id } = loaded
  const status = (await hasFixedPorts({ drivers, clock }, loaded)) === true ? 'pending' : 'active'
  const row = await db.transaction().execute(async (tx) => {
    const server = found(await serverRows.lockToChange(tx, server_id, () => true), serverNotFound)
    await requirePortQuota(tx, account_id, 1)
    const taken = await addPort(tx, { clock, sshPorts, hostOf }, server, wanted, status)
    await remember(tx, taken.port_id)
    return taken
  })
  changed([server_id])
  return row
}

/** True if the machine is on and its ports are fixed until its next start; null if its driver is too slow. */
async function hasFixedPorts(
  { drivers, clock }: Pick<PortsOptions, 'drivers' | 'clock'>,
  { server_id, pool }: Pick<PublishedServer, 'server_id' | 'pool'>,
): Promise<boolean | null> {
  const state = await soon(clock, drivers.at(pool).inspect(server_id))
  return state && state.power === 'running' && state.hasFixedPorts === true
}

/**
 * Locks the account's row, so that two orders do not use the same part of the quota. @throws ApiError quota_exceeded
 */
export async function requirePortQuota(tx: Queries, accountId: string, requested: number): Promise<void> {
  await takeRoom(tx, accountId, [portQuota], { ports: requested })
}

/** Publishes a port that the account's quota allows. @throws ApiError port_taken */
export async function addPort(
  tx: Queries,
  { clock, sshPorts, hostOf }: Pick<PortsOptions, 'clock' | 'sshPorts' | 'hostOf'>,
  { server_id, account_id, zone_slug }: Pick<PublishedServer, 'server_id' | 'account_id' | 'zone_slug'>,
  { protocol, port, host_port }: PortPublish,
  status: PortTable['status'] = 'active',
): Promise<PortTable> {
  if (protocol === 'tcp') await leaveRoomForSsh(tx, sshPorts)
  const wanted = { server_id, account_id, protocol, port, is_system: 0, created_at: clock.now(), status }
  const row = await takeHostPort(tx, host_port ?? sshPorts, wanted)
  if (!row) throw new ApiError(portProblems.port_taken, takenDetail(protocol, host_port))
  const data = portView(row, hostOf(zone_slug))
  await record(tx, [{ accountId: account_id, type: 'port.created', data, at: row.created_at }])
  return row
}

/** @throws ApiError port_is_system */
export async function unpublishPort(
  { db, clock, drivers, serverRows, hostOf, changed }: PortsOptions,
  { port_id, account_id, server_id, is_system }: PortTable,
): Promise<void> {
  if (is_system === 1)
    throw new ApiError(
      portProblems.port_is_system,
      'This port leads to SSH and is managed by the service: it exists as long as the server.',
    )
  // If the driver does not answer, the port may still be open.
  const isFixed = (await hasFixedPorts({ drivers, clock }, await serverRows.get(db, server_id))) ?? true
  await db.transaction().execute(async (tx) => {
    const { zone_slug } = await serverRows.get(tx, server_id)
    const at = clock.now()
    const row = isFixed ? await closePort(tx, port_id) : await deletePort(tx, port_id, at)
    const event = { accountId: account_id, type: 'port.deleted', at } as const
    if (row) await record(tx, [{ ...event, data: portView(row, hostOf(zone_slug)) }])
  })
  changed([server_id])
}

async function deletePort(tx: Queries, portId: string, now: number): Promise<PortTable | undefined> {
  const row = await tx.deleteFrom('ports').where('port_id', '=', portId).returningAll().executeTakeFirst()
  if (row) await noteEnded(tx, [row], now)
  return row
}

/** A port that leads to its server stays open until the server's next start; until then nobody else gets its host port. */
async function closePort(tx: Queries, portId: string): Promise<PortTable | undefined> {
  const closing = tx.updateTable('ports').set({ status: 'closing' }).where('status', '=', 'active')
  const row = await closing.where('port_id', '=', portId).returningAll().executeTakeFirst()
  if (row) return row
  const pending = tx.deleteFrom('ports').where('status', '=', 'pending')
  return pending.where('port_id', '=', portId).returningAll().executeTakeFirst()
}

const waiting = prepared((db, { serverId }: { serverId: string }) =>
  ofServer(db, serverId).select('port_id').where('status', '<>', 'active').limit(1),
)

/** Opens and closes the ports that waited for the start of a server, which is off. */
export async function settlePorts(db: Queries, serverId: string, now: number): Promise<void> {
  // Few servers have such ports, and a read delays a boot far less than two writes.
  if (!(await waiting.first(db, { serverId }))) return
  await inTransaction(db, async (tx) => {
    const closing = tx.deleteFrom('ports').where('server_id', '=', serverId).where('status', '=', 'closing')
    await noteEnded(tx, await closing.returningAll().execute(), now)
  })
  const pending = db.updateTable('ports').where('server_id', '=', serverId).where('status', '=', 'pending')
  await pending.set({ status: 'active' }).execute()
}

/** The number of host ports in which an order looks for a free one. */
const LOOKED_AT = 32

/** Picks a random part of a range, so that a port just released is unlikely to go to another customer. */
export function partOf({ first, last }: PortRange): PortRange {
  const from = randomInt(first, Math.max(first, last - LOOKED_AT + 1) + 1)
  return { first: from, last: Math.min(last, from + LOOKED_AT - 1) }
}

/** A query of the taken TCP ports of a range, for anyFree. */
export function takenIn(db: Queries, { first, last }: PortRange) {
  return db
    .selectFrom('ports')
    .select(sql<string | null>`string_agg(CAST(host_port AS text), ',')`.as('taken'))
    .where('protocol', '=', 'tcp')
    .where('host_port', '>=', first)
    .where('host_port', '<=', last)
}

/** Any port of a range that is not taken, or null. */
export function anyFree({ first, last }: PortRange, taken: string | null): number | null {
  const used = new Set(taken?.split(',').map(Number))
  const free = Array.from({ length: last - first + 1 }, (_, at) => first + at).filter(
    (port) => !used.has(port),
  )
  return free[randomInt(Math.max(1, free.length))] ?? null
}

/**
 * Publishes the SSH port of a new server on a host port that looked free.
 * @throws Taken if somebody else has taken the port, at the latest with the commit
 */
export async function publishSshAt(tx: Queries, hostPort: number, server: SshServer): Promise<number> {
  const row = { port_id: uuid(), host_port: hostPort, ...sshOf(server) }
  await send(tx, insert.with(tx, row), () => new Taken())
  return hostPort
}

type SshServer = Pick<PublishedServer, 'server_id' | 'account_id' | 'created_at'>

function sshOf({ server_id, account_id, created_at }: SshServer) {
  return {
    protocol: 'tcp',
    port: SSH_PORT,
    is_system: 1,
    server_id,
    account_id,
    created_at,
    status: 'active',
  } as const
}

/**
 * Publishes the SSH port of a new server.
 * @returns its host port
 * @throws ApiError capacity_unavailable
 */
export async function publishSsh(tx: Queries, range: PortRange, server: SshServer): Promise<number> {
  const row = await takeHostPort(tx, range, sshOf(server))
  if (row) return row.host_port
  throw new ApiError(
    catalogProblems.capacity_unavailable,
    'All SSH ports of this installation are in use. Contact the operator.',
    { max_server: { cpu: 0, ram_mb: 0, disk_gb: 0 }, alternatives: [] },
  )
}

/** Gives the SSH port of a server another host port. @throws ApiError capacity_unavailable */
export async function moveSsh(
  tx: Queries,
  range: PortRange,
  server: SshServer,
  now: number,
): Promise<number> {
  // The new port is taken before the old one is released, so that the old one is not chosen again.
  const port = await publishSsh(tx, range, { ...server, created_at: now })
  const earlier = await tx
    .deleteFrom('ports')
    .where('server_id', '=', server.server_id)
    .where('is_system', '=', 1)
    .where('host_port', '<>', port)
    .returningAll()
    .execute()
  await noteEnded(tx, earlier, now)
  return port
}

/** Deletes all ports of a server that is gone. */
export async function withdrawPorts(tx: Queries, serverId: string, now: number): Promise<void> {
  const rows = await tx.deleteFrom('ports').where('server_id', '=', serverId).returningAll().execute()
  await noteEnded(tx, rows, now)
}

/**
 * Takes a free host port: a given one, or any of a range. Random ports are tried first: their cost does not depend on
 * how many are taken, and a port just released is unlikely to go to another customer.
 */
async function takeHostPort(
  tx: Queries,
  from: number | PortRange,
  wanted: Omit<PortTable, 'port_id' | 'host_port'>,
): Promise<PortTable | null> {
  const attempt = async (host_port: number) => {
    const row = { port_id: uuid(), host_port, ...wanted }
    return (await insert.change(tx, { ...row })) === 0 ? null : row
  }
  if (typeof from === 'number') return attempt(from)
  for (let tries = 0; tries < QUICK_TRIES; tries++) {
    const row = await attempt(randomInt(from.first, from.last + 1))
    if (row) return row
  }
  const used = await usedHostPorts(tx, wanted.protocol)
  for (let port = from.first; port <= from.last; port++) {
    const row = used.has(port) ? null : await attempt(port)
    if (row) return row
  }
  return null
}

const insert = prepared((db, row: RowOf<PortTable>) =>
  db
    .insertInto('ports')
    .values(row)
    .onConflict((conflict) => conflict.columns(['protocol', 'host_port']).doNothing()),
)

async function usedHostPorts(db: Queries, protocol: PortTable['protocol']): Promise<Set<number>> {
  const rows = await db.selectFrom('ports').select('host_port').where('protocol', '=', protocol).execute()
  return new Set(rows.map((row) => row.host_port))
}

/** Customers may publish half of the TCP range; the rest is for SSH of future servers. @throws ApiError port_taken */
async function leaveRoomForSsh(tx: Queries, range: PortRange): Promise<void> {
  const published = tx.selectFrom('ports').where('protocol', '=', 'tcp').where('is_system', '=', 0)
  if ((await countOf(published)) * 2 >= range.last - range.first)
    throw new ApiError(portProblems.port_taken, takenDetail('tcp'))
}

function takenDetail(protocol: string, hostPort?: number): string {
  return hostPort === undefined
    ? `All ${protocol} ports for publishing are in use on this installation. Contact the operator.`
    : `Host port ${hostPort}/${protocol} is in use. Choose another one, or leave out host_port to get a free one.`
}

/** @throws ApiError validation_failed */
function requireInRange(hostPort: number, { first, last }: PortRange): void {
  if (hostPort >= first && hostPort <= last) return
  const code = hostPort < first ? 'below_minimum' : 'above_maximum'
  throw invalid([
    bodyIssue(
      'host_port',
      code,
      `host_port must be from ${first} to ${last}, the range of this installation.`,
    ),
  ])
}

function ofServer(db: Queries, serverId: string) {
  return db.selectFrom('ports').where('server_id', '=', serverId)
}
