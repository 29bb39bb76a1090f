import { type Kysely, sql } from 'kysely'

/** Adds the makers of invitations, who must still be allowed to invite when an invitation is accepted. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const statements = [
  'ALTER TABLE invitations ADD COLUMN person_id text',
  'ALTER TABLE invitations ADD COLUMN token_id text',
  `UPDATE invitations SET person_id = (SELECT people.person_id FROM people WHERE people.email = invitations.invited_by)
    WHERE invited_by IS NOT NULL`,
]
