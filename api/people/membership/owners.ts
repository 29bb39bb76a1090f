import type { SelectQueryBuilder } from 'kysely'
import type { Queries } from '../../database/database.ts'
import type { Schema } from '../../database/schema.ts'
import type { PersonTable } from '../person/tables.ts'

/**
 * Returns the next recipients for the accounts of a query: owners who did not mute announcements, and contact
 * addresses of accounts without people. Each address appears once, in alphabetical order.
 * @param after the last address of the part before
 */
export async function ownersAfter(
  db: Queries,
  accounts: SelectQueryBuilder<Schema, 'accounts', object>,
  after: string,
  limit: number,
): Promise<Pick<PersonTable, 'email' | 'language'>[]> {
  const owners = db
    .selectFrom('members')
    .select('person_id')
    .where('role', '=', 'owner')
    .where('account_id', 'in', accounts.clearSelect().select('account_id'))
  const people = db
    .selectFrom('people')
    .select(['email', 'language'])
    .where('email', '>', after)
    .where('muted_mails', 'not like', '%announcements%')
    .where('person_id', 'in', owners)
  const contacts = accounts
    .clearSelect()
    .select(({ val }) => ['email', val<PersonTable['language']>('en').as('language')])
    .where('email', '>', after)
    .where('email', 'not like', '%.invalid')
    .where('account_id', 'not in', db.selectFrom('members').select('members.account_id'))
    .where('email', 'not in', db.selectFrom('people').select('people.email'))
  return people.unionAll(contacts).orderBy('email').limit(limit).execute()
}
