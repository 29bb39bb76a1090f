import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

const KEYS = {
  links: 'hash',
  device_logins: 'device_hash',
  invitations: 'invitation_id',
  spent_tickets: 'ticket_id',
  attempts: 'attempt_key',
} as const

/** Tables whose rows say themselves when they end. */
export const expiring = Object.keys(KEYS) as (keyof typeof KEYS)[]

/** Deletes some of the rows whose time is over; @returns how many */
export async function forgetExpired(
  db: Database,
  table: (typeof expiring)[number],
  now: number,
  limit: number,
): Promise<number> {
  const key = sql.ref(KEYS[table])
  const old = sql`SELECT ${key} FROM ${sql.table(table)} WHERE expires_at <= ${now} LIMIT ${limit}`
  const { numAffectedRows = 0n } =
    await sql`DELETE FROM ${sql.table(table)} WHERE ${key} IN (${old})`.execute(db)
  return Number(numAffectedRows)
}
