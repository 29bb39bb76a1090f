import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** Time in which requests in progress may still be answered. */
const ANSWER_MS = 5_000
const LOOK_EVERY_MS = 20

/** Ends a server so that clients lose nothing: what they have sent is answered. */
export class Departure {
  readonly #http: FastifyInstance
  readonly #sockets = new Set<Socket>()
  #isLeaving = false

  constructor(http: FastifyInstance) {
    this.#http = http
    http.server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
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
    const until = performance.now() + lingerMs
    while (performance.now() < until && this.#sockets.size > 0) await sleep(LOOK_EVERY_MS)
    const timer = setTimeout(() => this.#cut(), ANSWER_MS)
    await this.#http.close()
    clearTimeout(timer)
  }

  /** All of them: Node's closeAllConnections leaves out those on which a WebSocket was asked for. */
  #cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
