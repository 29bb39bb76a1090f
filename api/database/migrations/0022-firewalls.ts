import { type Kysely, sql } from 'kysely'

/** Firewalls, and the servers that they are attached to by id. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE firewalls (
    firewall_id text PRIMARY KEY, account_id text NOT NULL, name text NOT NULL, rules text NOT NULL,
    label_selector text, created_at bigint NOT NULL, updated_at bigint NOT NULL
  )`,
  `CREATE INDEX firewalls_account ON firewalls (account_id, firewall_id)`,
  `CREATE TABLE firewall_servers (
    firewall_id text NOT NULL, server_id text NOT NULL, PRIMARY KEY (firewall_id, server_id)
  )`,
  `CREATE INDEX firewall_servers_server ON firewall_servers (server_id)`,
]
