import { findAccount, isAccount } from '../accounts/accounts.ts'
import { refuseFrozen, refuseHeld, standingOf } from '../accounts/status.ts'
import type { Database, Queries } from '../database/database.ts'
import { contains, type Page, pageOf } from '../database/page.ts'
import { type Actor, scopeNames } from '../http/contract/auth.ts'
import { found, notFound } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { findActiveOf } from '../operations/operations.ts'
import type { Operation } from '../operations/schema.ts'
import { operationView } from '../operations/view.ts'
import type { Started } from '../servers/begin.ts'
import { type MovingOptions, moveServer, type Receiver } from '../servers/moving.ts'
import { activeOn } from '../servers/operation-replies.ts'
import { SERVER_SUBJECT } from '../servers/operations.ts'
import type { Orders } from '../servers/order/orders.ts'
import type { ServerCreate, ServerUpdate } from '../servers/order-schema.ts'
import { findOfAny, listedServers } from '../servers/queries.ts'
import { serverProblems } from '../servers/schema.ts'
import type { Servers } from '../servers/servers.ts'
import { isBusy } from '../servers/states.ts'
import { hold, type SuspensionOptions } from '../servers/suspension.ts'
import type { ServerTable } from '../servers/tables.ts'
import { type SshPlace, serverView } from '../servers/view.ts'
import { asOperator } from './accounts.ts'
import { operatorProblems } from './schema.ts'
import type { OperatedServer, OperatedServerQuery } from './server-schema.ts'

export interface OperatedServersOptions extends Pick<SuspensionOptions, 'clock' | 'engine'>, SshPlace {
  db: Database
  orders: Orders
  servers: Servers
}

/** Returns an actor with all rights of the account's owner, for an operator to act as. */
export async function ownerOf(db: Queries, accountId: string): Promise<Actor> {
  const standing = standingOf(await findAccount(db, accountId))
  return { accountId, ...standing, tokenId: null, projectId: null, person: null, scopes: scopeNames }
}

const FILTERS = ['account_id', 'status', 'zone_slug'] as const

export async function listOperatedServers(
  options: OperatedServersOptions,
  filter: OperatedServerQuery,
  page: Page,
): Promise<{ items: OperatedServer[]; total: number }> {
  const { db } = options
  const { search, address } = filter
  let wanted = listedServers(db).orderBy('server_id', 'desc')
  for (const name of FILTERS) {
    const value = filter[name]
    if (value !== undefined) wanted = wanted.where(name, '=', value)
  }
  if (search !== undefined)
    wanted = wanted.where((eb) =>
      eb.or([eb('server_id', '=', search.toLowerCase()), contains(search, 'name')]),
    )
  if (address !== undefined)
    wanted = wanted.where((eb) => eb.or([eb('ipv4', '=', address), eb('ipv6', '=', address)]))
  const { items, total } = await pageOf(wanted, page)
  const busy = items.filter(isBusy).map(({ server_id }) => server_id)
  const active = await findActiveOf(db, SERVER_SUBJECT, busy)
  const views = items.map((row) => ({
    account_id: row.account_id,
    ...serverView(options, row, active.get(row.server_id)),
  }))
  return { items: views, total }
}

/** @throws ApiError server_not_found */
export async function findOperatedServer(db: Queries, serverId: string): Promise<ServerTable> {
  return found(await findOfAny(db, serverId), serverProblems.server_not_found)
}

export async function showOperatedServer(
  options: OperatedServersOptions,
  serverId: string,
): Promise<OperatedServer> {
  const row = await findOperatedServer(options.db, serverId)
  return { account_id: row.account_id, ...serverView(options, row, await activeOn(options.db, row)) }
}

/** Orders a server for an account, which pays for it. @throws ApiError as Orders.create, account_suspended */
export async function orderFor(
  options: OperatedServersOptions,
  accountId: string,
  request: ServerCreate,
  remember: Remember,
): Promise<OperatedServer> {
  const actor = await ownerOf(options.db, accountId)
  refuseHeld(actor)
  const { server } = await asOperator(() => options.orders.create(actor, request, remember))
  return showOperatedServer(options, server.server_id)
}

/** Changes a server as its owner may; a change of the plan is an operation. @throws ApiError as Servers.update */
export async function updateOperatedServer(
  options: OperatedServersOptions,
  server: ServerTable,
  request: ServerUpdate,
): Promise<{ server: OperatedServer; isBegun: boolean }> {
  const actor = await ownerOf(options.db, server.account_id)
  refuseHeld(actor)
  const { operation } = await asOperator(() => options.servers.update(actor, server, request))
  return { server: await showOperatedServer(options, server.server_id), isBegun: operation !== null }
}

/**
 * Begins an operation on a server as its owner may.
 * @param how `reason` is kept in the audit; `isStop`, `isDeletion`: a suspended account does not prevent it
 * @throws ApiError account_suspended, account_frozen, and those of `begin`
 */
export async function begun(
  { db }: OperatedServersOptions,
  { account_id }: ServerTable,
  { reason, isStop = false, isDeletion = false }: { reason?: string; isStop?: boolean; isDeletion?: boolean },
  begin: (actor: Actor) => Promise<Started>,
): Promise<Operation & { account_id: string }> {
  const actor = await ownerOf(db, account_id)
  if (isDeletion) refuseFrozen(actor)
  else if (!isStop) refuseHeld(actor)
  const { operation } = await asOperator(() => begin(actor), reason)
  return { account_id, ...operationView(operation) }
}

/** @throws ApiError account_not_found */
export async function requireAccount(db: Queries, accountId: string): Promise<void> {
  if (!(await isAccount(db, accountId))) throw notFound(operatorProblems.account_not_found)
}

/** Gives a server to another account, whose audit has the reason, too. @throws ApiError as moveServer */
export async function moveOperatedServer(
  options: OperatedServersOptions & MovingOptions,
  serverId: string,
  { receiver, reason, remember }: { receiver: Receiver; reason: string; remember: Remember },
): Promise<OperatedServer> {
  await asOperator(() => moveServer(options, serverId, receiver, remember), reason)
  return showOperatedServer(options, serverId)
}

/** Suspends a single server, or lifts its suspension. @throws ApiError server_not_found */
export async function holdServer(
  options: OperatedServersOptions,
  serverId: string,
  { isHeld, reason, remember }: { isHeld: boolean; reason: string; remember: Remember },
): Promise<OperatedServer> {
  await asOperator(() => hold(options, serverId, isHeld ? reason : null, remember), reason)
  return showOperatedServer(options, serverId)
}
