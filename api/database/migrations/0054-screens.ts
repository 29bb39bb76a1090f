import { type Kysely, sql } from 'kysely'

/** Tickets for the screens of servers, besides those for serial consoles. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw("ALTER TABLE console_tickets ADD COLUMN kind text NOT NULL DEFAULT 'console'").execute(db)
}
