import { type Kysely, sql } from 'kysely'

/** Payments that are charged in another currency than rubles, at a rate that is kept with them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE payments ADD COLUMN charge_currency text',
  'ALTER TABLE payments ADD COLUMN charge_amount bigint',
  'ALTER TABLE payments ADD COLUMN charge_rate bigint',
  'ALTER TABLE payment_returns ADD COLUMN charge_amount bigint',
]
