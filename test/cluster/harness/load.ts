import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type ClusterService, ZONE } from './service.ts'

const PAUSE_MS = 500
/** The most servers of each customer, beyond which the oldest is deleted. */
const MOST_KEPT = 3
/** After this many failures of half a minute each, a deletion counts as stuck. */
const MOST_TRIES = 6
/** Temporary refusals, caused by a host, a process or an operation. */
const PASSING = ['idempotency_key_in_use', 'operation_in_progress', 'capacity_unavailable', 'rate_limited']

interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: replies of every route
  body: any
}

/** Customers who order and delete servers one after the other, and retry everything that fails. */
export class Load {
  readonly #service: ClusterService
  readonly #order: object
  readonly #customers: Promise<void>[]
  /** Running servers by name. */
  readonly kept = new Map<string, string>()
  #created = 0
  #isOver = false
  #fault: unknown = null
  /** The number of customers who are ordering or deleting, and the gate at which the others wait. */
  #busy = 0
  #gate = Promise.resolve()

  constructor(service: ClusterService, order: object, customers: readonly string[]) {
    this.#service = service
    this.#order = order
    this.#customers = customers.map((name) =>
      this.#buy(name).catch((error: unknown) => {
        this.#fault = error
      }),
    )
  }

  /** Waits until this many more servers run. */
  async more(count: number): Promise<void> {
    const wanted = this.#created + count
    const isThere = () => {
      if (this.#fault) throw this.#fault
      return this.#created
    }
    await expect.poll(isThere, { timeout: 180_000, interval: 200 }).toBeGreaterThanOrEqual(wanted)
  }

  /**
   * Does something while nobody orders or deletes: Incus aborts an evacuation when it meets an instance that is being
   * created or deleted, and may leave that instance broken.
   */
  async quietly(run: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#gate = promise
    try {
      await expect.poll(() => this.#busy, { timeout: 180_000, interval: 200 }).toBe(0)
      await run()
    } finally {
      resolve()
    }
  }

  /** Stops ordering, and waits for pending orders. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#customers)
    if (this.#fault) throw this.#fault
  }

  async #buy(customer: string): Promise<void> {
    const own: string[] = []
    for (let n = 1; !this.#isOver; n++) {
      await this.#gate
      this.#busy++
      try {
        await this.#renew(`${customer}-${n}`, own)
      } finally {
        this.#busy--
      }
    }
  }

  /**
   * Orders a server, or deletes the oldest if there are enough. @param own names of the customer's servers, oldest
   * first
   */
  async #renew(name: string, own: string[]): Promise<void> {
    const { body } = await this.insist('POST', '/servers', { ...this.#order, zone_slug: ZONE, name })
    const end = await this.#ended(body.server_id)
    if (end.status === 'succeeded') {
      own.push(name)
      this.kept.set(name, body.server_id)
      this.#created++
    } else {
      // An order may fail with its host, but its server must be deletable.
      await this.#remove(body.server_id)
    }
    const oldest = own.length > MOST_KEPT ? own.shift() : undefined
    if (oldest === undefined) return
    const id = this.kept.get(oldest) ?? ''
    this.kept.delete(oldest)
    await this.#remove(id)
  }

  /** Retries a deletion, which fails while the host is offline. */
  async #remove(id: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      const { status } = await this.insist('DELETE', `/servers/${id}`)
      if (status === 404) return
      const end = await this.#ended(id)
      if (end.status === 'succeeded') return
      if (tries === MOST_TRIES) throw new Error(`${id} can't be deleted: ${JSON.stringify(end.error)}`)
      await sleep(PAUSE_MS)
    }
  }

  /** The status of a server's newest operation. */
  async #ended(id: string): Promise<Answer['body']> {
    for (;;) {
      const { body } = await this.insist('GET', `/servers/${id}/operations?limit=1`)
      const [operation] = body.items
      if (operation.finished_at !== null) return operation
      await sleep(PAUSE_MS)
    }
  }

  /** Sends a request until somebody answers it for good, always with the same key. */
  async insist(method: string, path: string, body?: object): Promise<Answer> {
    const key = crypto.randomUUID()
    for (;;) {
      const answer = await this.#send(method, path, key, body).catch(() => null)
      const isGood = answer && answer.status < 500 && !PASSING.includes(answer.body?.code)
      if (isGood && (answer.status < 400 || answer.status === 404)) return answer
      if (isGood) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      await sleep(PAUSE_MS)
    }
  }

  async #send(method: string, path: string, key: string, body?: object): Promise<Answer> {
    const reply = await fetch(`${this.#service.address}${path}`, {
      method,
      signal: AbortSignal.timeout(30_000),
      headers: {
        authorization: `Bearer ${this.#service.token}`,
        ...(method === 'POST' && { 'idempotency-key': key }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? null : JSON.parse(text) }
  }
}
