import { sql } from 'kysely'
import { isWithin } from '../cidrs.ts'
import type { Lent, Queries } from '../database/database.ts'

// Queries for the SQL of other features, which need not know the table of addresses.

/** All addresses, including released ones. Each is billed in the project of the server that has it. */
export function billedAddresses(db: Queries, servers: Lent<{ server_id: string; project_id: string }>) {
  return db
    .selectFrom('addresses')
    .leftJoin(servers(db).as('holder'), 'holder.server_id', 'addresses.server_id')
    .select(({ fn }) => [
      'address_id as item_id',
      'addresses.account_id',
      'address as name',
      fn.coalesce('holder.project_id', 'addresses.project_id').as('project_id'),
      sql<number>`CASE WHEN released_at IS NULL THEN 0 ELSE 1 END`.as('is_gone'),
    ])
}

/** Queries the addresses that accounts have, whose ranges the catalogue must keep. */
export function heldAddresses(db: Queries) {
  return db.selectFrom('addresses').select(['zone_slug', 'address']).where('released_at', 'is', null)
}

/** The public addresses of all accounts as an operator sees them, including released ones. */
export function operatedAddresses(db: Queries, servers: Lent<{ server_id: string; name: string }>) {
  return db
    .selectFrom('addresses')
    .leftJoin(servers(db).as('holder'), 'holder.server_id', 'addresses.server_id')
    .select(['addresses.account_id', 'address', 'addresses.zone_slug', 'holder.name as server'])
    .select(['addresses.created_at', 'released_at', 'reverse_dns'])
}

/** Finds the accounts that had an address at a moment, with the server that had it last; for operators. */
export async function addressesAt(db: Queries, address: string, moment: number) {
  const rows = await db
    .selectFrom('addresses')
    .select(['account_id', 'server_id', 'address', 'created_at', 'released_at'])
    .where('created_at', '<=', moment)
    .where((eb) => eb.or([eb('released_at', 'is', null), eb('released_at', '>', moment)]))
    .execute()
  return rows.filter((row) => isWithin(address, [row.address]))
}
