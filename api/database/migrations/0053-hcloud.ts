import { type Kysely, sql } from 'kysely'

/** Adds tokens for hcloud's tools, which are bound to a project, and the numbers by which these tools know objects. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE tokens ADD COLUMN project_id text',
  // The offers of the catalogue belong to no account.
  `CREATE TABLE hcloud_numbers (
    number bigint PRIMARY KEY, account_id text, kind text NOT NULL, object_id text NOT NULL,
    created_at bigint NOT NULL, ended_at bigint, UNIQUE (object_id, kind))`,
  'CREATE INDEX hcloud_numbers_ended ON hcloud_numbers (ended_at) WHERE ended_at IS NOT NULL',
  // There is one row, whose numbers are given once.
  `CREATE TABLE hcloud_counter (counter_id integer PRIMARY KEY, last bigint NOT NULL, CHECK (counter_id = 1))`,
  `INSERT INTO hcloud_counter VALUES (1, 0)`,
]
