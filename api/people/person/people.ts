import { v7 as uuid } from 'uuid'
import type { Clock } from '../../clock.ts'
import type { Queries } from '../../database/database.ts'
import { contains, type Page, pageOf } from '../../database/page.ts'
import type { Actor } from '../../http/contract/auth.ts'
import { currentOrigin, onBehalfOf } from '../../http/limits/origin.ts'
import { sessionEnded } from './sessions.ts'
import type { PersonTable } from './tables.ts'

/** Upper and lower case make no difference in an address. */
export function canonicalEmail(email: string): string {
  return email.normalize('NFC').toLowerCase()
}

export function personByEmail(db: Queries, email: string): Promise<PersonTable | undefined> {
  return db.selectFrom('people').selectAll().where('email', '=', email).executeTakeFirst()
}

export function personById(db: Queries, personId: string): Promise<PersonTable | undefined> {
  return db.selectFrom('people').selectAll().where('person_id', '=', personId).executeTakeFirst()
}

/** Finds a person who has a session. @throws ApiError session_ended if they have deleted themselves meanwhile */
export async function findPerson(db: Queries, personId: string): Promise<PersonTable> {
  const person = await personById(db, personId)
  if (!person) throw sessionEnded(personId)
  return person
}

export type NewPerson = Pick<PersonTable, 'email' | 'name' | 'language' | 'password'> &
  Partial<Pick<PersonTable, 'terms_version' | 'terms_accepted_at'>>

/** @returns null if the address is taken */
export async function createPerson(
  tx: Queries,
  clock: Clock,
  person: NewPerson,
): Promise<PersonTable | null> {
  const row: PersonTable = {
    person_id: uuid(),
    terms_version: null,
    terms_accepted_at: null,
    ...person,
    is_operator: 0,
    muted_mails: '',
    places: '[]',
    created_at: clock.now(),
  }
  const { numInsertedOrUpdatedRows = 0n } = await tx
    .insertInto('people')
    .values(row)
    .onConflict((conflict) => conflict.column('email').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n ? row : null
}

export async function updatePerson(
  db: Queries,
  personId: string,
  change: Partial<
    Pick<PersonTable, 'name' | 'language' | 'muted_mails' | 'terms_version' | 'terms_accepted_at'>
  >,
): Promise<void> {
  await db.updateTable('people').set(change).where('person_id', '=', personId).execute()
}

/** Lists a page of all people, newest first, or of those who have the text in their name or address. */
export function searchPeople(
  db: Queries,
  { search = '', operators = false }: { search?: string; operators?: boolean },
  page: Page,
) {
  let people = db.selectFrom('people').selectAll().orderBy('person_id', 'desc')
  if (search) people = people.where(contains(search, 'email', 'name'))
  if (operators) people = people.where('is_operator', '=', 1)
  return pageOf(people, page)
}

export async function setOperator(db: Queries, personId: string, isOperator: boolean): Promise<void> {
  const role = { is_operator: Number(isOperator) }
  await db.updateTable('people').set(role).where('person_id', '=', personId).execute()
}

export async function setPassword(tx: Queries, personId: string, password: string): Promise<void> {
  await tx.updateTable('people').set({ password }).where('person_id', '=', personId).execute()
}

/** Notes the places from which a person signed in. @param places JSON, as the table has it */
export async function setPlaces(tx: Queries, personId: string, places: string): Promise<void> {
  await tx.updateTable('people').set({ places }).where('person_id', '=', personId).execute()
}

/** The person's part of the account's profile. */
export async function personOf(db: Queries, { person }: Pick<Actor, 'person'>) {
  if (!person) return null
  const { name, is_operator } = await findPerson(db, person.personId)
  const { personId: person_id, email, role } = person
  return { person_id, email, name, role, is_operator: is_operator === 1 }
}

/** Records the following changes as the person's own, even if they were not signed in when the request arrived. */
export function asPerson<Result>(
  { person_id: personId, email }: PersonTable,
  run: () => Promise<Result>,
): Promise<Result> {
  const origin = currentOrigin()
  return origin ? onBehalfOf({ ...origin, person: { personId, email } }, run) : run()
}
