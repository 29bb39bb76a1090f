import type { Kysely } from 'kysely'
import { sql } from 'kysely'

/**
 * Events get the position at which readers meet them, webhooks and what they are sent, and the record of who changed
 * what.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `ALTER TABLE events ADD COLUMN position bigint`,
  `DROP INDEX events_account`,
  `CREATE UNIQUE INDEX events_position ON events (position) WHERE position IS NOT NULL`,
  `CREATE INDEX events_account ON events (account_id, position)`,
  `CREATE INDEX events_unnumbered ON events (event_id) WHERE position IS NULL`,
  // There is one row, and the transaction that holds it assigns positions.
  `CREATE TABLE event_relay (relay_id integer PRIMARY KEY, position bigint NOT NULL, CHECK (relay_id = 1))`,
  `INSERT INTO event_relay VALUES (1, 0)`,

  `CREATE TABLE audit (
    audit_id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, action text NOT NULL,
    object_type text NOT NULL, object_id text, token_id text, address text, request_id text NOT NULL,
    created_at bigint NOT NULL, UNIQUE (request_id, account_id))`,
  `CREATE INDEX audit_account ON audit (account_id, audit_id)`,
  `CREATE INDEX audit_age ON audit (created_at)`,

  `CREATE TABLE webhooks (
    webhook_id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, name text NOT NULL, url text NOT NULL,
    event_types text NOT NULL, secret text NOT NULL, is_enabled integer NOT NULL, disabled_reason text,
    next_run_at bigint, lease_owner text, lease_until bigint NOT NULL, created_at bigint NOT NULL)`,
  `CREATE INDEX webhooks_account ON webhooks (account_id, webhook_id)`,
  `CREATE INDEX webhooks_due ON webhooks (next_run_at) WHERE next_run_at IS NOT NULL`,

  // A test goes before everything else: is_first.
  `CREATE TABLE deliveries (
    delivery_id text PRIMARY KEY, webhook_id text NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    event_id text NOT NULL, event_type text NOT NULL, is_first integer NOT NULL, position bigint NOT NULL,
    status text NOT NULL, attempts text NOT NULL, created_at bigint NOT NULL,
    UNIQUE (webhook_id, position))`,
  `CREATE INDEX deliveries_pending ON deliveries (webhook_id, is_first DESC, position) WHERE status = 'pending'`,
  `CREATE INDEX deliveries_age ON deliveries (created_at)`,
]
