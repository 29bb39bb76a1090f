import type { FastifyBaseLogger as Logger } from 'fastify'
import { chargeDue } from '../billing/metering.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Engine } from '../operations/engine.ts'
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
  readonly #stopping = new AbortController()
  #loop: Promise<void> = Promise.resolve()

  constructor(options: BillingWorkerOptions) {
    this.#options = options
  }

  start(): void {
    this.#loop = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
  }

  /** One round. Prices come first, so that no hour is charged at one that had ended. */
  async look(): Promise<void> {
    const { db, clock, catalog } = this.#options
    await reprice(db, catalog, clock.now())
    await chargeDue(db, clock.now())
    await suspendAndResume(this.#options)
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options
    while (!this.#stopping.signal.aborted) {
      try {
        await this.look()
      } catch (error) {
        log.error({ err: error }, 'servers could not be charged; trying again')
      }
      await clock.sleep(LOOK_EVERY_MS, this.#stopping.signal)
    }
  }
}
