import { type Kysely, sql } from 'kysely'

/**
 * Adds the traffic that a server's price includes, the price beyond it, and both in the ledger. Earlier servers keep
 * free traffic, as they were promised. An hour has at most two charges of a server: one for its time and one for its
 * traffic.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `ALTER TABLE servers ADD COLUMN traffic_gb integer NOT NULL DEFAULT 0`,
  `ALTER TABLE servers ADD COLUMN traffic_price bigint NOT NULL DEFAULT 0`,
  `ALTER TABLE servers ADD COLUMN bandwidth_mbit integer`,
  `ALTER TABLE rates ADD COLUMN traffic_gb integer NOT NULL DEFAULT 0`,
  `ALTER TABLE rates ADD COLUMN traffic_price bigint NOT NULL DEFAULT 0`,
  `ALTER TABLE billing_meters ADD COLUMN traffic_month bigint NOT NULL DEFAULT 0`,
  `ALTER TABLE billing_meters ADD COLUMN traffic_charged bigint NOT NULL DEFAULT 0`,
  `ALTER TABLE transactions ADD COLUMN bytes bigint`,
  `DROP INDEX transactions_hour`,
  `CREATE UNIQUE INDEX transactions_hour ON transactions (hour, server_id) WHERE hour IS NOT NULL AND bytes IS NULL`,
  `CREATE UNIQUE INDEX transactions_traffic ON transactions (hour, server_id) WHERE bytes IS NOT NULL`,

  `ALTER TABLE addresses ADD COLUMN priced_at bigint NOT NULL DEFAULT 0`,
  `UPDATE addresses SET priced_at = created_at`,
]
