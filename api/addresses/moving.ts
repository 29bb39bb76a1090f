import { type Catalog, findZone } from '../catalog/file.ts'
import type { Queries } from '../database/database.ts'
import type { AddressTable } from './tables.ts'
import { addressPrice, giveBack, takeGivenAddress } from './taking.ts'

/** Returns a server's addresses: those created with it, and those reserved by its account. */
export async function addressesOn(db: Queries, serverId: string) {
  const rows = await db
    .selectFrom('addresses')
    .selectAll()
    .where('server_id', '=', serverId)
    .where('released_at', 'is', null)
    .orderBy('address')
    .execute()
  const isOwn = ({ goes_with }: AddressTable) => goes_with === serverId
  return { own: rows.filter(isOwn), reserved: rows.filter((row) => !isOwn(row)) }
}

/** The hourly price of addresses for an account, in units. @param catalog at its prices */
export function priceOfAddresses(catalog: Catalog, rows: readonly AddressTable[], now: number): number {
  return rows.reduce((sum, { zone_slug, family }) => {
    const zone = findZone(catalog, zone_slug)
    return sum + (zone ? addressPrice(catalog, zone, family, now).price_hour : 0)
  }, 0)
}

/**
 * Moves the addresses of a server to another account as new rows without reverse DNS names. So `berthd trace`
 * shows who had an address when, and each account pays for its own time.
 * @param catalog at the prices of the other account
 */
export async function moveAddresses(
  tx: Queries,
  catalog: Catalog,
  rows: readonly AddressTable[],
  { to, now }: { to: Pick<AddressTable, 'account_id' | 'project_id'>; now: number },
): Promise<void> {
  for (const row of rows) {
    const { zone_slug, family, server_id, goes_with, address } = row
    await giveBack(tx, row, now)
    const zone = findZone(catalog, zone_slug)
    const wanted = { ...to, family, server_id, goes_with }
    // The catalogue keeps the range of an address that an account has, so this should never fail.
    if (!zone || !(await takeGivenAddress(tx, catalog, zone, wanted, address, now)))
      throw new Error(`address ${address} could not be moved`)
  }
}
