import { v7 as uuid } from 'uuid'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import type { Actor, SignedIn } from '../../http/contract/auth.ts'
import { invalid } from '../../http/contract/problem.ts'
import { type Passwords, passwordIssues } from '../guard/passwords.ts'
import { type Notify, noteChange } from '../letters/notices.ts'
import { membershipsOf } from '../membership/members.ts'
import { identityOf } from '../provider/store.ts'
import { showTwoFactor } from '../two-factor/enrollment.ts'
import type { Person } from './schema.ts'
import { endSessions, requireSession, sessionEnded } from './sessions.ts'
import type { PersonTable } from './tables.ts'
import { personView } from './view.ts'

/** Addresses are the same person's in whatever letters they are written. */
export function canonicalEmail(email: string): string {
  return email.normalize('NFC').toLowerCase()
}

export function personByEmail(db: Queries, email: string): Promise<PersonTable | undefined> {
  return db.selectFrom('people').selectAll().where('email', '=', email).executeTakeFirst()
}

export function personById(db: Queries, personId: string): Promise<PersonTable | undefined> {
  return db.selectFrom('people').selectAll().where('person_id', '=', personId).executeTakeFirst()
}

/** Who was let in. @throws ApiError session_ended where she has deleted herself meanwhile */
export async function findPerson(db: Queries, personId: string): Promise<PersonTable> {
  const person = await personById(db, personId)
  if (!person) throw sessionEnded(personId)
  return person
}

/** @returns null where somebody has the address already */
export async function createPerson(
  tx: Queries,
  clock: Clock,
  person: Pick<PersonTable, 'email' | 'name' | 'language' | 'password'>,
): Promise<PersonTable | null> {
  const row: PersonTable = { person_id: uuid(), ...person, is_operator: 0, created_at: clock.now() }
  const { numInsertedOrUpdatedRows = 0n } = await tx
    .insertInto('people')
    .values(row)
    .onConflict((conflict) => conflict.column('email').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n ? row : null
}

/** What a person sees of herself. */
export async function showPerson(db: Queries, signedIn: SignedIn): Promise<Person> {
  const person = await findPerson(db, signedIn.personId)
  const memberships = await membershipsOf(db, signedIn.personId)
  const issuer = (await identityOf(db, signedIn.personId))?.issuer ?? null
  const twoFactor = await showTwoFactor(db, signedIn.personId)
  return personView(person, signedIn, memberships, { twoFactor, issuer })
}

export async function updatePerson(
  db: Queries,
  personId: string,
  change: Partial<Pick<PersonTable, 'name' | 'language'>>,
): Promise<void> {
  const { name, language } = change
  const given = { ...(name === undefined ? {} : { name }), ...(language === undefined ? {} : { language }) }
  await db.updateTable('people').set(given).where('person_id', '=', personId).execute()
}

export function listPeople(db: Queries): Promise<PersonTable[]> {
  return db.selectFrom('people').selectAll().orderBy('email').execute()
}

export async function setOperator(db: Queries, personId: string, isOperator: boolean): Promise<void> {
  const role = { is_operator: Number(isOperator) }
  await db.updateTable('people').set(role).where('person_id', '=', personId).execute()
}

/**
 * Changes the password of a person who has shown that it is she; whoever else is signed in as her is so no longer.
 * @throws ApiError validation_failed, session_ended
 */
export async function changePassword(
  { db, passwords, ...notify }: Notify & { db: Database; passwords: Passwords },
  { person, sessionId, chosen }: { person: PersonTable; sessionId: string; chosen: string },
): Promise<void> {
  await requireGoodPassword('new_password', chosen, person)
  const password = await passwords.hash(chosen)
  await db.transaction().execute(async (tx) => {
    await requireSession(tx, { personId: person.person_id, sessionId })
    await setPassword(tx, person.person_id, password)
    await endSessions(tx, person.person_id, sessionId)
    await noteChange(tx, notify, person, 'password_changed')
  })
  notify.mailed()
}

export async function setPassword(tx: Queries, personId: string, password: string): Promise<void> {
  await tx.updateTable('people').set({ password }).where('person_id', '=', personId).execute()
}

/** @throws ApiError validation_failed */
export async function requireGoodPassword(
  field: string,
  password: string,
  { email, name }: Pick<PersonTable, 'email' | 'name'>,
): Promise<void> {
  const own = [...email.split(/[@.]/), email, ...name.split(' ')]
  const issues = await passwordIssues(field, password, own)
  if (issues.length > 0) throw invalid(issues)
}

/** What the account's profile shows of the person who asks. */
export async function personOf(db: Queries, { person }: Pick<Actor, 'person'>) {
  if (!person) return null
  const { name, is_operator } = await findPerson(db, person.personId)
  const { personId: person_id, email, role } = person
  return { person_id, email, name, role, is_operator: is_operator === 1 }
}
