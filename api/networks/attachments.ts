import type { Capacity } from '../catalog/capacity.ts'
import { overlap } from '../cidrs.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { MOST_CARDS } from '../drivers/driver.ts'
import {
  ApiError,
  bodyIssue,
  found,
  type Issue,
  invalid,
  type ProblemType,
} from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import type { Engine } from '../operations/engine.ts'
import { findActive, inProgress, insertOperation } from '../operations/operations.ts'
import type { OperationTable } from '../operations/tables.ts'
import { membershipsOf } from './memberships.ts'
import { joinNetwork, leaveNetworks, lockNetwork, networkSubject } from './networks.ts'
import { type NetworkAttach, networkProblems } from './schema.ts'
import type { NetworkTable } from './tables.ts'

/** The columns of a server that concern its networks. */
export interface AttachedServer {
  server_id: string
  account_id: string
  zone_slug: string
  pool: string
  /** JSON, as membershipsOf reads it. */
  networks: string
}

/** The rows of servers, which show the networks that they are in. */
interface AttachedServers {
  find(db: Queries, accountId: string, serverId: string): Promise<AttachedServer | undefined>
  /** @throws ApiError operation_in_progress */
  lockToChange(
    tx: Queries,
    serverId: string,
    isMeant: (server: AttachedServer) => boolean,
  ): Promise<AttachedServer | undefined>
  update(tx: Queries, serverId: string, change: { networks: string; updated_at: number }): Promise<void>
}

export interface AttachmentsOptions {
  db: Database
  clock: Clock
  capacity: Capacity
  engine: Engine
  serverRows: AttachedServers
  /** The error if the server does not exist. */
  serverNotFound: ProblemType
}

/** Operations on a network, each on behalf of a server. */
export type NetworkOperation = 'attach_network' | 'detach_network'
export const STEP = 'connect'
const DEADLINE_MS = 10 * 60_000

/**
 * Attaches a server to a network.
 * @throws ApiError validation_failed, not_supported, network_not_found, operation_in_progress, network_attached, network_address_unavailable
 */
export async function attach(
  { db, clock, capacity, engine, serverRows }: AttachmentsOptions,
  { account_id, network_id, zone_slug }: NetworkTable,
  { server_id, ipv4 }: NetworkAttach,
  remember: Remember,
): Promise<OperationTable> {
  const missing = () => invalid([bodyIssue('server_id', 'not_found', `No such server in ${zone_slug}.`)])
  const candidate = await serverRows.find(db, account_id, server_id)
  if (candidate?.zone_slug !== zone_slug) throw missing()
  await capacity.require(candidate, 'private_networks')
  const operation = await db.transaction().execute(async (tx) => {
    const server = await serverRows.lockToChange(tx, server_id, () => true)
    if (!server) throw missing()
    const network = found(await lockNetwork(tx, account_id, network_id), networkProblems.network_not_found)
    await refuseBusy(tx, network_id)
    const now = clock.now()
    const joined = await join(tx, server, network, now, ipv4)
    const begun = await begin(tx, 'attach_network', network, server_id, now)
    await serverRows.update(tx, server_id, { networks: joined, updated_at: now })
    await remember(tx, begun.operation_id)
    return begun
  })
  engine.wake()
  return operation
}

/**
 * Detaches a server from a network.
 * @throws ApiError network_not_found, server_not_found, operation_in_progress
 */
export async function detach(
  { db, clock, engine, serverRows, serverNotFound }: AttachmentsOptions,
  { account_id, network_id }: NetworkTable,
  serverId: string,
): Promise<OperationTable> {
  const operation = await db.transaction().execute(async (tx) => {
    const isMember = (server: AttachedServer) =>
      server.account_id === account_id && membershipsOf(server).some((one) => one.network_id === network_id)
    const server = await serverRows.lockToChange(tx, serverId, isMember)
    if (!server) throw new ApiError(serverNotFound, 'The server is not in this network.')
    const network = found(await lockNetwork(tx, account_id, network_id), networkProblems.network_not_found)
    await refuseBusy(tx, network_id)
    const now = clock.now()
    await leave(tx, serverRows, server, network_id, now)
    return begin(tx, 'detach_network', network, serverId, now)
  })
  engine.wake()
  return operation
}

/**
 * Adds a server that is about to be created to networks.
 * @returns the memberships for its row
 * @throws ApiError network_address_unavailable, validation_failed
 */
export async function joinAll(
  tx: Queries,
  { account_id, server_id }: Pick<AttachedServer, 'account_id' | 'server_id'>,
  networks: readonly NetworkTable[],
  now: number,
): Promise<string> {
  const server = { server_id, networks: '[]' }
  for (const { network_id } of networks.toSorted((a, b) => (a.network_id < b.network_id ? -1 : 1))) {
    const network = await lockNetwork(tx, account_id, network_id)
    if (!network) throw invalid([bodyIssue('network_ids', 'not_found', `No such network: ${network_id}.`)])
    server.networks = await join(tx, server, network, now)
  }
  return server.networks
}

/** Returns the mistakes in the networks of an order. */
export function networkIssues(
  ids: readonly string[],
  networks: readonly NetworkTable[],
  zoneSlug: string,
): Issue[] {
  return ids.flatMap((id, at) => {
    const network = networks.find(({ network_id, zone_slug }) => network_id === id && zone_slug === zoneSlug)
    if (!network)
      return [bodyIssue(`network_ids.${at}`, 'not_found', `No such network in ${zoneSlug}: ${id}.`)]
    const earlier = networks.filter(({ network_id }) => ids.indexOf(network_id) < at)
    const other = earlier.find(({ ip_range }) => overlap(ip_range, network.ip_range))
    return other ? [overlapIssue(`network_ids.${at}`, network, other)] : []
  })
}

/** Removes a server from a network; does nothing if it is not in the network. */
export async function leave(
  tx: Queries,
  serverRows: Pick<AttachedServers, 'update'>,
  server: AttachedServer,
  networkId: string,
  now: number,
): Promise<void> {
  await leaveNetworks(tx, server.account_id, [networkId], server.server_id, now)
  const rest = membershipsOf(server).filter(({ network_id }) => network_id !== networkId)
  await serverRows.update(tx, server.server_id, { networks: JSON.stringify(rest), updated_at: now })
}

/** @throws ApiError validation_failed, network_attached, network_address_unavailable */
async function join(
  tx: Queries,
  server: Pick<AttachedServer, 'server_id' | 'networks'>,
  network: NetworkTable,
  now: number,
  wanted?: string,
): Promise<string> {
  const before = membershipsOf(server)
  const { network_id, number, ip_range } = network
  const ipv4 = await joinNetwork(tx, network, server.server_id, now, wanted)
  const other = before.find((one) => overlap(one.ip_range, ip_range))
  if (other) throw invalid([overlapIssue('server_id', network, other)])
  if (before.length >= MOST_CARDS) {
    const message = `The server is already in ${MOST_CARDS} networks, the maximum.`
    throw invalid([bodyIssue('server_id', 'above_maximum', message)])
  }
  return JSON.stringify([...before, { network_id, number, ip_range, ipv4 }])
}

function overlapIssue(
  field: string,
  { ip_range }: Pick<NetworkTable, 'ip_range'>,
  other: Pick<NetworkTable, 'network_id' | 'ip_range'>,
): Issue {
  const message = `The range ${ip_range} overlaps ${other.ip_range} of the network ${other.network_id}, which the server is also in.`
  return bodyIssue(field, 'mutually_exclusive', message)
}

/** @throws ApiError operation_in_progress */
async function refuseBusy(tx: Queries, networkId: string): Promise<void> {
  const active = await findActive(tx, networkSubject(networkId))
  if (active)
    throw inProgress(
      active,
      'A server is being attached to the network, or detached from it. Wait until that has finished.',
    )
}

function begin(
  tx: Queries,
  type: NetworkOperation,
  { account_id, network_id }: NetworkTable,
  serverId: string,
  now: number,
): Promise<OperationTable> {
  const subject = networkSubject(network_id)
  const times = { now, deadlineAt: now + DEADLINE_MS }
  return insertOperation(tx, {
    accountId: account_id,
    subject,
    serverId,
    type,
    step: STEP,
    data: {},
    ...times,
  })
}
