import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Queries } from '../database/database.ts'
import { eventView } from '../events/view.ts'
import { Loop } from '../loop.ts'
import type { Peers } from '../processes/peers.ts'
import { withAddress } from './challenge.ts'
import { clearAway, forgetFinished, nextDelivery, saveAttempts } from './deliveries.ts'
import { type Later, Outgoing, type OutgoingOptions, type Proof } from './outgoing.ts'
import type { Answer } from './send.ts'
import {
  callWebhooks,
  changeWebhook,
  claimWebhooks,
  nextDueAt,
  releaseWebhook,
  releaseWebhooksOf,
  takeOverWebhooks,
} from './store.ts'
import type { WebhookTable } from './tables.ts'
import { type Attempt, attemptsOf } from './view.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** The pauses between attempts: eleven attempts within a day, or more if some were requested. */
export const BACKOFF_MS = [
  5 * SECOND,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  8 * HOUR,
] as const
/** The pauses between challenges: nine within a day, the first ones while a customer stores the secret. */
export const CHALLENGE_BACKOFF_MS = [
  10 * SECOND,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
] as const
/** The time for which the delivery of an event is attempted, however often. */
const GIVE_UP_AFTER_MS = BACKOFF_MS.reduce((sum, wait) => sum + wait, 0)
const GONE = 410
const UNVERIFIED = { verification: 'failed', is_enabled: 0, disabled_reason: 'unverified' } as const
/** Several times the longest duration of an attempt. */
const LEASE_MS = 60 * SECOND
/** Deliveries that are cleared away in one transaction. */
export const CLEAR_AT_ONCE = 1_000
/** How often the worker looks for webhooks that another process left behind. Events and its own retries wake it. */
const LOOK_EVERY_MS = 5 * SECOND
/** The shortest pause without news, as after a failed look. */
const LOOK_AGAIN_MS = SECOND
/** The pause while a message waits for its turn at a destination. */
const TURNS_EVERY_MS = 100
/**
 * The number of webhooks sent to at once. An endpoint that hangs takes one place for ten seconds, then none until its
 * next attempt.
 */
const CONCURRENCY = 256
/** The most places of one account, whose endpoints may all hang. */
export const PER_ACCOUNT = 8

export interface WebhookWorkerOptions extends OutgoingOptions {
  log: Logger
  peers: Peers
  /** The name of this process on the webhooks that it takes. */
  owner?: string | undefined
}

type Next = NonNullable<Awaited<ReturnType<typeof nextDelivery>>>

/**
 * Sends events to webhooks: to each one after the other, to different ones concurrently. A webhook's row is the job,
 * with its lease and the time at which it is due. Events whose result was not recorded when a process died are sent
 * again.
 */
export class WebhookWorker {
  readonly #options: WebhookWorkerOptions
  readonly #outgoing: Outgoing
  readonly #owner: string
  readonly #stopping = new AbortController()
  readonly #inFlight = new Set<Promise<void>>()
  readonly #loop: Loop
  /** No webhook that this process knows of is due before this time, unless an event makes it so. */
  #dueAt = Number.NEGATIVE_INFINITY

  constructor(options: WebhookWorkerOptions) {
    this.#options = options
    this.#owner = options.owner ?? randomUUID()
    this.#outgoing = new Outgoing(options)
    this.#loop = new Loop({
      clock: options.clock,
      log: options.log,
      turn: () => this.#turn(),
      failure: 'due webhooks could not be fetched; trying again',
      pauseMs: () => this.#pauseMs(),
    })
    options.peers.on('published', () => this.wake())
  }

  /**
   * @param isAlone true if no other process works on this database: the webhooks of a dead process are then taken over
   * at once
   */
  async start({ isAlone }: { isAlone: boolean }): Promise<void> {
    if (isAlone) await takeOverWebhooks(this.#options.db)
    this.#loop.start()
  }

  /** Releases the webhooks of a dead process; events without a recorded result are sent again. */
  readonly inherit = (tx: Queries, owner: string): Promise<void> => releaseWebhooksOf(tx, owner)

  /** Closes connections to endpoints; messages without a reply are sent again. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop.stop()
    await this.settled()
  }

  /** The number of messages that wait for their turn at a destination. */
  get waiting(): number {
    return this.#outgoing.waiting
  }

  /** Wakes the worker, because there may be events to send. */
  wake(): void {
    this.#loop.wake()
  }

  /** Takes webhooks that are due, and begins to send. @returns the number of webhooks */
  async tick(): Promise<number> {
    const { db, clock } = this.#options
    const limit = CONCURRENCY - this.#inFlight.size
    if (limit <= 0) return 0
    const by = { owner: this.#owner, now: clock.now(), leaseMs: LEASE_MS, limit, perAccount: PER_ACCOUNT }
    const webhooks = await claimWebhooks(db, by)
    for (const webhook of webhooks) {
      const running = this.#serve(webhook).finally(() => {
        this.#inFlight.delete(running)
        this.wake()
      })
      this.#inFlight.add(running)
    }
    return webhooks.length
  }

  /** Resolves when nothing is being sent. */
  async settled(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight)
  }

  async #turn(): Promise<void> {
    const { db, clock } = this.#options
    const now = clock.now()
    try {
      if ((await this.tick()) > 0) return this.wake()
      if (this.#dueAt > now) return
      this.#dueAt = Number.POSITIVE_INFINITY
      this.#expect((await nextDueAt(db, now)) ?? Number.POSITIVE_INFINITY)
    } catch (error) {
      this.#expect(now)
      throw error
    }
  }

  #expect(at: number): void {
    this.#dueAt = Math.min(this.#dueAt, at)
  }

  #pauseMs(): number {
    if (this.waiting > 0) return TURNS_EVERY_MS
    const dueMs = this.#dueAt - this.#options.clock.now()
    return Math.min(Math.max(dueMs, LOOK_AGAIN_MS), LOOK_EVERY_MS)
  }

  /** Releases a webhook until a time. @returns the current row; undefined if it was no longer held */
  async #release(
    tx: Queries,
    webhook: WebhookTable,
    nextRunAt: number | null,
  ): Promise<WebhookTable | undefined> {
    const row = await releaseWebhook(tx, webhook, this.#owner, nextRunAt)
    if (nextRunAt !== null) this.#expect(nextRunAt)
    return row
  }

  /** Does the next task of a webhook: deletes it, challenges its endpoint, or sends its next event. */
  async #serve(webhook: WebhookTable): Promise<void> {
    const { db, clock, log } = this.#options
    try {
      if (webhook.deleted_at !== null || webhook.given_up_to !== null) return await this.#clearAway(webhook)
      if (webhook.verification !== 'verified') return await this.#ask(webhook)
      const next = await nextDelivery(db, webhook.webhook_id)
      if (!next) return await this.#rest(webhook)
      await this.#deliver(webhook, next)
    } catch (error) {
      log.error({ err: error, webhook_id: webhook.webhook_id }, 'a delivery could not be recorded')
      await this.#release(db, webhook, clock.now() + SECOND).catch(() => undefined)
    }
  }

  /** Sends a challenge, and records the result. A webhook that is disabled waits until it is enabled. */
  async #ask(webhook: WebhookTable): Promise<void> {
    const { db, clock } = this.#options
    if (webhook.is_enabled === 0) return void (await this.#release(db, webhook, null))
    const at = clock.now()
    const proof = await this.#outgoing.ask(webhook, this.#stopping.signal)
    if ('waitMs' in proof || this.#isCut(proof)) return this.#putOff(webhook, proof)
    await this.#saveProof(webhook, { at, ...proof })
  }

  /** Sends an event, and records the result. */
  async #deliver(webhook: WebhookTable, next: Next): Promise<void> {
    const { clock } = this.#options
    const at = clock.now()
    const event = { id: next.event_id, body: JSON.stringify(eventView(next)) }
    const answer = await this.#outgoing.post(webhook, event, this.#stopping.signal)
    if ('waitMs' in answer || this.#isCut(answer)) return this.#putOff(webhook, answer)
    await this.#save(webhook, next, { at, durationMs: clock.now() - at, ...answer })
  }

  /** Postpones a webhook without an attempt that counts. */
  async #putOff(webhook: WebhookTable, what: Later | object): Promise<void> {
    const { db, clock } = this.#options
    const waitMs = 'waitMs' in what ? what.waitMs : 0
    await this.#release(db, webhook, clock.now() + waitMs)
  }

  /** True if the attempt failed only because the service stops. */
  #isCut({ error }: Pick<Answer, 'error'>): boolean {
    return this.#stopping.signal.aborted && error !== null
  }

  async #clearAway(webhook: WebhookTable): Promise<void> {
    const { db, clock } = this.#options
    await db.transaction().execute(async (tx) => {
      const row = await this.#release(tx, webhook, clock.now())
      if (row) await clearAway(tx, row, CLEAR_AT_ONCE)
    })
  }

  /** Releases a webhook whose queue is empty; a last check, under its lock, finds events that were queued since. */
  async #rest(webhook: WebhookTable): Promise<void> {
    await this.#options.db.transaction().execute(async (tx) => {
      if (!(await this.#release(tx, webhook, null))) return
      if (await nextDelivery(tx, webhook.webhook_id))
        await callWebhooks(tx, [webhook.webhook_id], this.#options.clock.now())
    })
  }

  async #saveProof(
    webhook: WebhookTable,
    { at, address, status, error }: Proof & { at: number },
  ): Promise<void> {
    const { db, clock } = this.#options
    await db.transaction().execute(async (tx) => {
      const pauseMs = error === null ? 0 : (CHALLENGE_BACKOFF_MS[webhook.challenges] ?? 0)
      const row = await this.#release(tx, webhook, clock.now() + pauseMs)
      // A webhook that was deleted or got another URL does not use this result.
      if (!row || row.deleted_at !== null || row.url !== webhook.url) return
      const seen = { verification_error: error, challenged_at: at, challenges: row.challenges + 1 }
      const isOver = row.challenges >= CHALLENGE_BACKOFF_MS.length || status === GONE
      const isDisabled = isOver && row.is_enabled === 1
      const change =
        error === null && address !== null
          ? { ...seen, verification: 'verified' as const, verified_addresses: withAddress(row, address) }
          : { ...seen, ...(isDisabled ? UNVERIFIED : {}) }
      const type = error === null ? 'webhook.updated' : isDisabled ? 'webhook.disabled' : null
      await changeWebhook(tx, webhook.webhook_id, change, type, clock.now())
    })
  }

  async #save(webhook: WebhookTable, next: Next, attempt: Attempt): Promise<void> {
    const { db, clock } = this.#options
    const attempts = kept([...attemptsOf(next), attempt])
    const verdict = verdictOn(attempts, attempt, next.is_first === 1)
    const nextRunAt = clock.now() + (verdict === 'pending' ? backoffAfter(attempts.length) : 0)
    await db.transaction().execute(async (tx) => {
      const row = await this.#release(tx, webhook, nextRunAt)
      if (!row) return
      const isOver = verdict === 'failing' || verdict === 'gone'
      // A failure counts neither against another address nor for a queue that was given up.
      const isStale = row.url !== webhook.url || row.given_up_to !== null || row.deleted_at !== null
      if (isStale && (isOver || verdict === 'pending')) return
      await saveAttempts(tx, next.delivery_id, attempts, isOver ? 'failed' : verdict)
      if (verdict !== 'pending') await forgetFinished(tx, webhook.webhook_id)
      if (!isOver) return
      // An endpoint that replies 410 does not want events: it gets a new challenge before anything else.
      const refused = { verification: 'failed', verification_error: attempt.error } as const
      const change = {
        is_enabled: 0,
        disabled_reason: verdict,
        ...(verdict === 'gone' ? refused : {}),
      } as const
      await changeWebhook(tx, webhook.webhook_id, change, 'webhook.disabled', clock.now())
    })
  }
}

/** Keeps the first attempt, from which the day is counted, and the last ones. */
function kept(attempts: readonly Attempt[]): Attempt[] {
  return [...attempts.slice(0, 1), ...attempts.slice(1).slice(-BACKOFF_MS.length)]
}

function backoffAfter(attempts: number): number {
  return BACKOFF_MS[Math.min(attempts, BACKOFF_MS.length) - 1] ?? 0
}

/**
 * Decides what follows from the last attempt: for the delivery, or that the webhook is given up. A test is attempted
 * once.
 */
function verdictOn(
  attempts: readonly Attempt[],
  { error, status, at }: Attempt,
  isTest: boolean,
): 'succeeded' | 'failed' | 'pending' | 'failing' | 'gone' {
  if (error === null) return 'succeeded'
  if (isTest) return 'failed'
  if (status === GONE) return 'gone'
  const isUsedUp = attempts.length > BACKOFF_MS.length
  const triedMs = at - (attempts[0]?.at ?? at)
  return isUsedUp && triedMs >= GIVE_UP_AFTER_MS ? 'failing' : 'pending'
}
