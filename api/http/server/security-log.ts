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

/** Lines a minute of one caller and kind, and of all callers without a valid token together. */
const LINES = 10
const LINES_OF_STRANGERS = 120
const WINDOW_MS = 60_000
const STRANGERS = 'strangers'

interface Window {
  endsAt: number
  lines: number
  suppressed: number
  last: SecurityEvent
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

  /** A request was refused; one without a token is only counted, as nobody tried to sign in. */
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

  /** A request did what its route reports. */
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
    const strangers = isOfStranger(event) ? this.#window(STRANGERS, event, now) : null
    if (strangers && strangers.lines >= LINES_OF_STRANGERS) {
      // This keeps the number of strangers' windows below the number of lines.
      strangers.suppressed += 1
      return false
    }
    const who = strangers ? networkOf(event.address) : (event.account_id ?? event.person_id)
    const own = this.#window(`${event.event} ${event.code} ${who}`, event, now)
    own.last = event
    if (own.lines >= LINES) {
      own.suppressed += 1
      return false
    }
    own.lines += 1
    if (strangers) strangers.lines += 1
    return true
  }

  #window(key: string, last: SecurityEvent, now: number): Window {
    const window = this.#windows.get(key) ?? { endsAt: now + WINDOW_MS, lines: 0, suppressed: 0, last }
    this.#windows.set(key, window)
    return window
  }

  #endWindows(now: number): void {
    for (const [key, { endsAt, suppressed, last }] of this.#windows) {
      // A clock that was set back must not keep them open.
      if (endsAt > now && endsAt <= now + WINDOW_MS) return
      this.#windows.delete(key)
      if (suppressed === 0) continue
      if (key === STRANGERS) this.#log.info({ event: 'suppressed', count: suppressed })
      else this.#summarize(last, suppressed, now)
    }
  }

  /** Summaries of strangers count against the limit, too; otherwise there would be as many as there are addresses. */
  #summarize(last: SecurityEvent, count: number, now: number): void {
    const { event, code, account_id, address } = last
    const strangers = isOfStranger(last) ? this.#window(STRANGERS, last, now) : null
    if (strangers && strangers.lines >= LINES_OF_STRANGERS) {
      strangers.suppressed += count
      return
    }
    if (strangers) strangers.lines += 1
    this.#log.info({ event: 'suppressed', of: event, code, account_id, address, count })
  }
}

/** True for callers who showed no valid token. The owner of an invalid token, if it is known, did not send it. */
function isOfStranger({ event, account_id, person_id }: SecurityEvent): boolean {
  return event === 'sign_in_failed' || (account_id === null && person_id === null)
}

function callerOf({ known }: FastifyRequest): Whose | null {
  return known && whoseIs(known.actor, known.signedIn)
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
