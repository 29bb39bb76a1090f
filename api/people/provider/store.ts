import type { Queries } from '../../database/database.ts'
import type { IdentityTable } from '../person/tables.ts'

export function identityOf(db: Queries, personId: string): Promise<IdentityTable | undefined> {
  return db.selectFrom('identities').selectAll().where('person_id', '=', personId).executeTakeFirst()
}
