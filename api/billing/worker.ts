import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { Loop } from '../loop.ts'
import type { Peers } from '../processes/peers.ts'
import { ClockWatch } from './clock-watch.ts'
import { type BilledItems, chargeDue, type MeteringOptions } from './metering.ts'

/** An operator's suspension takes effect within five seconds. */
const LOOK_EVERY_MS = 4_000

interface BillingWorkerOptions {
  db: Database
  clock: Clock
  log: Logger
  peers: Peers
  items: BilledItems
  /** Moves rented items to changed prices. */
  reprice: (now: number) => Promise<void>
  /** Suspends servers of accounts whose balance is used up, and resumes them after a top-up. */
  suspendAndResume: () => Promise<void>
  /** Mails people before and when servers are suspended, resumed or deleted. */
  warn: () => Promise<void>
  /** Books the end of credits. */
  expireCredits: () => Promise<unknown>
  /** Issues documents of months that have ended. */
  issueDocuments: () => Promise<unknown>
  /** Rolls up charges of long ago. */
  rollUp: () => Promise<unknown>
}

/** Charges items, changes prices, and suspends and resumes servers, as long as the service runs. */
export class BillingWorker {
  readonly #options: BillingWorkerOptions
  readonly #loop: Loop
  readonly #watch = new ClockWatch()

  constructor(options: BillingWorkerOptions) {
    this.#options = options
    this.#loop = new Loop({
      clock: options.clock,
      log: options.log,
      turn: () => this.#turn(),
      failure: 'billing failed; trying again',
      pauseMs: () => LOOK_EVERY_MS,
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /**
   * Runs one round. Prices change first, so that no hour is charged at a price that has ended. Every process charges
   * items that no other one is charging; one process has the duty to do the rest.
   */
  async look(): Promise<void> {
    const { db, clock, log, peers, items, reprice, suspendAndResume, warn } = this.#options
    const { expireCredits, issueDocuments, rollUp } = this.#options
    const now = clock.now()
    const onFault: MeteringOptions['onFault'] = (item, err) =>
      item
        ? log.error({ err, ...item }, 'an item could not be charged; trying again in an hour')
        : log.warn({ err }, 'items could not be charged together; charging them one by one')
    await this.#attempt('prices could not be changed', () => reprice(now))
    await this.#attempt('items could not be charged', () => chargeDue({ db, items, onFault }, now))
    if (!peers.holds('billing')) return
    await this.#attempt('servers could not be suspended or resumed', suspendAndResume)
    await this.#attempt('people could not be warned', warn)
    await this.#attempt('the end of credits could not be booked', expireCredits)
    await this.#attempt('documents could not be issued', issueDocuments)
    await this.#attempt('charges could not be rolled up', rollUp)
  }

  /** Runs one part of a round. A part that fails must not prevent the others. */
  async #attempt(failure: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#options.log.error({ err: error }, `${failure}; trying again`)
    }
  }

  async #turn(): Promise<void> {
    const { clock, log } = this.#options
    const trust = this.#watch.look(clock.now(), performance.now())
    if (trust === 'jumped')
      log.error('the clock has jumped ahead; nothing is charged until it has been consistent for 10 minutes')
    if (trust === 'trusted') await this.look()
  }
}
