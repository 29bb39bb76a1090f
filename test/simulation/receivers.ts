import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { Faults } from './faults.ts'
import type { Scheduler } from './scheduler.ts'

/** The hosts that webhooks are sent to. */
export class Receivers {
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  /** The ids of events that each webhook's endpoint has accepted, in the order of their first arrival. */
  readonly accepted = new Map<string, Set<string>>()

  constructor(scheduler: Scheduler, faults: Faults) {
    this.#scheduler = scheduler
    this.#faults = faults
  }

  /** Stands in for node's http.request. */
  readonly request = (options: object): Sending => {
    const { headers = {}, signal } = options as { headers?: Record<string, string>; signal?: AbortSignal } // the service's own
    const sending = new Sending()
    const cut = () => sending.emit('error', Object.assign(new Error('cut'), { code: 'ABORT_ERR' }))
    signal?.addEventListener('abort', cut)
    const { actor } = this.#scheduler
    sending.onBody = async (body) => {
      await this.#scheduler.cross(actor, 'webhook', 20)
      if (this.#faults.happens('receiver_hangs')) return
      const reply = this.#replyTo(headers, body)
      await this.#scheduler.cross(actor, 'answer of webhook')
      if (signal?.aborted) return
      signal?.removeEventListener('abort', cut)
      if (reply === null) sending.emit('error', Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
      else sending.emit('response', Object.assign(Readable.from([Buffer.from(reply)]), { statusCode: 200 }))
    }
    return sending
  }

  #replyTo(headers: Record<string, string>, body: string): string | null {
    const message: { type: string; data: { webhook_id?: string; challenge?: string } } = JSON.parse(body)
    if (message.type === 'webhook.challenge') return message.data.challenge ?? ''
    if (this.#faults.happens('receiver_fails')) return null
    const host = headers.host ?? ''
    const id = headers['webhook-id'] ?? ''
    this.accepted.set(host, (this.accepted.get(host) ?? new Set()).add(id))
    return 'ok'
  }
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
