import { addLoad, findAccount, isAccount, lockAccount, takeQuota } from '../accounts/accounts.ts'
import { pricedFor } from '../accounts/prices.ts'
import { countInProject } from '../accounts/projects.ts'
import { refuseFrozen, refuseHeld, standingOf } from '../accounts/status.ts'
import { addressesOn, moveAddresses, priceOfAddresses } from '../addresses/moving.ts'
import { type HandOver, handOver, lockMeters } from '../billing/hand-over.ts'
import type { BilledItems } from '../billing/metering.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { firewallsOf } from '../firewalls/protection.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { moveTraffic } from '../monitoring/traffic.ts'
import { networksOn } from '../networks/networks.ts'
import { findActiveWith, inProgress } from '../operations/operations.ts'
import { movePorts } from '../ports/moving.ts'
import { billedSnapshot } from '../snapshots/billing.ts'
import { copiesOf, type MovedCopy, moveCopies } from '../snapshots/moving.ts'
import { volumesOn } from '../volumes/queries.ts'
import { requireCover } from './cover.ts'
import { recordMoved } from './events.ts'
import { billedServer } from './queries.ts'
import { pricesFor } from './repricing.ts'
import { parts } from './room.ts'
import { serverProblems } from './schema.ts'
import { isBusy } from './states.ts'
import { lockServer } from './store.ts'
import type { ServerTable } from './tables.ts'

export interface MovingOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  billedItems: BilledItems
  /** Returns the name or address at which customers connect to servers of a zone. */
  hostOf: (zoneSlug: string) => string
  /** Called when the connectivity of servers has changed. */
  changed: (serverIds: readonly string[]) => void
  /** Moves the numeric ids of the objects (see api/hcloud/numbers.ts) to another account. */
  moveNumbers: (tx: Queries, ids: readonly string[], accountId: string) => Promise<void>
}

/** The account that receives a server, and the project (default: the account's default project). */
export interface Receiver {
  account_id: string
  project_id?: string | undefined
}

/**
 * Moves a stopped server with its ports, addresses, snapshots and backups to another account, in one transaction.
 * That account pays for all of them from this moment on.
 * @throws ApiError server_not_found, server_state_conflict, operation_in_progress, rescue_conflict, server_attached,
 * validation_failed, account_suspended, account_frozen, quota_exceeded, insufficient_balance
 */
export async function moveServer(
  options: MovingOptions,
  serverId: string,
  receiver: Receiver,
  remember: Remember = async () => {},
): Promise<void> {
  const { db } = options
  await db.transaction().execute(async (tx) => {
    const server = found(await lockServer(tx, serverId), serverProblems.server_not_found)
    await remember(tx, serverId)
    if (isThere(server, receiver)) return
    await requireMovable(tx, server)
    const project_id = await requireReceiver(tx, server, receiver)
    await carryOver(options, tx, server, { account_id: receiver.account_id, project_id })
  })
  options.changed([serverId])
}

/** True if the account has the server already. @throws ApiError validation_failed if it is in another project */
function isThere(server: ServerTable, { account_id, project_id = server.project_id }: Receiver): boolean {
  if (server.account_id !== account_id) return false
  if (server.project_id === project_id) return true
  const message = 'The account has this server already, in another project. Change that with PATCH.'
  throw invalid([bodyIssue('project_id', 'not_found', message)])
}

/** @throws ApiError server_state_conflict, operation_in_progress, rescue_conflict, server_attached */
async function requireMovable(tx: Queries, server: ServerTable): Promise<void> {
  const active = await findActiveWith(tx, server.server_id)
  if (active || isBusy(server))
    throw inProgress(active, 'An operation on the server is in progress. Wait until it has finished.')
  if (server.status !== 'stopped')
    throw new ApiError(
      serverProblems.server_state_conflict,
      `The server is ${server.status}; a move requires it to be stopped, so that nobody is connected to it.`,
      { current_status: server.status, allowed_statuses: ['stopped'] },
    )
  if (server.rescue_id !== null)
    throw new ApiError(
      serverProblems.rescue_conflict,
      'The server is in rescue. End that with unrescue first.',
    )
  const attachments = await attachmentsOf(tx, server)
  if (attachments.length === 0) return
  const list = attachments.map(({ type, name }) => `${type} ${name}`).join(', ')
  throw new ApiError(
    serverProblems.server_attached,
    `Nothing was moved. These belong to the account that has the server; detach them first: ${list}.`,
    { attachments },
  )
}

/** The objects attached to a server that would stay with its old account, and therefore prevent the move. */
async function attachmentsOf(tx: Queries, server: ServerTable) {
  const { server_id, iso_id } = server
  const { reserved } = await addressesOn(tx, server_id)
  const firewalls = (await firewallsOf(tx, [server])).get(server_id) ?? []
  return [
    ...(await volumesOn(tx, server_id)).map((one) => ({ type: 'volume', ...one })),
    ...(await networksOn(tx, server_id)).map((one) => ({ type: 'network', ...one })),
    ...firewalls.map(({ firewall_id, name }) => ({ type: 'firewall', id: firewall_id, name })),
    ...reserved.map(({ address_id, address }) => ({ type: 'address', id: address_id, name: address })),
    ...(iso_id === null ? [] : [{ type: 'iso', id: iso_id, name: iso_id }]),
  ]
}

/**
 * Locks both accounts, in the order of their ids, so that two moves never wait for each other.
 * @returns the project
 * @throws ApiError validation_failed, account_suspended, account_frozen
 */
async function requireReceiver(tx: Queries, server: ServerTable, receiver: Receiver): Promise<string> {
  if (!(await isAccount(tx, receiver.account_id)))
    throw invalid([bodyIssue('account_id', 'not_found', `No such account: ${receiver.account_id}.`)])
  for (const accountId of [server.account_id, receiver.account_id].sort()) await lockAccount(tx, accountId)
  const [from, to] = [await findAccount(tx, server.account_id), await findAccount(tx, receiver.account_id)]
  refuseFrozen(standingOf(from))
  refuseHeld(standingOf(to))
  return receiver.project_id ?? to.default_project_id
}

async function carryOver(
  options: MovingOptions,
  tx: Queries,
  server: ServerTable,
  to: Pick<ServerTable, 'account_id' | 'project_id'>,
): Promise<void> {
  const { clock, hostOf, moveNumbers } = options
  const now = clock.now()
  const catalog = await pricedFor(tx, options.catalog, to.account_id)
  const change = { ...to, ...WITHOUT_PAST, ...pricesFor(catalog, server), updated_at: now }
  const moved = { ...server, ...change }
  const { own } = await addressesOn(tx, server.server_id)
  const copies = await copiesOf(tx, catalog, server.server_id)
  await requireCover(tx, to.account_id, addedCost(moved, copies) + priceOfAddresses(catalog, own, now))
  await takeQuota(tx, to.account_id, { servers: 1, ...parts(server) })
  const { cpu, ram_mb, disk_gb } = server
  await addLoad(tx, server.account_id, { servers: -1, cpu: -cpu, ram_mb: -ram_mb, disk_gb: -disk_gb })
  await countInProject(tx, to.account_id, to.project_id, 1)
  await countInProject(tx, server.account_id, server.project_id, -1)
  const items = itemsOf(server, moved, copies)
  const billed = [...items.map(({ item }) => item.item_id), ...own.map(({ address_id }) => address_id)]
  const place = { items: options.billedItems, meters: await lockMeters(tx, billed) }
  for (const item of items) await handOver(tx, place, item, now)
  await tx.updateTable('servers').set(change).where('server_id', '=', server.server_id).execute()
  await recordMoved(tx, server, moved)
  await movePorts(tx, server.server_id, { to: to.account_id, host: hostOf(server.zone_slug), now })
  await moveAddresses(tx, catalog, own, { to, now })
  await moveCopies(tx, copies, { to, now })
  await moveTraffic(tx, server.server_id, to.account_id, now)
  const ids = [server.server_id, ...copies.map(({ before }) => before.snapshot_id)]
  await moveNumbers(tx, ids, to.account_id)
}

/** Clears the texts and secrets of the previous owner. */
const WITHOUT_PAST = {
  ...{ description: null, labels: '{}', user_data: null, password: null, ssh_keys: '[]' },
  ...{ source_id: null, rescue_login: null, down_at: null, hold_changed_at: null },
} as const

/** The hourly cost that a server and its copies add to an account, in units. */
function addedCost(moved: ServerTable, copies: readonly MovedCopy[]): number {
  const kept = copies.reduce((sum, { price }) => sum + price.price_hour, 0)
  return moved.price_hour + moved.backup_price_hour + kept
}

function itemsOf(before: ServerTable, after: ServerTable, copies: readonly MovedCopy[]): HandOver[] {
  const { account_id, backup_item, billed_since } = before
  const to = after.account_id
  const backups = { price_hour: after.backup_price_hour, price_month: after.backup_price_month }
  const isBilled = billed_since !== null
  const items: HandOver[] = [{ item: billedServer(before), to, price: isBilled ? after : null }]
  if (backup_item !== null)
    items.push({
      item: { item_type: 'backup', item_id: backup_item, account_id },
      to,
      price: isBilled && backups.price_hour > 0 ? backups : null,
    })
  for (const { before: copy, price } of copies)
    if (copy.price_hour > 0)
      items.push({ item: billedSnapshot(copy), to, price: price.price_hour > 0 ? price : null })
  return items
}
