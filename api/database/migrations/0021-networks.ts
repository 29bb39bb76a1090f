import { type Kysely, sql } from 'kysely'

/** Private networks, the servers in them, and with each server what it needs of its own. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE networks (
    network_id text PRIMARY KEY, account_id text NOT NULL, name text NOT NULL, zone_slug text NOT NULL,
    ip_range text NOT NULL, number integer NOT NULL, created_at bigint NOT NULL, updated_at bigint NOT NULL
  )`,
  `CREATE INDEX networks_account ON networks (account_id, network_id)`,
  `CREATE UNIQUE INDEX networks_number ON networks (number)`,
  `CREATE TABLE network_servers (
    network_id text NOT NULL, server_id text NOT NULL, ipv4 text NOT NULL, PRIMARY KEY (network_id, server_id)
  )`,
  `CREATE UNIQUE INDEX network_servers_ipv4 ON network_servers (network_id, ipv4)`,
  `ALTER TABLE servers ADD COLUMN networks text NOT NULL DEFAULT '[]'`,
]
