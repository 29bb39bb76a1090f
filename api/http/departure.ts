import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** How long requests that are in progress may take to be answered. */
const ANSWER_MS = 5_000
const LOOK_EVERY_MS = 20

/** Ends a server so that clients lose nothing: what they have sent is answered. */
export class Departure {
  readonly #http: FastifyInstance
  #isLeaving = false

  constructor(http: FastifyInstance) {
    this.#http = http
    http.addHook('onSend', (_request, reply, _body, done) => {
      if (this.#isLeaving) reply.header('connection', 'close')
      done()
    })
  }

  /** From here on each connection has one reply more, which asks the client to open another one elsewhere. */
  begin(): void {
    this.#isLeaving = true
  }

  /** @param lingerMs how long clients may use the connections that they keep open: a request may be on its way */
  async end(lingerMs: number): Promise<void> {
    const { server } = this.#http
    const until = performance.now() + lingerMs
    while (performance.now() < until && (await connectionsOf(server)) > 0) await sleep(LOOK_EVERY_MS)
    const timer = setTimeout(() => server.closeAllConnections(), ANSWER_MS)
    await this.#http.close()
    clearTimeout(timer)
  }
}

function connectionsOf(server: FastifyInstance['server']): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
}
