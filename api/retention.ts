import type { FastifyBaseLogger as Logger } from 'fastify'
import { listAccounts } from './accounts/accounts.ts'
import { forgetExcessTokens, forgetTokens } from './accounts/tokens.ts'
import { forgetAddresses } from './addresses/taking.ts'
import { forgetRates } from './billing/rates.ts'
import type { Clock } from './clock.ts'
import type { Database } from './database/database.ts'
import { forgetExcessAudit } from './events/audit.ts'
import { forgetExcessEvents } from './events/excess.ts'
import { forgetExcessKeys, forgetKeys } from './http/server/idempotency.ts'
import { Loop } from './loop.ts'
import { forgetTraffic } from './monitoring/traffic.ts'
import { forgetExcessOperations } from './operations/operations.ts'
import { expiring, forgetExpired } from './people/expired.ts'
import { forgetSessions } from './people/person/sessions.ts'
import type { Peers } from './processes/peers.ts'
import { forgetServers } from './servers/gone.ts'
import { forgetExcessDeliveries } from './webhooks/deliveries.ts'

const LOOK_EVERY_MS = 60_000
/** To look at one account takes some milliseconds: each is looked at this often. */
const ACCOUNTS_EVERY_MS = 10 * 60_000
const DAY = 24 * 3600_000
const TOKENS_KEPT_DAYS = 30
const SERVERS_KEPT_DAYS = 30
/** Longer than they are held back from others. */
const ADDRESSES_KEPT_DAYS = 2
/** The month to date looks at those of this month; the rest is for people who look into a bill. */
const RATES_KEPT_DAYS = 62
const TRAFFIC_KEPT_DAYS = 400
const AT_ONCE = 500

/** What an account may keep of each thing, however fast it makes more: the oldest go first. */
export const kept = {
  idempotencyKeys: 5_000,
  revokedTokens: 1_000,
  operations: 10_000,
  events: 30_000,
  audit: 100_000,
} as const

interface RetentionOptions {
  db: Database
  clock: Clock
  log: Logger
  peers: Peers
}

/** Deletes what nobody can ask for any more, and what an account has too much of, in steps that hold up nobody. */
export class Retention {
  readonly #options: RetentionOptions
  readonly #loop: Loop
  #accountsLookedAt = Number.NEGATIVE_INFINITY
  /** Where the walk through deleted servers has come to. */
  #walked = { deletedAt: 0, serverId: '' }

  constructor(options: RetentionOptions) {
    this.#options = options
    this.#loop = new Loop({
      ...options,
      turn: () => this.look(),
      failure: 'what is old could not be deleted; trying again',
      pauseMs: () => LOOK_EVERY_MS,
      isOurs: () => options.peers.holds('retention'),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async look(): Promise<void> {
    const { db, clock } = this.#options
    const now = clock.now()
    await inSteps((limit) => forgetKeys(db, now, limit))
    await inSteps((limit) => forgetRates(db, now - RATES_KEPT_DAYS * DAY, limit))
    await inSteps((limit) => forgetTraffic(db, now - TRAFFIC_KEPT_DAYS * DAY, limit))
    await inSteps((limit) => forgetTokens(db, now - TOKENS_KEPT_DAYS * DAY, limit))
    for (const table of expiring) await inSteps((limit) => forgetExpired(db, table, now, limit))
    await inSteps((limit) => forgetSessions(db, now, limit))
    await inSteps((limit) => forgetAddresses(db, now - ADDRESSES_KEPT_DAYS * DAY, limit))
    this.#walked = await forgetServers(db, this.#walked, now - SERVERS_KEPT_DAYS * DAY, AT_ONCE)
    // A clock that was ahead must not put the next time off for as long.
    if (Math.abs(now - this.#accountsLookedAt) < ACCOUNTS_EVERY_MS) return
    this.#accountsLookedAt = now
    await this.#boundAccounts(now)
  }

  async #boundAccounts(now: number): Promise<void> {
    const { db } = this.#options
    for (const { account_id: id } of await listAccounts(db)) {
      await inSteps((limit) => forgetExcessKeys(db, id, now, kept.idempotencyKeys, limit))
      await inSteps((limit) => forgetExcessTokens(db, id, kept.revokedTokens, limit))
      await inSteps((limit) => forgetExcessOperations(db, id, kept.operations, limit))
      // What was to be sent of an event goes before it.
      await inSteps((limit) => forgetExcessDeliveries(db, id, kept.events, limit))
      await inSteps((limit) => forgetExcessEvents(db, id, kept.events, limit))
      await inSteps((limit) => forgetExcessAudit(db, id, kept.audit, limit))
    }
  }
}

async function inSteps(forget: (limit: number) => Promise<number>): Promise<void> {
  while ((await forget(AT_ONCE)) === AT_ONCE) await new Promise(setImmediate)
}
