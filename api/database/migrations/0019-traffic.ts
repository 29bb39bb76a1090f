import { type Kysely, sql } from 'kysely'

/** Adds the traffic that servers received and sent in each calendar month. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE traffic (
    server_id text NOT NULL, account_id text NOT NULL, month bigint NOT NULL,
    in_bytes bigint NOT NULL, out_bytes bigint NOT NULL, PRIMARY KEY (server_id, month)
  )`,
  `CREATE INDEX traffic_account ON traffic (account_id, month)`,
  `CREATE INDEX traffic_month ON traffic (month)`,
]
