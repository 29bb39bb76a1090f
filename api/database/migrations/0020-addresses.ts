import { type Kysely, sql } from 'kysely'

/**
 * Public addresses of servers. They are billed as servers are: what is billed need not be a server any more, so the
 * tables of rates and meters are made anew without that foreign key.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  `CREATE TABLE addresses (
    address_id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts, project_id text NOT NULL,
    zone_slug text NOT NULL, family text NOT NULL, address text NOT NULL, server_id text, goes_with text,
    reverse_dns text, price_month bigint NOT NULL, price_hour bigint NOT NULL,
    created_at bigint NOT NULL, updated_at bigint NOT NULL, released_at bigint
  )`,
  // Nobody has an address that somebody has, and a server has one of each family.
  `CREATE UNIQUE INDEX addresses_held ON addresses (address) WHERE released_at IS NULL`,
  `CREATE UNIQUE INDEX addresses_server ON addresses (server_id, family) WHERE server_id IS NOT NULL`,
  `CREATE INDEX addresses_address ON addresses (address)`,
  `CREATE INDEX addresses_account ON addresses (account_id, address_id) WHERE released_at IS NULL`,
  `CREATE INDEX addresses_released ON addresses (released_at) WHERE released_at IS NOT NULL`,
  `ALTER TABLE servers ADD COLUMN ipv4 text`,
  `ALTER TABLE servers ADD COLUMN ipv6 text`,

  `ALTER TABLE rates RENAME TO rates_before`,
  `CREATE TABLE rates (
    server_id text NOT NULL, starts_at bigint NOT NULL, ends_at bigint,
    account_id text NOT NULL, price_hour bigint NOT NULL, price_month bigint NOT NULL,
    PRIMARY KEY (server_id, starts_at), CHECK (ends_at IS NULL OR ends_at > starts_at))`,
  `INSERT INTO rates SELECT server_id, starts_at, ends_at, account_id, price_hour, price_month FROM rates_before`,
  `DROP TABLE rates_before`,
  `CREATE UNIQUE INDEX rates_open ON rates (server_id) WHERE ends_at IS NULL`,
  `CREATE INDEX rates_account ON rates (account_id) WHERE ends_at IS NULL`,
  `CREATE INDEX rates_ended ON rates (ends_at) WHERE ends_at IS NOT NULL`,
  `ALTER TABLE billing_meters RENAME TO billing_meters_before`,
  `CREATE TABLE billing_meters (
    server_id text PRIMARY KEY, account_id text NOT NULL, charged_until bigint NOT NULL, due_at bigint)`,
  `INSERT INTO billing_meters SELECT server_id, account_id, charged_until, due_at FROM billing_meters_before`,
  `DROP TABLE billing_meters_before`,
  `CREATE INDEX billing_meters_due ON billing_meters (due_at) WHERE due_at IS NOT NULL`,
]
