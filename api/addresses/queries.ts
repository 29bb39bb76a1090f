import { sql } from 'kysely'
import type { Lent, Queries } from '../database/database.ts'

// Queries for the SQL of other features, which need not know the table of addresses.

/** All addresses, including released ones. Each is billed in the project of the server that has it. */
export function billedAddresses(db: Queries, servers: Lent<{ server_id: string; project_id: string }>) {
  return db
    .selectFrom('addresses')
    .leftJoin(servers(db).as('holder'), 'holder.server_id', 'addresses.server_id')
    .select(({ fn }) => [
      'address_id as item_id',
      'address as name',
      fn.coalesce('holder.project_id', 'addresses.project_id').as('project_id'),
      sql<number>`CASE WHEN released_at IS NULL THEN 0 ELSE 1 END`.as('is_gone'),
    ])
}

/** The addresses that accounts have: the catalogue may not lose their ranges. */
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
