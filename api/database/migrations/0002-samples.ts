import type { Kysely } from 'kysely'
import { sql } from 'kysely'

/** Kysely's migrations see no schema type: the tables do not exist yet. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  // A short number stands for the server in its samples: most of what is kept would else be its id.
  `CREATE TABLE meters (
    server_id text PRIMARY KEY REFERENCES servers, series integer NOT NULL UNIQUE, reading text NOT NULL,
    read_at bigint NOT NULL)`,

  `CREATE TABLE samples (
    series integer NOT NULL, resolution integer NOT NULL, at bigint NOT NULL,
    cpu integer, memory_mb integer, disk_mb integer,
    disk_read bigint, disk_write bigint, network_rx bigint, network_tx bigint,
    PRIMARY KEY (series, resolution, at))`,
]
