import type { Static } from 'typebox'
import { findAccount, lockAccount, takeRoom } from '../accounts/accounts.ts'
import { pricedFor } from '../accounts/prices.ts'
import type { Capacity } from '../catalog/capacity.ts'
import { type Catalog, findZone, onSale, unknownZone, type Zone } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { labelled, labelsColumn } from '../database/labels.ts'
import { countIn, type Page, pageOf, preparedPage } from '../database/page.ts'
import { record } from '../events/outbox.ts'
import type { Quota } from '../feature.ts'
import type { Actor } from '../http/contract/auth.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import { type AddressCreate, type AddressQuery, type AddressUpdate, addressProblems } from './schema.ts'
import type { AddressTable } from './tables.ts'
import { addressPrice, type Family, giveBack, takeAddress } from './taking.ts'
import { addressView } from './view.ts'

/** The columns of a server that concern its addresses. */
interface AddressedServer {
  server_id: string
  account_id: string
  zone_slug: string
  name: string
  ipv4: string | null
  ipv6: string | null
}

/** The rows of servers, which show the addresses that they have. */
interface AddressedServers {
  lock(tx: Queries, serverId: string): Promise<AddressedServer | undefined>
  /** @throws ApiError operation_in_progress */
  lockToChange(
    tx: Queries,
    serverId: string,
    isMeant: (server: AddressedServer) => boolean,
  ): Promise<AddressedServer | undefined>
  update(
    tx: Queries,
    serverId: string,
    change: Partial<Pick<AddressedServer, Family>> & { updated_at: number },
  ): Promise<void>
}

export interface AddressesOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  capacity: Capacity
  serverRows: AddressedServers
  /** Checks that the balance covers the orders of an account and `added` more units an hour. */
  requireCover: (tx: Queries, accountId: string, added: number) => Promise<void>
  /** Called when the addresses of servers have changed. */
  changed: (serverIds: readonly string[]) => void
}

/** Selects the addresses of a server, and those with labels. */
type Filter = Static<typeof AddressQuery>

/** Newest first. */
export function listAddresses(db: Queries, accountId: string, { server_id, label }: Filter, page: Page) {
  if (server_id === undefined && label === undefined) return wholePage(db, { accountId }, page)
  const all = newest(db, { accountId })
  const own = server_id === undefined ? all : all.where('server_id', '=', server_id)
  return pageOf(labelled(own, label), page)
}

function newest(db: Queries, { accountId }: { accountId: string }) {
  return present(db).where('account_id', '=', accountId).selectAll().orderBy('address_id', 'desc')
}

const wholePage = preparedPage(newest)

export function findAddress(db: Queries, accountId: string, addressId: string) {
  return present(db)
    .where('account_id', '=', accountId)
    .where('address_id', '=', addressId)
    .selectAll()
    .executeTakeFirst()
}

export const addressQuota: Quota = {
  name: 'addresses',
  description: 'Reserved public addresses, besides those that go with servers',
  limit: 10,
  example: 0,
  count: (db, accountId) =>
    countIn(present(db).where('account_id', '=', accountId).where('goes_with', 'is', null)),
}

/**
 * Reserves an address, and assigns it to a server.
 * @throws ApiError validation_failed, not_supported, operation_in_progress, address_in_use, quota_exceeded,
 * insufficient_balance, address_unavailable
 */
export async function reserveAddress(
  options: AddressesOptions,
  { accountId }: Pick<Actor, 'accountId'>,
  { zone_slug, family, server_id: taker, labels }: AddressCreate,
  remember: Remember,
): Promise<AddressTable> {
  const { db, clock, catalog, capacity, serverRows, requireCover, changed } = options
  const server_id = taker ?? null
  const zone = findZone(onSale(catalog), zone_slug)
  if (!zone) throw invalid([bodyIssue('zone_slug', 'not_found', unknownZone(catalog, zone_slug))])
  await capacity.require({ pool: capacity.poolOf(zone_slug), zone_slug }, `public_${family}`)
  const row = await db.transaction().execute(async (tx) => {
    const now = clock.now()
    if (server_id !== null)
      await requireTaker(serverRows, tx, server_id, { account_id: accountId, zone_slug, family })
    await requireQuota(tx, accountId)
    const priced = await pricedFor(tx, catalog, accountId)
    const price = addressPrice(priced, zone, family, now)
    if (price.price_hour > 0) await requireCover(tx, accountId, price.price_hour)
    const { default_project_id: project_id } = await findAccount(tx, accountId)
    const wanted = {
      account_id: accountId,
      project_id,
      family,
      server_id,
      goes_with: null,
      ...labelsColumn(labels),
    }
    const taken = await takeAddress(tx, priced, zone, wanted, now)
    if (server_id !== null)
      await serverRows.update(tx, server_id, { [family]: taken.address, updated_at: now })
    await remember(tx, taken.address_id)
    return taken
  })
  if (server_id !== null) changed([server_id])
  return row
}

/**
 * Assigns an address to another server, unassigns it, or changes its reverse DNS name and labels. An address that came with a
 * server is reserved from then on.
 * @throws ApiError validation_failed, address_not_found, operation_in_progress, address_in_use, quota_exceeded
 */
export async function updateAddress(
  options: AddressesOptions,
  loaded: AddressTable,
  { server_id, reverse_dns, labels }: AddressUpdate,
): Promise<AddressTable> {
  const { clock, serverRows, changed } = options
  const { before, after } = await withLockedServers(
    options,
    loaded,
    server_id ?? null,
    async (tx, before) => {
      const now = clock.now()
      const isMoved = server_id !== undefined && server_id !== before.server_id
      if (isMoved && before.goes_with !== null) await requireQuota(tx, before.account_id)
      if (isMoved && server_id !== null) await requireTaker(serverRows, tx, server_id, before)
      const change = {
        ...(isMoved ? { server_id, goes_with: null } : {}),
        ...(reverse_dns === undefined ? {} : { reverse_dns }),
        ...labelsColumn(labels),
        updated_at: now,
      }
      const after = { ...before, ...change }
      await tx.updateTable('addresses').set(change).where('address_id', '=', after.address_id).execute()
      if (isMoved && before.server_id !== null)
        await serverRows.update(tx, before.server_id, { [before.family]: null, updated_at: now })
      if (isMoved && server_id !== null)
        await serverRows.update(tx, server_id, { [after.family]: after.address, updated_at: now })
      await recordUpdate(tx, after, now)
      return { before, after }
    },
  )
  if (before.server_id === after.server_id) return after
  changed([before.server_id, after.server_id].filter((id) => id !== null))
  return after
}

/** @throws ApiError address_not_found, address_in_use if a server has it and the deletion is not forced */
export async function releaseAddress(
  options: AddressesOptions,
  loaded: AddressTable,
  isForced: boolean,
): Promise<void> {
  const { clock, serverRows, changed } = options
  const { server_id } = await withLockedServers(options, loaded, null, async (tx, row) => {
    if (row.server_id !== null && !isForced)
      throw new ApiError(
        addressProblems.address_in_use,
        'A server has this address. Unassign it first (server_id: null), or delete it with force=true.',
      )
    const now = clock.now()
    if (row.server_id !== null)
      await serverRows.update(tx, row.server_id, { [row.family]: null, updated_at: now })
    await giveBack(tx, row, now)
    return row
  })
  if (server_id !== null) changed([server_id])
}

/**
 * Runs a change of an address while its current server and its next one are locked. Servers are locked first
 * and in one order, then the account, as everywhere. If the address moved meanwhile, the change starts again.
 * @throws ApiError address_not_found
 */
async function withLockedServers<Result>(
  { db, serverRows }: AddressesOptions,
  loaded: AddressTable,
  takerId: string | null,
  run: (tx: Queries, row: AddressTable) => Promise<Result>,
): Promise<Result> {
  for (let row = loaded; ; ) {
    const { address_id, account_id, server_id } = row
    const done = await db.transaction().execute(async (tx) => {
      const ids = [...new Set([server_id, takerId])].filter((id) => id !== null)
      for (const id of ids.sort()) await serverRows.lock(tx, id)
      await lockAccount(tx, account_id)
      const current = await findAddress(tx, account_id, address_id)
      return current?.server_id === server_id ? { result: await run(tx, current) } : null
    })
    if (done) return done.result
    row = found(await findAddress(db, account_id, address_id), addressProblems.address_not_found)
  }
}

interface NewServer {
  server_id: string
  account_id: string
  project_id: string
  created_at: number
}

/**
 * Takes an address for a new server. It is released when the server is deleted.
 * @throws ApiError address_unavailable
 */
export async function takeForServer(
  tx: Queries,
  catalog: Catalog,
  zone: Zone,
  { server_id, account_id, project_id, created_at }: NewServer,
  family: Family,
): Promise<string> {
  const wanted = { account_id, project_id, family, server_id, goes_with: server_id }
  return (await takeAddress(tx, catalog, zone, wanted, created_at)).address
}

/** Takes all addresses from a server that is being deleted: those that came with it are released, the rest stay reserved. */
export async function letGo(
  tx: Queries,
  server: Pick<AddressedServer, 'server_id' | 'account_id' | Family>,
  now: number,
): Promise<void> {
  if (server.ipv4 === null && server.ipv6 === null) return
  await lockAccount(tx, server.account_id)
  const rows = await present(tx).where('server_id', '=', server.server_id).selectAll().execute()
  for (const row of rows) {
    if (row.goes_with !== null) {
      await giveBack(tx, row, now)
      continue
    }
    const change = { server_id: null, updated_at: now }
    await tx.updateTable('addresses').set(change).where('address_id', '=', row.address_id).execute()
    await recordUpdate(tx, { ...row, ...change }, now)
  }
}

/** The account's row is locked from here on. @throws ApiError quota_exceeded */
async function requireQuota(tx: Queries, accountId: string): Promise<void> {
  await takeRoom(tx, accountId, [addressQuota])
}

/**
 * Locks the server that an address is to be assigned to, and checks that this is allowed.
 * @throws ApiError validation_failed, operation_in_progress, address_in_use
 */
async function requireTaker(
  serverRows: AddressedServers,
  tx: Queries,
  serverId: string,
  { account_id, zone_slug, family }: Pick<AddressTable, 'account_id' | 'zone_slug' | 'family'>,
): Promise<void> {
  const server = await serverRows.lockToChange(
    tx,
    serverId,
    (found) => found.account_id === account_id && found.zone_slug === zone_slug,
  )
  if (!server) throw invalid([bodyIssue('server_id', 'not_found', `No such server in zone ${zone_slug}.`)])
  if (server[family] !== null)
    throw new ApiError(
      addressProblems.address_in_use,
      `Server ${server.name} already has ${server[family]}. Unassign that one first.`,
    )
}

function recordUpdate(tx: Queries, row: AddressTable, at: number): Promise<void> {
  return record(tx, [{ accountId: row.account_id, type: 'address.updated', data: addressView(row), at }])
}

function present(db: Queries) {
  return db.selectFrom('addresses').where('released_at', 'is', null)
}
