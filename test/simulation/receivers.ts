import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { Faults } from './faults.ts'
import type { Scheduler } from './scheduler.ts'

/** The queues of webhooks, in their order. */
export const DELIVERIES = `SELECT url, event_id, status FROM deliveries JOIN webhooks USING (webhook_id)
  WHERE is_first = 0 ORDER BY webhook_id, position`

/** The hosts that webhooks are sent to. */
export class Receivers {
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  /** The ids of events that each URL has accepted, in the order of their first arrival. */
  readonly accepted = new Map<string, Set<string>>()

  /** No host accepts anything before this time. */
  awayUntil = 0

  constructor(scheduler: Scheduler, faults: Faults) {
    this.#scheduler = scheduler
    this.#faults = faults
  }

  /** Stands in for node's http.request. */
  readonly request = (options: object): Sending => {
    const { headers = {}, path = '', signal } = options as Sent // the service's own
    const sending = new Sending()
    const cut = () => sending.emit('error', Object.assign(new Error('cut'), { code: 'ABORT_ERR' }))
    signal?.addEventListener('abort', cut)
    const { actor } = this.#scheduler
    sending.onBody = async (body) => {
      await this.#scheduler.cross(actor, 'webhook', 20)
      if (this.#faults.happens('receiver_hangs')) return
      const reply = this.#replyTo(`https://${headers.host}${path}`, headers['webhook-id'] ?? '', body)
      await this.#scheduler.cross(actor, 'answer of webhook')
      if (signal?.aborted) return
      signal?.removeEventListener('abort', cut)
      if (reply === null) sending.emit('error', Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
      else sending.emit('response', Object.assign(Readable.from([Buffer.from(reply)]), { statusCode: 200 }))
    }
    return sending
  }

  /** Compares the events marked as delivered with those that arrived, and their order. */
  broken(rows: { url: string; event_id: string; status: string }[]): string[] {
    return [...Map.groupBy(rows, ({ url }) => url)].flatMap(([url, queue]) => {
      const accepted = [...(this.accepted.get(url) ?? [])]
      const delivered = queue.filter(({ status }) => status === 'succeeded').map(({ event_id }) => event_id)
      const lost = delivered.find((id) => !accepted.includes(id))
      if (lost) return [`a delivered event has arrived: ${lost} at ${url}`]
      const order = accepted.filter((id) => delivered.includes(id))
      return order.every((id, at) => id === delivered[at]) ? [] : [`events arrive in their order: at ${url}`]
    })
  }

  #replyTo(url: string, id: string, body: string): string | null {
    const message: { type: string; data: { webhook_id?: string; challenge?: string } } = JSON.parse(body)
    if (message.type === 'webhook.challenge') return message.data.challenge ?? ''
    if (this.#scheduler.elapsed() < this.awayUntil || this.#faults.happens('receiver_fails')) return null
    this.accepted.set(url, (this.accepted.get(url) ?? new Set()).add(id))
    return 'ok'
  }
}

interface Sent {
  headers?: Record<string, string>
  path?: string
  signal?: AbortSignal
}

class Sending extends EventEmitter {
  onBody: (body: string) => Promise<void> = async () => {}
  #isOver = false

  end(body: string): this {
    void this.onBody(body)
    return this
  }

  destroy(error?: Error): this {
    if (!this.#isOver && error) this.emit('error', error)
    this.#isOver = true
    return this
  }
}
