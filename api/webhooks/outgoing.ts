import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { networkOf } from '../http/limits/rate-limit.ts'
import type { Secrets } from '../secrets.ts'
import type { Addresses } from './addresses.ts'
import { challenge, isProven, provenAddresses, withAddress } from './challenge.ts'
import { type Answer, hostOf, type Lookup, locate, send } from './send.ts'
import { type Limit, Shares } from './shares.ts'
import { addAddress } from './store.ts'
import type { WebhookTable } from './tables.ts'
import { signingSecrets } from './webhooks.ts'

/** The limit of deliveries to one host name. */
const DELIVERIES = { perMinute: 600, burst: 200, inFlight: 16 }
/** The limit of challenges to one host name, which may not have agreed to any. */
const CHALLENGES = { perMinute: 6, burst: 20, inFlight: 8 }
/** The limit of an account's challenges to all hosts. */
const CHALLENGES_OF_ACCOUNT = { perMinute: 1, burst: 20, inFlight: 8 }
/** The factor for the limits of one address, because many host names can share it, such as those of a CDN. */
const NAMES_OF_ADDRESS = 5

export interface OutgoingOptions {
  db: Database
  clock: Clock
  secrets: Secrets
  addresses: Addresses
  lookup: Lookup
}

/** A message has to wait for its turn. */
export interface Later {
  waitMs: number
}

/** The result of a challenge. */
export interface Proof extends Pick<Answer, 'status' | 'error'> {
  /** Null if the host has no allowed address. */
  address: string | null
}

/** Sends challenges and events to endpoints, each in its turn. */
export class Outgoing {
  readonly #options: OutgoingOptions
  readonly #shares: Shares

  constructor(options: OutgoingOptions) {
    this.#options = options
    this.#shares = new Shares(options.clock)
  }

  /** The number of messages that wait for their turn. */
  get waiting(): number {
    return this.#shares.waiting
  }

  /** Sends a challenge. */
  async ask(webhook: WebhookTable, stopped: AbortSignal): Promise<Proof | Later> {
    const turn = challengeOf(webhook)
    const waitMs = this.#shares.waitOf(turn)
    if (waitMs > 0) return { waitMs }
    const run = async (): Promise<Proof | Later> => {
      const place = await locate(webhook.url, this.#options, stopped)
      if ('error' in place) return { status: null, address: null, ...place }
      const answer = await this.#challenge(webhook, place.address, [], stopped)
      return 'waitMs' in answer ? answer : { ...answer, ...place }
    }
    // It is counted once, before the name is resolved, because lookups also cause work for others.
    return this.#shares.hasTurn(turn) ? run() : this.#inTurn(accountLimits(webhook), webhook, 'lookup', run)
  }

  /** Sends an event, after a challenge if the host leads to an address that has not answered one. */
  async post(
    webhook: WebhookTable,
    event: { id: string; body: string },
    stopped: AbortSignal,
  ): Promise<Answer | Later> {
    const { db, clock } = this.#options
    const waitMs = Math.max(
      ...[challengeOf(webhook), deliveryOf(webhook)].map((message) => this.#shares.waitOf(message)),
    )
    if (waitMs > 0) return { waitMs }
    const place = await locate(webhook.url, this.#options, stopped, provenAddresses(webhook))
    if ('error' in place) return { status: null, reply: '', ...place }
    const { address } = place
    if (!isProven(webhook, address)) {
      const proof = await this.#challenge(webhook, address, accountLimits(webhook), stopped)
      if ('waitMs' in proof) return proof
      if (proof.error !== null)
        return { status: null, reply: '', error: `At the address ${address}: ${proof.error}` }
      await addAddress(db, webhook, withAddress(webhook, address))
    }
    const message = { url: webhook.url, address, secrets: this.#secretsOf(webhook), ...event }
    return this.#inTurn(limitsOf('delivery', webhook.url, address, DELIVERIES), webhook, 'delivery', () =>
      send(message, clock, stopped),
    )
  }

  #challenge(webhook: WebhookTable, address: string, more: readonly Limit[], stopped: AbortSignal) {
    const limits = [...limitsOf('challenge', webhook.url, address, CHALLENGES), ...more]
    const challenged = { webhook, address, secrets: this.#secretsOf(webhook) }
    return this.#inTurn(limits, webhook, 'challenge', () =>
      challenge(challenged, this.#options.clock, stopped),
    )
  }

  #secretsOf(webhook: WebhookTable): string[] {
    const { secrets, clock } = this.#options
    return signingSecrets(secrets, webhook, clock.now())
  }

  async #inTurn<Result>(
    limits: readonly Limit[],
    { account_id, webhook_id }: WebhookTable,
    kind: Kind,
    run: () => Promise<Result>,
  ): Promise<Result | Later> {
    const waitMs = this.#shares.take(limits, account_id, `${kind} ${webhook_id}`)
    if (waitMs > 0) return { waitMs }
    try {
      return await run()
    } finally {
      this.#shares.done(limits, account_id)
    }
  }
}

type Kind = 'lookup' | 'challenge' | 'delivery'

const challengeOf = ({ webhook_id }: WebhookTable) => `challenge ${webhook_id}`
const deliveryOf = ({ webhook_id }: WebhookTable) => `delivery ${webhook_id}`

/** The limits on an account's challenges to all destinations. */
function accountLimits({ account_id }: WebhookTable): Limit[] {
  return [{ destination: `challenges of ${account_id}`, ...CHALLENGES_OF_ACCOUNT }]
}

/** The limits on messages to a host's name and address; a /64 of IPv6 counts as one address. */
function limitsOf(kind: Kind, url: string, address: string, name: Omit<Limit, 'destination'>): Limit[] {
  const { perMinute, burst, inFlight } = name
  return [
    { destination: `${kind} to name ${hostOf(url)}`, ...name },
    {
      destination: `${kind} to address ${networkOf(address)}`,
      perMinute: perMinute * NAMES_OF_ADDRESS,
      burst: burst * NAMES_OF_ADDRESS,
      inFlight: inFlight * NAMES_OF_ADDRESS,
    },
  ]
}
