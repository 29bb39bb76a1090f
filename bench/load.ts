import { createConnection, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Load {
  perSecond: number
  /** The 99th percentile in milliseconds. */
  p99: number
  /** The number of replies with Retry-After that were obeyed. */
  refusals: number
}

export interface LoadOptions {
  port: number
  /** Head and body of request number n, as they go over the wire. */
  request: (n: number) => string
  /** Every status line must begin with this: a load of errors measures nothing. */
  expect: string
  connections: number
  requests: number
  /** True to wait after a 429 or 503 with Retry-After, as clients do. */
  isPatient?: boolean
}

/** Keeps this many connections busy, each with one request at a time, until all requests are answered. */
export async function load(options: LoadOptions): Promise<Load> {
  const { connections, requests } = options
  const times: number[] = []
  let next = 0
  let refusals = 0
  const start = performance.now()
  const worker = async () => {
    const connection = await Connection.open(options.port)
    while (next < requests) {
      const sent = performance.now()
      const request = options.request(next++)
      let reply = await connection.exchange(request)
      for (let waitMs = retryAfter(reply); options.isPatient && waitMs !== null; waitMs = retryAfter(reply)) {
        refusals += 1
        await sleep(waitMs)
        reply = await connection.exchange(request)
      }
      if (!reply.startsWith(options.expect))
        throw new Error(`expected ${options.expect}, got ${reply.slice(0, 300)}`)
      times.push(performance.now() - sent)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - start) / 1000
  times.sort((a, b) => a - b)
  return { perSecond: requests / seconds, p99: times[Math.floor(times.length * 0.99)] ?? 0, refusals }
}

/** Milliseconds to wait; null if the reply is not a temporary refusal. */
function retryAfter(reply: string): number | null {
  const [, seconds] = /^HTTP\/1\.1 (?:429|503) .*?\r\nretry-after: (\d+)/is.exec(reply) ?? []
  return seconds === undefined ? null : 1000 * Number(seconds)
}

/** A minimal HTTP/1.1 client, so that the measurement is not dominated by the client. */
class Connection {
  readonly #socket: Socket
  #received = ''
  #resolve: ((reply: string) => void) | null = null
  #reject: ((error: Error) => void) | null = null

  private constructor(socket: Socket) {
    this.#socket = socket.setEncoding('latin1').setNoDelay(true)
    socket.on('data', (text) => {
      this.#received += text
      this.#take()
    })
    socket.on('close', () => this.#reject?.(new Error('the service closed the connection without a reply')))
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = createConnection({ host: '127.0.0.1', port }, () => resolve(new Connection(socket)))
      socket.once('error', reject)
    })
  }

  exchange(request: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(): void {
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/content-length: (\d+)/i.exec(this.#received)?.[1] ?? 0)
    if (this.#received.length < end + 4 + length) return
    const reply = this.#received
    this.#received = ''
    this.#resolve?.(reply)
  }
}
