import type { FastifyBaseLogger as Logger } from 'fastify'
import { chargeDue } from '../billing/metering.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { Loop } from '../loop.ts'
import type { Engine } from '../operations/engine.ts'
import { ClockWatch } from './clock-watch.ts'
import { reprice } from './repricing.ts'
import { suspendAndResume } from './suspension.ts'

const LOOK_EVERY_MS = 10_000

interface BillingWorkerOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  engine: Engine
  log: Logger
  graceMs: number
}

/** Charges what is due, and does what follows from prices and balances, for as long as the service runs. */
export class BillingWorker {
  readonly #options: BillingWorkerOptions
  readonly #loop: Loop
  readonly #watch = new ClockWatch()

  constructor(options: BillingWorkerOptions) {
    this.#options = options
    this.#loop = new Loop({
      ...options,
      turn: () => this.#turn(),
      failure: 'bills could not be looked at; trying again',
      pauseMs: () => LOOK_EVERY_MS,
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** One round. Prices come first, so that no hour is charged at one that had ended. */
  async look(): Promise<void> {
    const { db, clock, catalog, log } = this.#options
    const now = clock.now()
    await this.#attempt('prices could not be changed', () => reprice(db, catalog, now))
    await this.#attempt('servers could not be charged', () =>
      chargeDue(db, now, (server_id, err) => log.error({ err, server_id }, 'a server could not be charged')),
    )
    await this.#attempt('servers could not be suspended or resumed', () => suspendAndResume(this.#options))
  }

  /** One part that fails must not keep the others from their work. */
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
      log.error('the clock has jumped ahead; nothing is charged until it has stayed so for 10 minutes')
    if (trust === 'trusted') await this.look()
  }
}
