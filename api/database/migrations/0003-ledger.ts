import { type Kysely, sql } from 'kysely'

/**
 * The ledger as a chain that the database itself keeps whole. Each entry names the one before it and takes up its
 * balance, and an account's ledger names the last entry and its balance, all by foreign keys: an entry that is
 * changed or taken out, an amount that does not lead from one balance to the next, or a balance that no entry
 * has, breaks a constraint. Beside it, what metering needs to know: servers from before are metered from now on.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
  const now = Math.floor(Date.now() / 1000) * 1000
  const billed = sql`FROM servers WHERE billed_since IS NOT NULL AND deleted_at IS NULL AND status <> 'deleting'`
  await sql`INSERT INTO rates SELECT server_id, CAST(${now} AS bigint), NULL, account_id, price_hour, price_month ${billed}`.execute(
    db,
  )
  await sql`INSERT INTO billing_meters SELECT server_id, account_id, CAST(${now} AS bigint), CAST(${now} AS bigint) ${billed}`.execute(
    db,
  )
}

const statements = [
  `ALTER TABLE transactions RENAME TO transactions_before`,
  `CREATE TABLE transactions (
    transaction_id text NOT NULL, account_id text NOT NULL REFERENCES accounts,
    sequence bigint NOT NULL, previous bigint, type text NOT NULL,
    balance_before bigint NOT NULL, amount bigint NOT NULL, balance_after bigint NOT NULL,
    server_id text, project_id text, hour bigint, seconds integer,
    description text NOT NULL, reference text, created_at bigint NOT NULL,
    PRIMARY KEY (account_id, sequence), UNIQUE (account_id, sequence, balance_after),
    CHECK (type IN ('charge', 'payment', 'refund', 'correction')),
    CHECK (balance_after = balance_before + amount),
    CHECK ((sequence = 1 AND previous IS NULL AND balance_before = 0) OR (previous IS NOT NULL AND previous = sequence - 1)),
    CHECK (type <> 'charge' OR (amount <= 0 AND server_id IS NOT NULL AND project_id IS NOT NULL AND hour IS NOT NULL AND seconds > 0)),
    FOREIGN KEY (account_id, previous, balance_before) REFERENCES transactions (account_id, sequence, balance_after))`,
  // Their order is that of their ids; the first entry of an account led from a balance of 0.
  `INSERT INTO transactions
    SELECT transaction_id, account_id, sequence, CASE WHEN sequence > 1 THEN sequence - 1 END, type,
      balance_after - amount, amount, balance_after, server_id, NULL, NULL, NULL, description, reference, created_at
    FROM (SELECT transactions_before.*, row_number() OVER (PARTITION BY account_id ORDER BY transaction_id) AS sequence
      FROM transactions_before) AS numbered ORDER BY account_id, sequence`,
  `DROP TABLE transactions_before`,
  `CREATE UNIQUE INDEX transactions_reference ON transactions (account_id, reference) WHERE reference IS NOT NULL`,
  // At most one charge for a server and hour. By hour first: what is charged together is written together.
  `CREATE UNIQUE INDEX transactions_hour ON transactions (hour, server_id) WHERE hour IS NOT NULL`,
  `CREATE INDEX transactions_usage ON transactions (account_id, hour) WHERE hour IS NOT NULL`,

  `CREATE TABLE ledgers (
    account_id text PRIMARY KEY REFERENCES accounts, sequence bigint, balance bigint NOT NULL,
    low_since bigint, depleted_since bigint,
    CHECK (sequence IS NOT NULL OR balance = 0),
    FOREIGN KEY (account_id, sequence, balance) REFERENCES transactions (account_id, sequence, balance_after))`,
  `INSERT INTO ledgers
    SELECT account_id, (SELECT max(sequence) FROM transactions WHERE transactions.account_id = accounts.account_id),
      balance, NULL, NULL FROM accounts`,
  `ALTER TABLE accounts DROP COLUMN balance`,
  `CREATE INDEX ledgers_depleted ON ledgers (depleted_since) WHERE depleted_since IS NOT NULL`,

  // The hourly cost of a server over a period. Times between two rates are not billed.
  `CREATE TABLE rates (
    server_id text NOT NULL REFERENCES servers, starts_at bigint NOT NULL, ends_at bigint,
    account_id text NOT NULL, price_hour bigint NOT NULL, price_month bigint NOT NULL,
    PRIMARY KEY (server_id, starts_at), CHECK (ends_at IS NULL OR ends_at > starts_at))`,
  `CREATE UNIQUE INDEX rates_open ON rates (server_id) WHERE ends_at IS NULL`,
  `CREATE INDEX rates_account ON rates (account_id) WHERE ends_at IS NULL`,
  // The time up to which a server is charged, and when it is due next.
  `CREATE TABLE billing_meters (
    server_id text PRIMARY KEY REFERENCES servers, account_id text NOT NULL,
    charged_until bigint NOT NULL, due_at bigint)`,
  `CREATE INDEX billing_meters_due ON billing_meters (due_at) WHERE due_at IS NOT NULL`,
  `ALTER TABLE servers ADD COLUMN priced_at bigint NOT NULL DEFAULT 0`,
  `ALTER TABLE servers ADD COLUMN suspended_from text`,
  `UPDATE servers SET priced_at = created_at`,
  `CREATE INDEX servers_priced ON servers (zone_slug, cpu_type, priced_at) WHERE deleted_at IS NULL`,

  `CREATE TABLE events (
    event_id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, type text NOT NULL, data text NOT NULL,
    created_at bigint NOT NULL)`,
  `CREATE INDEX events_account ON events (account_id, event_id)`,
]
