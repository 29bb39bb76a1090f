import { createConnection, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

export interface Load {
  perSecond: number
  /** Milliseconds that 99 of 100 requests stayed below. */
  p99: number
}

export interface LoadOptions {
  port: number
  /** Head and body of request number n, as they go over the wire. */
  request: (n: number) => string
  /** What every status line must begin with: a load of errors measures nothing. */
  expect: string
  connections: number
  requests: number
}

/** Keeps this many connections busy, each with one request at a time, until all requests are answered. */
export async function load(options: LoadOptions): Promise<Load> {
  const { connections, requests } = options
  const times: number[] = []
  let next = 0
  const start = performance.now()
  const worker = async () => {
    const connection = await Connection.open(options.port)
    while (next < requests) {
      const sent = performance.now()
      const reply = await connection.exchange(options.request(next++))
      if (!reply.startsWith(options.expect))
        throw new Error(`expected ${options.expect}, got ${reply.slice(0, 300)}`)
      times.push(performance.now() - sent)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - start) / 1000
  times.sort((a, b) => a - b)
  return { perSecond: requests / seconds, p99: times[Math.floor(times.length * 0.99)] ?? 0 }
}

/** HTTP/1.1 as thin as can be: the client must not be what is measured. */
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
    socket.on('close', () => this.#reject?.(new Error('the service hung up without a reply')))
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
