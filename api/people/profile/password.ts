import type { SignedIn } from '../../http/contract/auth.ts'
import { signedInSource } from '../guard/password-queue.ts'
import { type Passwords, requireGoodPassword } from '../guard/passwords.ts'
import type { Notify } from '../letters/notices.ts'
import { noteChange } from '../letters/notices.ts'
import { setPassword } from '../person/people.ts'
import { endSessions } from '../person/sessions.ts'
import type { PersonTable } from '../person/tables.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'

/**
 * Changes the password of a person who has proven who they are, and ends all their other sessions.
 * @throws ApiError validation_failed, session_ended, wrong_code, rate_limited
 */
export async function changePassword(
  { passwords, twoFactor, ...notify }: Notify & { passwords: Passwords; twoFactor: TwoFactor },
  signedIn: SignedIn,
  { person, code, chosen }: { person: PersonTable; code: string | undefined; chosen: string },
): Promise<void> {
  await requireGoodPassword('new_password', chosen, person)
  const password = await passwords.hash(chosen, signedInSource(person))
  await twoFactor.confirmed(signedIn, { person, code }, async (tx) => {
    await setPassword(tx, person.person_id, password)
    await endSessions(tx, person.person_id, signedIn.sessionId)
    await noteChange(tx, notify, person, 'password_changed')
  })
}
