import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** Time in which requests in progress may still be answered. */
const ANSWER_MS = 5_000
const LOOK_EVERY_MS = 20

/** Stops a server so that clients lose nothing: requests that were sent are answered. */
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

  /** From here on, each connection gets one more reply, which asks the client to reconnect elsewhere. */
  begin(): void {
    this.#isLeaving = true
  }

  /** @param lingerMs the time for which clients may use open connections, as a request may be on its way */
  async end(lingerMs: number): Promise<void> {
    const until = performance.now() + lingerMs
    while (performance.now() < until && this.#sockets.size > 0) await sleep(LOOK_EVERY_MS)
    const timer = setTimeout(() => this.#cut(), ANSWER_MS)
    await this.#http.close()
    clearTimeout(timer)
  }

  /** All connections, since Node's closeAllConnections leaves out those of WebSockets. */
  #cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
