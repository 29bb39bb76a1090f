import { type Kysely, sql } from 'kysely'

/** The ports of the host that lead to ports of servers: SSH, which is there already, and what customers publish. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE ports (
    port_id text PRIMARY KEY, account_id text NOT NULL, server_id text NOT NULL, protocol text NOT NULL,
    port integer NOT NULL, host_port integer NOT NULL, is_system integer NOT NULL, created_at bigint NOT NULL
  )`,
  `CREATE UNIQUE INDEX ports_host ON ports (protocol, host_port)`,
  `CREATE INDEX ports_server ON ports (server_id, port_id)`,
  `CREATE INDEX ports_account ON ports (account_id) WHERE is_system = 0`,
  // A server's id is as unique as one of the port's own.
  `INSERT INTO ports (port_id, account_id, server_id, protocol, port, host_port, is_system, created_at)
    SELECT server_id, account_id, server_id, 'tcp', 22, ssh_port, 1, created_at FROM servers WHERE ssh_port IS NOT NULL`,
]
