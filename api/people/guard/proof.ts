import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import type { SignedIn } from '../../http/contract/auth.ts'
import { ApiError, bodyIssue, invalid } from '../../http/contract/problem.ts'
import { findPerson } from '../person/people.ts'
import { peopleProblems } from '../person/schema.ts'
import { sessionStart } from '../person/sessions.ts'
import type { PersonTable } from '../person/tables.ts'
import { Attempts } from './attempts.ts'
import { signedInSource } from './password-queue.ts'
import type { Passwords } from './passwords.ts'

const MINUTE = 60_000
/** A person without a password must have signed in this recently. */
const RECENT_MS = 10 * MINUTE

/** Errors of every route that calls `Proof.require`. */
export const proofErrors = [peopleProblems.wrong_password, peopleProblems.sign_in_again] as const

/** Asks people for their password again before they change how they sign in, since a session may be stolen. */
export class Proof {
  readonly #db: Database
  readonly #clock: Clock
  readonly #passwords: Passwords
  readonly #byPerson: Attempts

  constructor({ db, clock, passwords }: { db: Database; clock: Clock; passwords: Passwords }) {
    this.#db = db
    this.#clock = clock
    this.#passwords = passwords
    this.#byPerson = new Attempts({ db, clock }, 'proofs', { burst: 20, everyMs: 3 * MINUTE })
  }

  /**
   * @param field the name of the password's field in the request
   * @throws ApiError wrong_password, sign_in_again, validation_failed, rate_limited
   */
  async require(
    { personId, sessionId }: SignedIn,
    password: string | undefined,
    field: string,
  ): Promise<PersonTable> {
    // This also counts correct passwords, because each change sends a mail.
    await this.#byPerson.take(personId)
    const person = await findPerson(this.#db, personId)
    if (person.password === null) {
      await requireRecent(this.#db, this.#clock, sessionId)
      return person
    }
    if (password === undefined) throw invalid([bodyIssue(field, 'required', `${field} is required.`)])
    if (!(await this.#passwords.matches(password, person.password, signedInSource(person))))
      throw new ApiError(peopleProblems.wrong_password, 'The current password is wrong. Try again.')
    return person
  }
}

/** Requires a recent sign-in. @throws ApiError sign_in_again */
export async function requireRecent(db: Queries, clock: Clock, sessionId: string): Promise<void> {
  if ((await sessionStart(db, sessionId)) > clock.now() - RECENT_MS) return
  throw new ApiError(
    peopleProblems.sign_in_again,
    'This requires a recent sign-in. Sign out, sign in again, and retry within 10 minutes.',
  )
}
