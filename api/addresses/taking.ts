import { randomInt } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { pricedFor } from '../accounts/prices.ts'
import { chargedItems } from '../billing/metering.ts'
import { type BilledItem, beginRate, changeRate } from '../billing/rates.ts'
import { type Catalog, findZone, onSale, type Zone } from '../catalog/file.ts'
import { addressesIn, isInPools } from '../catalog/pools.ts'
import { zonePricesAt } from '../catalog/prices.ts'
import { changeEach, type Database, type Queries } from '../database/database.ts'
import { deleteFound } from '../database/deletion.ts'
import { record } from '../events/outbox.ts'
import { ApiError } from '../http/contract/problem.ts'
import { hourPrice } from '../money.ts'
import { addressProblems } from './schema.ts'
import type { AddressTable } from './tables.ts'
import { addressView } from './view.ts'

/** Time for which a released address is only given to its last account, until caches elsewhere have expired. */
export const HELD_BACK_MS = 24 * 3600_000
const QUICK_TRIES = 16

export type Family = AddressTable['family']
type AddressPrice = Pick<AddressTable, 'price_month' | 'price_hour'>
type Wanted = Pick<AddressTable, 'account_id' | 'project_id' | 'family' | 'server_id' | 'goes_with'> &
  Partial<Pick<AddressTable, 'labels'>>

/** The price of an address at a time. IPv6 is free. */
export function addressPrice({ prices }: Catalog, zone: Zone, family: Family, at: number): AddressPrice {
  const month = family === 'ipv6' ? 0 : (zonePricesAt(prices, zone, at)?.ipv4 ?? 0)
  return { price_month: month, price_hour: hourPrice(month) }
}

/**
 * Takes a free address of a zone that no other account has released recently. Its billing begins.
 * @param catalog at the prices of the account
 * @throws ApiError address_unavailable
 */
export async function takeAddress(
  tx: Queries,
  catalog: Catalog,
  zone: Zone,
  wanted: Wanted,
  now: number,
): Promise<AddressTable> {
  const price = addressPrice(catalog, zone, wanted.family, now)
  const attempt = (address: string) => insertAddress(tx, { ...wanted, ...price, address }, zone, now)
  const row = await firstFree(tx, zone, wanted, now, attempt)
  if (!row) throw await unavailable(tx, catalog, zone, wanted, now)
  await beginAddress(tx, row, now)
  return row
}

/**
 * Takes this address of a zone for an account, even if another account has just released it. Its billing
 * begins.
 * @param catalog at the prices of the account
 * @returns null if it is taken, or not in the ranges of the zone
 */
export async function takeGivenAddress(
  tx: Queries,
  catalog: Catalog,
  zone: Zone,
  wanted: Wanted,
  address: string,
  now: number,
): Promise<AddressTable | null> {
  if (!isInPools(zone, address)) return null
  const price = addressPrice(catalog, zone, wanted.family, now)
  const row = await insertAddress(tx, { ...wanted, ...price, address }, zone, now)
  if (row) await beginAddress(tx, row, now)
  return row
}

/** @returns null if the address is taken */
async function insertAddress(
  tx: Queries,
  wanted: Wanted & AddressPrice & Pick<AddressTable, 'address'>,
  { zone_slug }: Zone,
  now: number,
): Promise<AddressTable | null> {
  const row: AddressTable = {
    ...{ address_id: uuid(), zone_slug, labels: '{}', ...wanted, reverse_dns: null },
    ...{ priced_at: now, created_at: now, updated_at: now, released_at: null },
  }
  const { numInsertedOrUpdatedRows: written } = await tx
    .insertInto('addresses')
    .values(row)
    .onConflict((conflict) => conflict.column('address').where('released_at', 'is', null).doNothing())
    .executeTakeFirstOrThrow()
  return written === 0n ? null : row
}

async function beginAddress(tx: Queries, row: AddressTable, now: number): Promise<void> {
  if (row.price_hour > 0) await beginRate(tx, billed(row), row, now)
  await record(tx, [{ accountId: row.account_id, type: 'address.created', data: addressView(row), at: now }])
}

/**
 * Finds a free address. An address that the account released recently comes first, so that repeated taking
 * and releasing uses up none. Random addresses follow, which cost the same in a pool of ten as of ten
 * thousand, and then all.
 */
async function firstFree(
  tx: Queries,
  zone: Zone,
  { account_id, family }: Pick<Wanted, 'account_id' | 'family'>,
  now: number,
  attempt: (address: string) => Promise<AddressTable | null>,
): Promise<AddressTable | null> {
  const back = await heldBack(tx, zone, family, now).execute()
  const own = back.filter((row) => row.account_id === account_id && isInPools(zone, row.address))
  for (const { address } of own) {
    const row = await attempt(address)
    if (!row) continue
    await forgetHold(tx, row)
    return row
  }
  const others = new Set(back.filter((row) => row.account_id !== account_id).map(({ address }) => address))
  const { count, at } = addressesIn(zone, family)
  if (count === 0) return null
  for (let tries = 0; tries < QUICK_TRIES; tries++) {
    const address = at(randomInt(count))
    const row = others.has(address) ? null : await attempt(address)
    if (row) return row
  }
  const used = await usedIn(tx, zone, family)
  for (let index = 0; index < count; index++) {
    const address = at(index)
    const row = used.has(address) || others.has(address) ? null : await attempt(address)
    if (row) return row
  }
  return null
}

/** Ends the hold of an address that is taken again: its earlier row then only serves usage, if it cost anything. */
async function forgetHold(tx: Queries, { account_id, address }: AddressTable): Promise<void> {
  await tx
    .updateTable('addresses')
    .set({ released_at: 0 })
    .where('address', '=', address)
    .where('account_id', '=', account_id)
    .where('released_at', 'is not', null)
    .execute()
}

function heldBack(db: Queries, { zone_slug }: Zone, family: Family, now: number) {
  return db
    .selectFrom('addresses')
    .select(['address', 'account_id'])
    .where('released_at', '>', now - HELD_BACK_MS)
    .where('zone_slug', '=', zone_slug)
    .where('family', '=', family)
}

async function usedIn(db: Queries, { zone_slug }: Zone, family: Family): Promise<Set<string>> {
  const rows = await db
    .selectFrom('addresses')
    .select('address')
    .where('released_at', 'is', null)
    .where('zone_slug', '=', zone_slug)
    .where('family', '=', family)
    .execute()
  return new Set(rows.map(({ address }) => address))
}

async function unavailable(
  tx: Queries,
  catalog: Catalog,
  zone: Zone,
  { account_id, family }: Wanted,
  now: number,
): Promise<ApiError> {
  const alternatives: string[] = []
  for (const other of onSale(catalog).zones) {
    const { count } = addressesIn(other, family)
    if (other === zone || count === 0) continue
    const back = await heldBack(tx, other, family, now).where('account_id', '<>', account_id).execute()
    const gone = new Set([...(await usedIn(tx, other, family)), ...back.map(({ address }) => address)])
    if (gone.size < count) alternatives.push(other.zone_slug)
  }
  const detail = `All addresses of zone ${zone.zone_slug} are in use. ${
    alternatives.length > 0 ? 'Choose one of the alternatives.' : 'Try again later, or contact the operator.'
  }`
  return new ApiError(addressProblems.address_unavailable, detail, { alternatives })
}

/** Releases an address; its row stays for usage. */
export async function giveBack(tx: Queries, row: AddressTable, now: number): Promise<void> {
  const change = { server_id: null, goes_with: null, updated_at: now, released_at: now }
  const { price_hour } = await tx
    .updateTable('addresses')
    .set(change)
    .where('address_id', '=', row.address_id)
    // The price may have changed since the row was read.
    .returning('price_hour')
    .executeTakeFirstOrThrow()
  if (price_hour > 0) await changeRate(tx, billed(row), null, now)
  await record(tx, [{ accountId: row.account_id, type: 'address.deleted', data: addressView(row), at: now }])
}

const SOME = 200

/**
 * Moves addresses of a zone whose price is older than `from` to the price at that time.
 * @param at the time from which they are billed at it
 */
export async function repriceAddresses(
  db: Database,
  catalog: Catalog,
  zone: Zone,
  { from, at, now }: { from: number; at: number; now: number },
): Promise<void> {
  const due = db
    .selectFrom('addresses')
    .select(['address_id', 'account_id'])
    .where('released_at', 'is', null)
    .where('zone_slug', '=', zone.zone_slug)
    .where('family', '=', 'ipv4')
    .where('priced_at', '<', from)
    .limit(SOME)
  await changeEach(db, due, async (tx, { address_id, account_id }) => {
    const price = addressPrice(await pricedFor(tx, catalog, account_id), zone, 'ipv4', from)
    const row = await writePrice(tx, address_id, { ...price, priced_at: from, updated_at: now })
      .where('priced_at', '<', from)
      .returningAll()
      .executeTakeFirst()
    if (row) await billPrice(tx, row, at, now)
  })
}

/**
 * Moves addresses of an account to its own prices of the time whose prices they have.
 * @param catalog at the prices of the account
 */
export async function repriceAddressesOf(
  db: Database,
  catalog: Catalog,
  accountId: string,
  { at, now }: { at: number; now: number },
): Promise<void> {
  const rows = await db
    .selectFrom('addresses')
    .select(['address_id', 'zone_slug', 'priced_at', 'price_month'])
    .where('account_id', '=', accountId)
    .where('released_at', 'is', null)
    .where('family', '=', 'ipv4')
    .execute()
  for (const { address_id, zone_slug, priced_at, price_month } of rows) {
    const zone = findZone(catalog, zone_slug)
    const price = zone && addressPrice(catalog, zone, 'ipv4', priced_at)
    if (!price || price.price_month === price_month) continue
    await db.transaction().execute(async (tx) => {
      const row = await writePrice(tx, address_id, { ...price, updated_at: now })
        .where('priced_at', '=', priced_at)
        // Another process may have moved the address to the new price meanwhile.
        .where('price_month', '=', price_month)
        .returningAll()
        .executeTakeFirst()
      if (row) await billPrice(tx, row, at, now)
    })
  }
}

function writePrice(tx: Queries, addressId: string, change: Partial<AddressTable>) {
  return tx
    .updateTable('addresses')
    .set(change)
    .where('address_id', '=', addressId)
    .where('released_at', 'is', null)
}

async function billPrice(tx: Queries, row: AddressTable, at: number, now: number): Promise<void> {
  await changeRate(tx, billed(row), row.price_hour > 0 ? row : null, at)
  const data = addressView(row)
  await record(tx, [{ accountId: row.account_id, type: 'address.updated', data, at: now }])
}

function billed({ address_id, account_id }: AddressTable): BilledItem {
  return { item_type: 'address', item_id: address_id, account_id }
}

/**
 * Deletes some of the addresses that were released before a moment and never cost anything.
 * @returns the number deleted
 */
export async function forgetAddresses(db: Queries, before: number, limit: number): Promise<number> {
  const old = db
    .selectFrom('addresses')
    .leftJoin(chargedItems(db).as('charged'), 'charged.item_id', 'addresses.address_id')
    .select('address_id')
    .where('released_at', '<', before)
    .where('charged.item_id', 'is', null)
    .limit(limit)
  return deleteFound(db, 'addresses', 'address_id', old)
}
