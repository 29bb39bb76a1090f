import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

const KEYS = {
  links: 'hash',
  device_logins: 'device_hash',
  invitations: 'invitation_id',
  spent_tickets: 'ticket_id',
  attempts: 'attempt_key',
} as const

const tables = Object.keys(KEYS) as (keyof typeof KEYS)[] // a constant has no other keys

/** The cleaning of tables whose rows have the time at which they expire. */
export const expired = Object.fromEntries(
  tables.map((table) => [
    table,
    { days: 0, delete: (db: Database, now: number, limit: number) => forgetExpired(db, table, now, limit) },
  ]),
)

/** Deletes some of the rows that have expired. @returns the number deleted */
export async function forgetExpired(
  db: Database,
  table: keyof typeof KEYS,
  now: number,
  limit: number,
): Promise<number> {
  const key = sql.ref(KEYS[table])
  const old = sql`SELECT ${key} FROM ${sql.table(table)} WHERE expires_at <= ${now} LIMIT ${limit}`
  const { numAffectedRows = 0n } =
    await sql`DELETE FROM ${sql.table(table)} WHERE ${key} IN (${old})`.execute(db)
  return Number(numAffectedRows)
}
