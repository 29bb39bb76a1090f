import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { ApiError, httpProblems } from '../../http/contract/problem.ts'
import type { Visit } from '../../http/contract/route.ts'
import { networkOf } from '../../http/limits/rate-limit.ts'
import { countMails, MOST_WAITING } from '../../mail/queue.ts'
import type { Peers } from '../../processes/peers.ts'
import { canonicalEmail } from '../person/people.ts'
import { Attempts, NetworkAttempts } from './attempts.ts'
import type { KnownPlaces } from './known-places.ts'

const MINUTE = 60_000

/** Limits the mails that strangers can cause to be sent to an address. */
export class MailBounds {
  readonly #db: Database
  readonly #known: KnownPlaces
  readonly #byNetwork: NetworkAttempts
  readonly #byEmail: Attempts
  /** The limit of mails to one address from one network, so that strangers elsewhere do not use up the person's own. */
  readonly #byBoth: Attempts

  constructor(options: { db: Database; clock: Clock; peers: Pick<Peers, 'answering'> }, known: KnownPlaces) {
    this.#db = options.db
    this.#known = known
    this.#byNetwork = new NetworkAttempts(options, { burst: 10, everyMs: 2 * MINUTE })
    this.#byEmail = new Attempts(options, 'mails to', { burst: 12, everyMs: 5 * MINUTE })
    this.#byBoth = new Attempts(options, 'mails from to', { burst: 3, everyMs: 10 * MINUTE })
  }

  /**
   * Counts a mail before it is known whether anybody has the address.
   * @returns the address as it is kept
   * @throws ApiError rate_limited, backend_unavailable
   */
  async take(given: string, visit: Visit): Promise<string> {
    const email = canonicalEmail(given)
    // The narrow limits come first, so that mails that they refuse do not count for others.
    this.#byNetwork.take(visit.address)
    await this.#byBoth.take(`${networkOf(visit.address)} ${email}`)
    await this.#known.take(this.#byEmail, email, visit.address)
    if ((await countMails(this.#db)) < MOST_WAITING) return email
    throw new ApiError(
      httpProblems.backend_unavailable,
      'No mails can be sent right now. Try again later.',
      {},
      { 'retry-after': '600' },
    )
  }
}
