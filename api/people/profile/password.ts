import type { Database } from '../../database/database.ts'
import { signedInSource } from '../guard/password-queue.ts'
import { type Passwords, requireGoodPassword } from '../guard/passwords.ts'
import type { Notify } from '../letters/notices.ts'
import { noteChange } from '../letters/notices.ts'
import { setPassword } from '../person/people.ts'
import { endSessions, requireSession } from '../person/sessions.ts'
import type { PersonTable } from '../person/tables.ts'

/**
 * Changes the password of a person who has proven who they are, and ends all their other sessions.
 * @throws ApiError validation_failed, session_ended
 */
export async function changePassword(
  { db, passwords, ...notify }: Notify & { db: Database; passwords: Passwords },
  { person, sessionId, chosen }: { person: PersonTable; sessionId: string; chosen: string },
): Promise<void> {
  await requireGoodPassword('new_password', chosen, person)
  const password = await passwords.hash(chosen, signedInSource(person))
  await db.transaction().execute(async (tx) => {
    await requireSession(tx, { personId: person.person_id, sessionId })
    await setPassword(tx, person.person_id, password)
    await endSessions(tx, person.person_id, sessionId)
    await noteChange(tx, notify, person, 'password_changed')
  })
  notify.mailed()
}
