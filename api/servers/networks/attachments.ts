import type { Capacity } from '../../catalog/capacity.ts'
import { overlap } from '../../cidrs.ts'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import { MOST_CARDS } from '../../drivers/driver.ts'
import { ApiError, bodyIssue, found, type Issue, invalid } from '../../http/contract/problem.ts'
import type { Remember } from '../../http/contract/route.ts'
import {
  joinNetwork,
  leaveNetworks,
  lockNetwork,
  subjectOf as networkSubject,
} from '../../networks/networks.ts'
import { type NetworkAttach, networkProblems } from '../../networks/schema.ts'
import type { NetworkTable } from '../../networks/tables.ts'
import type { Engine } from '../../operations/engine.ts'
import { findActive, insertOperation } from '../../operations/operations.ts'
import type { OperationTable } from '../../operations/tables.ts'
import { guard, inProgress } from '../guard.ts'
import { serverProblems } from '../schema.ts'
import { findServer, lockServer, updateServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import { membershipsOf } from './memberships.ts'

export interface AttachmentsOptions {
  db: Database
  clock: Clock
  capacity: Capacity
  engine: Engine
}

/** What is carried out on a network, on behalf of a server. */
export type NetworkOperation = 'attach_network' | 'detach_network'
export const STEP = 'connect'
const DEADLINE_MS = 10 * 60_000

/**
 * Attaches a server to a network.
 * @throws ApiError validation_failed, not_supported, network_not_found, operation_in_progress, network_attached, network_address_unavailable
 */
export async function attach(
  { db, clock, capacity, engine }: AttachmentsOptions,
  { account_id, network_id, zone_slug }: NetworkTable,
  { server_id, ipv4 }: NetworkAttach,
  remember: Remember,
): Promise<OperationTable> {
  const missing = () => invalid([bodyIssue('server_id', 'not_found', `No such server in ${zone_slug}.`)])
  const candidate = await findServer(db, account_id, server_id)
  if (candidate?.zone_slug !== zone_slug) throw missing()
  await capacity.require(candidate, 'private_networks')
  const operation = await db.transaction().execute(async (tx) => {
    const server = await lockServer(tx, server_id)
    if (!server) throw missing()
    await guard(tx, server, 'update')
    const network = found(await lockNetwork(tx, account_id, network_id), networkProblems.network_not_found)
    await refuseBusy(tx, network_id)
    const now = clock.now()
    const joined = await join(tx, server, network, now, ipv4)
    const begun = await begin(tx, 'attach_network', network, server_id, now)
    await updateServer(tx, server_id, { networks: joined, updated_at: now })
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
  { db, clock, engine }: AttachmentsOptions,
  { account_id, network_id }: NetworkTable,
  serverId: string,
): Promise<OperationTable> {
  const operation = await db.transaction().execute(async (tx) => {
    const server = await lockServer(tx, serverId)
    const isMember = server && membershipsOf(server).some((one) => one.network_id === network_id)
    if (server?.account_id !== account_id || !isMember)
      throw new ApiError(serverProblems.server_not_found, 'The server is not in this network.')
    await guard(tx, server, 'update')
    const network = found(await lockNetwork(tx, account_id, network_id), networkProblems.network_not_found)
    await refuseBusy(tx, network_id)
    const now = clock.now()
    await leave(tx, server, network_id, now)
    return begin(tx, 'detach_network', network, serverId, now)
  })
  engine.wake()
  return operation
}

/**
 * Puts a server that is about to be created into networks.
 * @returns what its row says of them
 * @throws ApiError network_address_unavailable, validation_failed
 */
export async function joinAll(
  tx: Queries,
  { account_id, server_id }: Pick<ServerTable, 'account_id' | 'server_id'>,
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

/** What is wrong with the networks that a server shall be in from its creation on. */
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

/** Takes a server out of a network. Fine if it is not in it. */
export async function leave(tx: Queries, server: ServerTable, networkId: string, now: number): Promise<void> {
  await leaveNetworks(tx, server.account_id, [networkId], server.server_id, now)
  const rest = membershipsOf(server).filter(({ network_id }) => network_id !== networkId)
  await updateServer(tx, server.server_id, { networks: JSON.stringify(rest), updated_at: now })
}

/** @throws ApiError validation_failed, network_attached, network_address_unavailable */
async function join(
  tx: Queries,
  server: Pick<ServerTable, 'server_id' | 'networks'>,
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
    const message = `The server is in ${MOST_CARDS} networks, which is the most.`
    throw invalid([bodyIssue('server_id', 'above_maximum', message)])
  }
  return JSON.stringify([...before, { network_id, number, ip_range, ipv4 }])
}

function overlapIssue(
  field: string,
  { ip_range }: Pick<NetworkTable, 'ip_range'>,
  other: Pick<NetworkTable, 'network_id' | 'ip_range'>,
): Issue {
  const message = `The range ${ip_range} overlaps ${other.ip_range} of the network ${other.network_id}, in which the server is too.`
  return bodyIssue(field, 'mutually_exclusive', message)
}

/** @throws ApiError operation_in_progress */
async function refuseBusy(tx: Queries, networkId: string): Promise<void> {
  const active = await findActive(tx, networkSubject(networkId))
  if (active)
    throw inProgress(
      active,
      'A server is being attached to the network, or detached. Wait until that is done.',
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
