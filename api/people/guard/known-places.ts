import type { Database } from '../../database/database.ts'
import { ApiError } from '../../http/contract/problem.ts'
import { networkOf } from '../../http/limits/rate-limit.ts'
import { Recent } from '../../http/limits/recent.ts'
import { addressesOf } from '../person/sessions.ts'
import type { Attempts } from './attempts.ts'
import { type Source, strangerAt } from './password-queue.ts'

const MOST_KNOWN = 100_000

/**
 * The networks from which people sign in. A person can still sign in there while attempts by strangers use up the
 * limit.
 */
export class KnownPlaces {
  readonly #db: Database
  /** The networks since the start, including those of people who have signed out. */
  readonly #recent = new Recent<true>(MOST_KNOWN)

  constructor(db: Database) {
    this.#db = db
  }

  /** Records that a person has signed in from a network. */
  note(email: string, address: string): void {
    this.#recent.set(keyOf(email, address), true)
  }

  /**
   * Counts an attempt against the person's overall limit. Once that is used up, it still admits networks where the
   * person is known.
   * The caller must also limit attempts per person and network.
   * @returns true if it was counted
   * @throws ApiError rate_limited
   */
  async take(attempts: Attempts, email: string, address: string): Promise<boolean> {
    try {
      await attempts.take(email)
      return true
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (await this.#isKnown(email, address)) return false
      throw error
    }
  }

  /** Returns the source of an attempt at the password of a person, who may not exist. */
  async sourceOf(email: string, address: string): Promise<Source> {
    return (await this.#isKnown(email, address)) ? { key: email, isKnown: true } : strangerAt(address)
  }

  async #isKnown(email: string, address: string): Promise<boolean> {
    if (this.#recent.get(keyOf(email, address))) return true
    const addresses = await addressesOf(this.#db, email)
    return addresses.some((one) => networkOf(one) === networkOf(address))
  }
}

function keyOf(email: string, address: string): string {
  return `${networkOf(address)} ${email}`
}
