import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from './berthd.ts'
import type { Fleet } from './fleet.ts'

const NAMES = ['ann', 'bob', 'cid', 'dan']
/** After this time without a reply, a customer turns to another process, as a load balancer does. */
const PATIENCE_MS = 5_000
/** The number of servers that the customers try to have, which is above the account's quota. */
const MOST = 16

type Random = () => number

/** Customers who order, use and delete servers at whichever process answers, and one who follows all events. */
export class Customers {
  readonly #fleet: Fleet
  readonly #random: Random
  #isOver = false
  #isDeaf = false
  #last: string
  readonly #renting: Promise<void>[]
  readonly #following: Promise<void>
  /** Ids of servers whose order was accepted. */
  readonly accepted: string[] = []
  /** Ids of the received events, in the order of their arrival. */
  readonly heard: string[] = []
  /** Replies with an unexpected status, which are faults of the service. */
  readonly strange: string[] = []
  /** Requests that were not carried out, for lack of a database or of an answer. */
  readonly refused: string[] = []
  /** The number of replies of each kind. */
  readonly replies = new Map<string, number>()

  /** @param last the event after which they listen */
  constructor(fleet: Fleet, random: Random, day: number, last: string) {
    this.#fleet = fleet
    this.#random = random
    this.#last = last
    this.#renting = NAMES.map((name) => this.#rent(`${name}-${day}`))
    this.#following = this.#follow()
  }

  /** Stops new requests, and waits for those in progress. The event stream continues. */
  async rest(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#renting)
  }

  async stop(): Promise<void> {
    await this.rest()
    this.#isDeaf = true
    await this.#following
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#random() * list.length)]
  }

  async #send(...[method, url, body, headers]: Parameters<Service['send']>): Promise<Answer | null> {
    const service = this.#pick(this.#fleet.answering)
    if (!service) return null
    const count = (status: number | string) => {
      const kind = `${method} ${url.split('/')[1]} ${status}`
      this.replies.set(kind, (this.replies.get(kind) ?? 0) + 1)
      return kind
    }
    try {
      const reply = await Promise.race([service.send(method, url, body, headers), sleep(PATIENCE_MS)])
      const kind = count(reply?.status ?? 'late')
      // On a busy machine, a late reply is not a refusal.
      if (!reply) return null
      const text = await Promise.race([reply.text(), sleep(PATIENCE_MS)])
      if (reply.status >= 500) this.refused.push(`${kind}: ${text}`)
      if (text === undefined) return null
      if (reply.status >= 500 && reply.status !== 503) this.strange.push(`${method} ${url}: ${text}`)
      return { status: reply.status, body: JSON.parse(text || 'null') }
    } catch (error) {
      this.refused.push(count(`none (${error instanceof Error ? error.cause : error})`))
      return null
    }
  }

  /** The number of orders and deletions that were accepted. */
  get done(): number {
    return (this.replies.get('POST servers 202') ?? 0) + (this.replies.get('DELETE servers 202') ?? 0)
  }

  /**
   * Waits until orders and deletions are accepted again.
   * @param incident a description of what has happened before
   */
  async accepting(incident: string): Promise<void> {
    this.replies.clear()
    const until = performance.now() + 120_000
    while (this.done < 3) {
      if (performance.now() > until)
        throw new Error(`after ${incident}, replies are: ${JSON.stringify([...this.replies])}`)
      await sleep(100)
    }
  }

  async #rent(name: string): Promise<void> {
    const body = this.#fleet.order
    for (let n = 0; !this.#isOver; n += 1) {
      const listed = (await this.#send('GET', '/servers?limit=100'))?.body?.items ?? []
      const id = this.#pick<{ server_id: string }>(listed)?.server_id
      const dice = this.#random()
      if (id && (listed.length >= MOST || dice < 0.3)) await this.#send('DELETE', `/servers/${id}`)
      else if (id && dice < 0.6)
        await this.#send('POST', `/servers/${id}/${this.#pick(['start', 'stop', 'reboot'])}`)
      else if (dice < 0.65) await this.#invite(`${name}-${n}@example.com`)
      else await this.#insist({ ...body, name: `${name}-${n}` }, `${name}-${n}`)
      await sleep(100)
    }
  }

  /** Sends an invitation, whose mail a worker writes to its disk. */
  #invite(email: string): Promise<Answer | null> {
    return this.#send('POST', '/account/invitations', { email, role: 'viewer' })
  }

  /** Repeats an order with the same key until a reply shows its outcome. */
  async #insist(body: object, key: string): Promise<void> {
    while (!this.#isOver) {
      const reply = await this.#send('POST', '/servers', body, { 'idempotency-key': key })
      if (reply?.status === 202) {
        this.accepted.push(reply.body.server_id)
      }
      // A 409 means that the first request of the key died with its process, or still runs. The key is free after a
      // minute.
      if (reply && reply.status !== 503) return
      await sleep(100)
    }
  }

  /** Reads the stream of events, and resumes at the last one whenever the stream ends. */
  async #follow(): Promise<void> {
    while (!this.#isDeaf) {
      const service = this.#pick(this.#fleet.answering)
      const stop = new AbortController()
      const { signal } = stop
      const late = setTimeout(() => stop.abort(), PATIENCE_MS)
      try {
        const authorization = `Bearer ${service?.token}`
        const headers = { authorization, 'last-event-id': this.#last }
        const reply = await fetch(`${service?.address}/events/stream`, { headers, signal })
        clearTimeout(late)
        const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader()
        let text = ''
        for (;;) {
          const read = await Promise.race([reader?.read(), sleep(2_000)])
          if (!read || read.done || this.#isDeaf) break
          text += read.value
          const messages = text.split('\n\n')
          text = messages.pop() ?? ''
          for (const message of messages) {
            const id = /^id: ?(\S+)/m.exec(message)?.[1]
            if (id) this.#last = id
            if (id && /^data:/m.test(message)) this.heard.push(id)
          }
        }
      } catch {
        await sleep(100)
      }
      clearTimeout(late)
      stop.abort()
    }
  }
}

interface Answer {
  status: number
  // Each reader knows the shape that it expects.
  // biome-ignore lint/suspicious/noExplicitAny: a wrong guess fails the test
  body: any
}
