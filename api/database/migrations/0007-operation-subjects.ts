import { type Kysely, sql } from 'kysely'

/** Operations are on a subject, of which a server is one kind, and know until when they can be read. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const COLUMNS = `type, status, step, progress, data, error_code, error_message, attempt, next_run_at, deadline_at,
  lease_owner, lease_until, created_at, started_at, finished_at`
const WEEK_MS = 7 * 24 * 3600_000

const statements = [
  // SQLite can't drop NOT NULL from a column: the table is written anew. No other table refers to it.
  `ALTER TABLE operations RENAME TO operations_before`,
  `CREATE TABLE operations (
    operation_id text PRIMARY KEY, account_id text NOT NULL, subject_type text NOT NULL, subject_id text NOT NULL,
    server_id text REFERENCES servers,
    type text NOT NULL, status text NOT NULL, step text NOT NULL, progress integer NOT NULL, data text NOT NULL,
    error_code text, error_message text, attempt integer NOT NULL, next_run_at bigint NOT NULL, deadline_at bigint NOT NULL,
    lease_owner text, lease_until bigint NOT NULL, created_at bigint NOT NULL, started_at bigint, finished_at bigint,
    readable_until bigint)`,
  `INSERT INTO operations
    SELECT operation_id, account_id, 'server', server_id, server_id, ${COLUMNS},
      (SELECT deleted_at + ${WEEK_MS} FROM servers WHERE servers.server_id = operations_before.server_id)
    FROM operations_before`,
  `DROP TABLE operations_before`,
  // The promise "one active operation per subject" is the database's, not the program's.
  `CREATE UNIQUE INDEX operations_active ON operations (subject_type, subject_id) WHERE status IN ('pending', 'running')`,
  `CREATE INDEX operations_due ON operations (next_run_at) WHERE status IN ('pending', 'running')`,
  `CREATE INDEX operations_leased ON operations (subject_type, subject_id, lease_until) WHERE lease_until > 0`,
  `CREATE INDEX operations_subject ON operations (subject_id, operation_id)`,
  // With readable_until, so that an account's operations are counted without a look at each.
  `CREATE INDEX operations_account ON operations (account_id, operation_id, readable_until)`,
]
