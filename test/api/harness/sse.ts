import { onTestFinished } from 'vitest'
import type { TestApp } from '../../harness/app.ts'

export interface Message {
  id: string
  // Each test states the shape that it expects of an event.
  // biome-ignore lint/suspicious/noExplicitAny: a wrong guess fails the assertion that made it
  event: any
}

/** Reads server-sent events from a reply, one after the other. */
export class Listener {
  readonly #reply: Response
  #chunks: AsyncIterator<Uint8Array> | null = null
  readonly #decoder = new TextDecoder()
  #rest = ''
  heartbeats = 0
  /** The position that the reader would resume from. */
  lastId = ''

  constructor(reply: Response) {
    this.#reply = reply
  }

  /** The next event; null if the stream has ended. */
  async next(): Promise<Message | null> {
    for (;;) {
      const end = this.#rest.indexOf('\n\n')
      if (end === -1) {
        this.#chunks ??= this.#reply.body![Symbol.asyncIterator]() // a reply of fetch has a body here
        const { value, done } = await this.#chunks.next()
        if (done) return null
        this.#rest += this.#decoder.decode(value, { stream: true })
        continue
      }
      const block = this.#rest.slice(0, end)
      this.#rest = this.#rest.slice(end + 2)
      if (block.startsWith(':')) this.heartbeats += 1
      const id = /^id: (.*)$/m.exec(block)?.[1]
      this.lastId = id ?? this.lastId
      const data = /^data: (.*)$/m.exec(block)?.[1]
      if (id !== undefined && data !== undefined) return { id, event: JSON.parse(data) }
    }
  }

  async take(count: number): Promise<Message[]> {
    const messages: Message[] = []
    while (messages.length < count) {
      const message = await this.next()
      if (!message) throw new Error(`the stream ended after ${messages.length} of ${count} events`)
      messages.push(message)
    }
    return messages
  }
}

/** Opens streams over the loopback, as a client does. */
export async function streamer(t: TestApp) {
  const address = await t.app.http.listen({ host: '127.0.0.1', port: 0 })
  return async (token: string, headers: Record<string, string> = {}, query = '') => {
    const hangUp = new AbortController()
    onTestFinished(() => hangUp.abort())
    const reply = await fetch(`${address}/v1/events/stream${query}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      signal: hangUp.signal,
    })
    return { reply, hangUp: () => hangUp.abort(), listener: new Listener(reply) }
  }
}
