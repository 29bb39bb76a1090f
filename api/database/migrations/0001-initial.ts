import type { Kysely } from 'kysely'
import { sql } from 'kysely'

/** Kysely's migrations see no schema type: the tables do not exist yet. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE accounts (
    account_id text PRIMARY KEY, email text NOT NULL UNIQUE, name text NOT NULL, status text NOT NULL,
    default_project_id text NOT NULL, quotas text NOT NULL,
    servers_used integer NOT NULL, cpu_used integer NOT NULL, ram_mb_used bigint NOT NULL, disk_gb_used bigint NOT NULL,
    balance bigint NOT NULL, created_at bigint NOT NULL)`,

  `CREATE TABLE tokens (
    token_id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, name text NOT NULL,
    hash text NOT NULL UNIQUE, scopes text NOT NULL,
    expires_at bigint, revoked_at bigint, last_used_at bigint, created_at bigint NOT NULL)`,
  `CREATE INDEX tokens_account ON tokens (account_id, token_id)`,

  `CREATE TABLE projects (
    project_id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, name text NOT NULL, description text,
    server_count integer NOT NULL, created_at bigint NOT NULL, updated_at bigint NOT NULL)`,
  `CREATE INDEX projects_account ON projects (account_id, project_id)`,

  `CREATE TABLE ssh_keys (
    ssh_key_id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, name text NOT NULL,
    public_key text NOT NULL, fingerprint text NOT NULL, key_type text NOT NULL, created_at bigint NOT NULL,
    UNIQUE (account_id, fingerprint))`,
  `CREATE INDEX ssh_keys_account ON ssh_keys (account_id, ssh_key_id)`,

  `CREATE TABLE transactions (
    transaction_id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, type text NOT NULL,
    amount bigint NOT NULL, balance_after bigint NOT NULL, server_id text, description text NOT NULL,
    reference text, created_at bigint NOT NULL, UNIQUE (account_id, reference))`,
  `CREATE INDEX transactions_account ON transactions (account_id, transaction_id)`,

  `CREATE TABLE servers (
    server_id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, project_id text NOT NULL,
    name text NOT NULL, description text, zone_slug text NOT NULL, status text NOT NULL, status_reason text,
    plan_type text NOT NULL, cpu_type text NOT NULL, preset_id text,
    cpu integer NOT NULL, ram_mb integer NOT NULL, disk_gb integer NOT NULL, template_id text NOT NULL,
    ssh_keys text NOT NULL, user_data text, password text, labels text NOT NULL, delete_protection integer NOT NULL,
    price_month bigint NOT NULL, price_hour bigint NOT NULL, mac text NOT NULL, ssh_port integer, host_keys text NOT NULL,
    has_disk integer NOT NULL, crash_count integer NOT NULL, crashed_at bigint,
    billed_since bigint, started_at bigint, created_at bigint NOT NULL, updated_at bigint NOT NULL, deleted_at bigint)`,
  // Deleted servers leave the indexes that requests walk.
  `CREATE INDEX servers_account ON servers (account_id, server_id) WHERE deleted_at IS NULL`,
  `CREATE UNIQUE INDEX servers_ssh_port ON servers (ssh_port) WHERE ssh_port IS NOT NULL`,
  `CREATE INDEX servers_status ON servers (status) WHERE deleted_at IS NULL`,

  `CREATE TABLE operations (
    operation_id text PRIMARY KEY, account_id text NOT NULL, server_id text NOT NULL REFERENCES servers,
    type text NOT NULL, status text NOT NULL, step text NOT NULL, progress integer NOT NULL, data text NOT NULL,
    error_code text, error_message text, attempt integer NOT NULL, next_run_at bigint NOT NULL, deadline_at bigint NOT NULL,
    lease_owner text, lease_until bigint NOT NULL, created_at bigint NOT NULL, started_at bigint, finished_at bigint)`,
  // The promise "one active operation per server" is the database's, not the program's.
  `CREATE UNIQUE INDEX operations_active ON operations (server_id) WHERE status IN ('pending', 'running')`,
  `CREATE INDEX operations_due ON operations (next_run_at) WHERE status IN ('pending', 'running')`,
  `CREATE INDEX operations_leased ON operations (server_id, lease_until) WHERE lease_until > 0`,
  `CREATE INDEX operations_server ON operations (server_id, operation_id)`,

  `CREATE TABLE idempotency_keys (
    account_id text NOT NULL REFERENCES accounts, scope text NOT NULL, key text NOT NULL, request text NOT NULL,
    reply text, made_id text, claimed_until bigint NOT NULL, created_at bigint NOT NULL,
    PRIMARY KEY (account_id, scope, key))`,
  `CREATE INDEX idempotency_keys_age ON idempotency_keys (account_id, created_at)`,

  `CREATE TABLE pool_usage (
    pool text PRIMARY KEY, cpu bigint NOT NULL, ram_mb bigint NOT NULL, disk_gb bigint NOT NULL)`,
]
