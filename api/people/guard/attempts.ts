import { hash } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { ApiError, httpProblems } from '../../http/contract/problem.ts'
import { networkOf, siteOf } from '../../http/limits/rate-limit.ts'
import { Recent } from '../../http/limits/recent.ts'
import type { Peers } from '../../processes/peers.ts'

const MOST_KEYS = 100_000
/** A refusal is repeated for this long without asking the database, so that further attempts cause no writes. */
const REFUSED_MS = 1_000
/** Allowance for differences between clocks of processes, and for statements that arrive late. */
const SKEW_MS = 60_000

interface Allowance {
  /** Number of attempts that are allowed at once. */
  burst: number
  /** Time until one more attempt is allowed. */
  everyMs: number
}

/**
 * Limits attempts by key, such as passwords of a person and mails to an address, in the database for all processes
 * together. There is one row for each key with recent attempts, with the time at which they are all forgotten.
 */
export class Attempts {
  readonly #db: Database
  readonly #clock: Clock
  readonly #name: string
  readonly #allowance: Allowance
  /** Refused keys, with the time at which each is checked again. */
  readonly #refused = new Recent<{ until: number; waitMs: number }>(MOST_KEYS)

  /** @param name the name of the limit */
  constructor({ db, clock }: { db: Database; clock: Clock }, name: string, allowance: Allowance) {
    this.#db = db
    this.#clock = clock
    this.#name = name
    this.#allowance = allowance
  }

  /**
   * Counts an attempt.
   * @throws ApiError rate_limited
   */
  async take(key: string): Promise<void> {
    const now = this.#clock.now()
    const refused = this.#refused.get(key)
    if (refused && refused.until > now && refused.until <= now + REFUSED_MS) throw tooMany(refused.waitMs)
    const waitMs = await this.#count(key, now)
    if (waitMs <= 0) return
    this.#refused.set(key, { until: now + Math.min(waitMs, REFUSED_MS), waitMs })
    throw tooMany(waitMs)
  }

  /** Stops counting an attempt that succeeded. */
  async giveBack(key: string): Promise<void> {
    this.#refused.delete(key)
    await this.#db
      .updateTable('attempts')
      .set((eb) => ({ expires_at: eb('expires_at', '-', this.#allowance.everyMs) }))
      .where('attempt_key', '=', this.#rowOf(key))
      .execute()
  }

  /**
   * Counts an attempt with one statement if the limit allows, so that simultaneous attempts cannot exceed it. @returns
   * the time to wait
   */
  async #count(key: string, now: number): Promise<number> {
    const { burst, everyMs } = this.#allowance
    const attempt_key = this.#rowOf(key)
    const most = now + burst * everyMs
    // A row that ends later than any limit allows was written before the clock was set back.
    const latest = most + SKEW_MS
    const taken = await this.#db
      .insertInto('attempts')
      .values({ attempt_key, expires_at: now + everyMs })
      .onConflict((conflict) =>
        conflict
          .column('attempt_key')
          .doUpdateSet((eb) => ({
            expires_at: eb
              .case()
              .when(eb.or([eb('attempts.expires_at', '<', now), eb('attempts.expires_at', '>', latest)]))
              .then(now + everyMs)
              .else(eb('attempts.expires_at', '+', everyMs))
              .end(),
          }))
          .where((eb) =>
            eb.or([eb('attempts.expires_at', '<=', most - everyMs), eb('attempts.expires_at', '>', latest)]),
          ),
      )
      .executeTakeFirstOrThrow()
    if (taken.numInsertedOrUpdatedRows !== 0n) return 0
    const row = await this.#db
      .selectFrom('attempts')
      .select('expires_at')
      .where('attempt_key', '=', attempt_key)
      .executeTakeFirst()
    // The attempts were forgotten since, so the next one is counted anew.
    return Math.max(1, (row?.expires_at ?? 0) + everyMs - most)
  }

  /** The key is hashed, because it may contain text from strangers. */
  #rowOf(key: string): string {
    return hash('sha256', `${this.#name} ${key}`, 'base64url')
  }
}

function tooMany(waitMs: number): ApiError {
  const seconds = Math.ceil(waitMs / 1000)
  return new ApiError(
    httpProblems.rate_limited,
    `Too many attempts. Try again in ${seconds} s.`,
    {},
    { 'retry-after': String(seconds) },
  )
}

/** The factor by which the limit of a /48 exceeds that of one network. It may belong to an office, or to one person. */
const OF_A_SITE = 8

/**
 * Limits attempts by network: an IPv4 address or an IPv6 /64, and the /48 around that. Counts are kept in memory,
 * because attackers can use any number of networks; a restart resets them. If several processes answer requests, each
 * has an equal share.
 */
export class NetworkAttempts {
  readonly #clock: Clock
  readonly #peers: Pick<Peers, 'answering'>
  readonly #allowance: Allowance
  /** Time at which each network's attempts are forgotten. */
  readonly #until = new Recent<number>(MOST_KEYS)

  constructor({ clock, peers }: { clock: Clock; peers: Pick<Peers, 'answering'> }, allowance: Allowance) {
    this.#clock = clock
    this.#peers = peers
    this.#allowance = allowance
  }

  /**
   * Counts an attempt.
   * @throws ApiError rate_limited
   */
  take(address: string): void {
    // The narrow limit comes first, so that attempts that it refuses do not count for others.
    for (const [key, share] of this.#shares(address)) this.#take(key, share)
  }

  /** Stops counting an attempt that succeeded. */
  giveBack(address: string): void {
    for (const [key, { everyMs }] of this.#shares(address)) {
      const until = this.#until.get(key)
      if (until !== undefined) this.#until.set(key, until - everyMs)
    }
  }

  #take(key: string, { burst, everyMs }: Allowance): void {
    const now = this.#clock.now()
    // A clock that was set back must not block anybody for longer than usual.
    const until = Math.min(Math.max(now, this.#until.get(key) ?? now), now + burst * everyMs)
    const waitMs = until + everyMs - now - burst * everyMs
    if (waitMs > 0) throw tooMany(waitMs)
    this.#until.set(key, until + everyMs)
  }

  /** This process's share of the limits of a network, and of the site around it. */
  #shares(address: string): [key: string, share: Allowance][] {
    const processes = this.#peers.answering
    const { burst, everyMs } = this.#allowance
    const shareOf = (times: number) => ({
      burst: Math.ceil((burst * times) / processes),
      everyMs: (everyMs * processes) / times,
    })
    const shares: [string, Allowance][] = [[`network ${networkOf(address)}`, shareOf(1)]]
    const site = siteOf(address)
    if (site !== null) shares.push([`site ${site}`, shareOf(OF_A_SITE)])
    return shares
  }
}
