import { type Kysely, sql } from 'kysely'

/** Adds the ports that servers had, so that an operator finds whose a port was at a time. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE ended_ports (
    port_id text PRIMARY KEY, account_id text NOT NULL, server_id text NOT NULL, protocol text NOT NULL,
    host_port integer NOT NULL, created_at bigint NOT NULL, ended_at bigint NOT NULL)`,
  'CREATE INDEX ended_ports_host ON ended_ports (host_port, ended_at)',
  'CREATE INDEX ended_ports_age ON ended_ports (ended_at)',
  'CREATE INDEX ended_ports_account ON ended_ports (account_id, ended_at)',
]
