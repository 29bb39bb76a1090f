import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { Loop } from '../loop.ts'
import type { Peers } from '../processes/peers.ts'
import { forgetAudit } from './audit.ts'
import { BATCH, forgetEvents, numberEvents } from './store.ts'
import type { Streams } from './streams.ts'
import type { NumberedEvent } from './types.ts'

/** How often the relay looks for events whose notification was lost. */
const LOOK_EVERY_MS = 1_000
/** Every commit of every process notifies the relay; it waits this long, to handle many of them at once. */
const GATHER_MS = 20
const CLEAN_EVERY_MS = 60_000
const DAY = 24 * 3600_000
/** The number of days for which events can be read. */
export const EVENTS_KEPT_DAYS = 30
/** The number of days for which entries of the audit log can be read. */
export const AUDIT_KEPT_DAYS = 365
const DELETE_AT_ONCE = 500
const DELETE_AT_MOST = 20_000

export interface EventWorkerOptions {
  db: Database
  clock: Clock
  log: Logger
  streams: Streams
  /** Deletes rows of other features from before a time, at most `limit`. @returns the number deleted */
  forget: (before: number, limit: number) => Promise<number>
  /** Does further work for events in the transaction that gives them their positions. */
  publish: (tx: Queries, events: readonly NumberedEvent[]) => Promise<void>
  peers: Peers
}

/** Delivers events to streams and webhooks, and deletes old events. */
export class EventWorker {
  readonly #options: EventWorkerOptions
  readonly #loop: Loop
  #cleanedAt = Number.NEGATIVE_INFINITY

  constructor(options: EventWorkerOptions) {
    this.#options = options
    this.#loop = new Loop({
      clock: options.clock,
      log: options.log,
      turn: () => this.#turn(),
      failure: 'events could not be published; trying again',
      pauseMs: () => LOOK_EVERY_MS,
      restMs: () => GATHER_MS,
    })
    const { peers } = options
    peers.on('recorded', () => {
      if (peers.holds('relay')) this.#loop.wake()
    })
    peers.on('published', () => {
      // The process that relays events serves its own streams in the same turn.
      if (!peers.holds('relay')) this.#loop.wake()
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#options.streams.stop()
  }

  /** Gives positions to all events that have been committed. */
  async relay(): Promise<void> {
    const { db, publish, peers } = this.#options
    let count: number
    let isNews = false
    do {
      count = (await numberEvents(db, publish)).length
      isNews ||= count > 0
    } while (count === BATCH)
    if (isNews) peers.ring('published')
  }

  async look(): Promise<void> {
    if (this.#options.peers.holds('relay')) await this.relay()
    await this.#options.streams.look()
  }

  /** Deletes old rows in small steps, which delay nobody. */
  async clean(): Promise<void> {
    const { db, clock, forget } = this.#options
    const before = clock.now() - EVENTS_KEPT_DAYS * DAY
    await inSteps((limit) => forgetEvents(db, before, limit))
    await inSteps((limit) => forget(before, limit))
    await inSteps((limit) => forgetAudit(db, clock.now() - AUDIT_KEPT_DAYS * DAY, limit))
  }

  async #turn(): Promise<void> {
    await this.look()
    const now = this.#options.clock.now()
    if (!this.#options.peers.holds('relay')) return
    // The absolute value lets it run even if the clock was ahead and has been set back.
    if (Math.abs(now - this.#cleanedAt) < CLEAN_EVERY_MS) return
    this.#cleanedAt = now
    await this.clean()
  }
}

async function inSteps(forget: (limit: number) => Promise<number>): Promise<void> {
  for (let left = DELETE_AT_MOST; left > 0; left -= DELETE_AT_ONCE)
    if ((await forget(DELETE_AT_ONCE)) < DELETE_AT_ONCE) return
}
