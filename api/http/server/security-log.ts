import type { FastifyRequest, FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../../clock.ts'
import { Loop } from '../../loop.ts'
import { CredentialRefused, type Whose, whoseIs } from '../contract/auth.ts'
import { ApiError, httpProblems } from '../contract/problem.ts'
import type { Report } from '../contract/route.ts'
import { addressOf } from '../limits/origin.ts'
import { networkOf } from '../limits/rate-limit.ts'

/** One line of the log. Its values are ours or checked; text from outside stands in JSON strings. */
export interface SecurityEvent {
  event: 'sign_in_failed' | 'request_refused' | Report['event']
  /** The code of the problem in the reply to a refused request. */
  code: string | null
  /** The operationId of the route; "none" for a path that does not exist. */
  action: string
  /** The object that a success was about. */
  object_id: string | null
  /**
   * The account that sent the request. If its sign-in failed, the account of the token or session, if it is known.
   */
  account_id: string | null
  token_id: string | null
  person_id: string | null
  address: string
  request_id: string
}

interface SecurityLogOptions {
  /** Writes lines of JSON, each with `"log":"security"`. */
  log: Logger
  clock: Clock
  /** Called for every event, written or not. */
  count?: ((event: SecurityEvent, isWritten: boolean) => void) | undefined
}

/** The most lines a minute for each caller and kind of event, and for each crowd together. */
const LINES = 10
const LINES_OF_CROWD = 120
const WINDOW_MS = 60_000
/** The most networks that are counted for a crowd, and the most that its summary names. */
const COUNTED = 1_000
const NAMED = 10

/**
 * Callers without a valid token, who share lines. One crowd has those who fail to sign in as an existing person or
 * with an existing token; the other has the rest. So guesses at somebody's password are not lost among other
 * failures.
 */
type Crowd = 'known' | 'strangers'

interface Window {
  endsAt: number
  lines: number
  suppressed: number
  last: SecurityEvent
  /** The events of a crowd by network; at most `COUNTED`. */
  from: Map<string, { address: string; count: number }>
}

/**
 * Events that an operator watches besides the audit of changes: failed sign-ins, refusals, secrets that were shown,
 * and changes to who may sign in. Nobody can fill the log: events over the limits of a minute become one line with a
 * count.
 */
export class SecurityLog {
  readonly #options: SecurityLogOptions
  readonly #log: Logger
  readonly #loop: Loop
  /** The open windows, in the order in which they end. */
  readonly #windows = new Map<string, Window>()

  constructor(options: SecurityLogOptions) {
    this.#options = options
    this.#log = options.log.child({ log: 'security' })
    this.#loop = new Loop({
      ...options,
      turn: async () => this.#endWindows(options.clock.now()),
      failure: 'the security log could not be written; trying again',
      pauseMs: () => WINDOW_MS,
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** Writes the summaries of events that were left out so far. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    this.#endWindows(Number.POSITIVE_INFINITY)
  }

  /** Logs a refused request. One without a token is only counted, as nobody tried to sign in. */
  refused(request: FastifyRequest, error: Error): void {
    if (!(error instanceof ApiError)) return
    const { type } = error
    const isSignIn = type.status === 401 || type === httpProblems.address_not_allowed
    if (!isSignIn && type.status !== 403 && type.status !== 429) return
    const whose = error instanceof CredentialRefused ? error.whose : callerOf(request)
    this.#take({
      event: isSignIn ? 'sign_in_failed' : 'request_refused',
      code: type.code,
      object_id: null,
      ...originOf(request, whose),
    })
  }

  /** Logs the action that a route reported. */
  reported(request: FastifyRequest, { event, objectId, personId }: Report): void {
    const whose = personId ? { accountId: null, tokenId: null, personId } : callerOf(request)
    this.#take({ event, code: null, object_id: objectId, ...originOf(request, whose) })
  }

  #take(event: SecurityEvent): void {
    const isWritten = event.code !== httpProblems.missing_token.code && this.#hasRoom(event)
    if (isWritten) this.#log.info(event)
    this.#options.count?.(event, isWritten)
  }

  #hasRoom(event: SecurityEvent): boolean {
    const now = this.#options.clock.now()
    this.#endWindows(now)
    const crowd = this.#crowdOf(event, now)
    if (crowd) countFrom(crowd, event.address, 1)
    if (crowd && crowd.lines >= LINES_OF_CROWD) {
      // This keeps the number of strangers' windows below the number of lines.
      crowd.suppressed += 1
      return false
    }
    const who = crowd ? networkOf(event.address) : (event.account_id ?? event.person_id ?? event.token_id)
    const own = this.#window(`${event.event} ${event.code} ${who}`, event, now)
    own.last = event
    if (own.lines >= LINES) {
      own.suppressed += 1
      return false
    }
    own.lines += 1
    if (crowd) crowd.lines += 1
    return true
  }

  #crowdOf(event: SecurityEvent, now: number): Window | null {
    const crowd = crowdOf(event)
    return crowd && this.#window(crowd, event, now)
  }

  #window(key: string, last: SecurityEvent, now: number): Window {
    const window = this.#windows.get(key) ?? {
      ...{ endsAt: now + WINDOW_MS, lines: 0, suppressed: 0, last },
      from: new Map(),
    }
    this.#windows.set(key, window)
    return window
  }

  #endWindows(now: number): void {
    for (const [key, { endsAt, suppressed, last, from }] of this.#windows) {
      // A clock that was set back must not keep them open.
      if (endsAt > now && endsAt <= now + WINDOW_MS) return
      this.#windows.delete(key)
      if (suppressed === 0) continue
      if (key === crowdOf(last))
        this.#log.info({ event: 'suppressed', of: key, count: suppressed, addresses: worstOf(from) })
      else this.#summarize(last, suppressed, now)
    }
  }

  /** Summaries of a crowd count against its limit, too; otherwise there would be as many as there are addresses. */
  #summarize(last: SecurityEvent, count: number, now: number): void {
    const { event, code, account_id, address } = last
    const crowd = this.#crowdOf(last, now)
    if (crowd && crowd.lines >= LINES_OF_CROWD) {
      countFrom(crowd, address, count)
      crowd.suppressed += count
      return
    }
    if (crowd) crowd.lines += 1
    this.#log.info({ event: 'suppressed', of: event, code, account_id, address, count })
  }
}

/** The crowd of a caller who showed no valid token. The owner of an invalid token, if it is known, did not send it. */
function crowdOf({ event, account_id, person_id, token_id }: SecurityEvent): Crowd | null {
  if (account_id === null && person_id === null && token_id === null) return 'strangers'
  return event === 'sign_in_failed' ? 'known' : null
}

/**
 * Counts events by network. When there are too many networks, all counts shrink by the smallest: the networks with
 * most events stay, however many others there are (Misra and Gries).
 */
function countFrom({ from }: Pick<Window, 'from'>, address: string, count: number): void {
  const network = networkOf(address)
  const before = from.get(network)
  if (before || from.size < COUNTED) {
    from.set(network, { address, count: (before?.count ?? 0) + count })
    return
  }
  const least = [...from.values()].reduce((smallest, seen) => Math.min(smallest, seen.count), count)
  for (const [key, seen] of from)
    if (seen.count === least) from.delete(key)
    else from.set(key, { ...seen, count: seen.count - least })
  if (count > least) from.set(network, { address, count: count - least })
}

function worstOf(from: Window['from']) {
  return [...from.values()].sort((a, b) => b.count - a.count).slice(0, NAMED)
}

function callerOf({ known }: FastifyRequest): Whose | null {
  return known && whoseIs(known.actor, known.signedIn, known.operator)
}

function originOf(
  request: FastifyRequest,
  whose: Whose | null,
): Pick<SecurityEvent, 'action' | 'account_id' | 'token_id' | 'person_id' | 'address' | 'request_id'> {
  return {
    action: request.routeOptions.config.action ?? 'none',
    account_id: whose?.accountId ?? null,
    token_id: whose?.tokenId ?? null,
    person_id: whose?.personId ?? null,
    address: addressOf(request),
    request_id: request.id,
  }
}
