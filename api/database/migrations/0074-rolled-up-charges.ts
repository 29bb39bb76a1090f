import { type Kysely, SqliteAdapter, sql } from 'kysely'

/**
 * Lets charges of long ago be rolled up: an entry still names the one before it, which may have any smaller number. That
 * no two entries name the same one takes the place of the primary key, so that an entry has as many indexes as before.
 * References can wait for the end of a transaction, which replaces entries in the middle of the chain.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter
  for (const statement of isSqlite ? rebuild : await changes(db)) await sql.raw(statement).execute(db)
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const CHAIN = `CHECK ((sequence = 1 AND previous IS NULL AND balance_before = 0)
  OR (previous IS NOT NULL AND previous < sequence))`

const COLUMNS = `transaction_id, account_id, sequence, previous, type, balance_before, amount, balance_after,
  server_id, project_id, hour, seconds, description, reference, created_at, bytes, item_type, item_id`

// SQLite can't drop a constraint: the table is written anew.
const rebuild = [
  `CREATE TABLE transactions_after (
    transaction_id text NOT NULL, account_id text NOT NULL REFERENCES accounts,
    sequence bigint NOT NULL, previous bigint, type text NOT NULL,
    balance_before bigint NOT NULL, amount bigint NOT NULL, balance_after bigint NOT NULL,
    server_id text, project_id text, hour bigint, seconds integer,
    description text NOT NULL, reference text, created_at bigint NOT NULL, bytes bigint,
    item_type text, item_id text, first_hour bigint,
    UNIQUE (account_id, sequence, balance_after), UNIQUE (account_id, previous),
    CHECK (type IN ('charge', 'payment', 'refund', 'correction')),
    CHECK (balance_after = balance_before + amount),
    ${CHAIN},
    CHECK (type <> 'charge' OR (amount <= 0 AND server_id IS NOT NULL AND project_id IS NOT NULL AND hour IS NOT NULL AND seconds > 0)),
    CHECK (item_id IS NULL OR (item_id = server_id AND item_type IS NOT NULL)),
    FOREIGN KEY (account_id, previous, balance_before) REFERENCES transactions (account_id, sequence, balance_after))`,
  `INSERT INTO transactions_after (${COLUMNS}) SELECT ${COLUMNS} FROM transactions ORDER BY rowid`,
  'DROP TABLE transactions',
  'ALTER TABLE transactions_after RENAME TO transactions',
  `CREATE UNIQUE INDEX transactions_reference ON transactions (account_id, reference) WHERE reference IS NOT NULL`,
  `CREATE UNIQUE INDEX transactions_hour ON transactions (hour, server_id) WHERE hour IS NOT NULL AND bytes IS NULL`,
  `CREATE UNIQUE INDEX transactions_traffic ON transactions (hour, server_id) WHERE bytes IS NOT NULL`,
  `CREATE INDEX transactions_usage ON transactions (account_id, hour) WHERE hour IS NOT NULL`,
  'CREATE INDEX transactions_booked ON transactions (account_id, created_at) WHERE hour IS NULL',
]

/** PostgreSQL named the constraints itself: the catalogue knows them by what they say. */
async function changes(db: Kysely<unknown>): Promise<string[]> {
  const { rows } = await sql<{ of: string; name: string; kind: string }>`
    SELECT conrelid::regclass::text AS of, quote_ident(conname) AS name, contype AS kind FROM pg_constraint
    WHERE (conrelid = 'transactions'::regclass AND (contype = 'p' OR pg_get_constraintdef(oid) LIKE '%sequence - 1%'))
      OR (contype = 'f' AND confrelid = 'transactions'::regclass)`.execute(db)
  return [
    'ALTER TABLE transactions ADD COLUMN first_hour bigint',
    'CREATE UNIQUE INDEX transactions_previous ON transactions (account_id, previous)',
    ...rows.map(({ of, name, kind }) =>
      kind === 'f'
        ? `ALTER TABLE ${of} ALTER CONSTRAINT ${name} DEFERRABLE INITIALLY IMMEDIATE`
        : `ALTER TABLE ${of} DROP CONSTRAINT ${name}`,
    ),
    `ALTER TABLE transactions ADD CONSTRAINT transactions_chain ${CHAIN} NOT VALID`,
    'ALTER TABLE transactions VALIDATE CONSTRAINT transactions_chain',
  ]
}

const statements = [
  'CREATE UNIQUE INDEX transactions_first ON transactions (account_id) WHERE previous IS NULL',
  'ALTER TABLE ledgers ADD COLUMN rolled_until bigint NOT NULL DEFAULT 0',
  'ALTER TABLE ledgers ADD COLUMN rolled_after bigint NOT NULL DEFAULT 0',
  'ALTER TABLE ledgers ADD COLUMN rolled_entries bigint NOT NULL DEFAULT 0',
  'CREATE INDEX ledgers_rolled ON ledgers (rolled_until)',
]
