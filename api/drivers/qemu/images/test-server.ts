import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../../clock.ts'

/** For tests: the reply to a request for the image. */
export type Answer = 'normal' | 'half' | 'no ranges' | 'glue' | 404 | 503

/** For tests: a server of one file that can misbehave. */
export class ImageServer {
  body: Buffer
  /** The replies to the next requests for the image; after that, normal ones. */
  answers: Answer[] = []
  /** The Range header of each request for the image; '' if it had none. */
  readonly ranges: string[] = []
  readonly texts = new Map<string, string>()
  /** Cuts the connection of the last `half` answer. */
  cut: () => void = () => {}
  readonly #server: Server

  constructor(body: Buffer) {
    this.body = body
    this.#server = createServer((request, response) => this.#answer(request, response))
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  url(name = 'disk.img'): string {
    // It listens on TCP, so the address is not a path.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${name}`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const text = this.texts.get(request.url ?? '')
    if (text !== undefined) return void response.end(text)
    this.ranges.push(request.headers.range ?? '')
    const answer = this.answers.shift() ?? 'normal'
    const etag = `"${this.body.length}-${this.body.readUInt32BE(this.body.length - 4)}"`
    if (typeof answer === 'number') return void response.writeHead(answer).end()
    const fresh = request.headers['if-range'] === etag || answer === 'glue'
    const from =
      answer !== 'no ranges' && fresh ? Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0) : 0
    const part = this.body.subarray(from)
    response.writeHead(from > 0 ? 206 : 200, {
      etag,
      'content-length': part.length,
      ...(from > 0 && { 'content-range': `bytes ${from}-${this.body.length - 1}/${this.body.length}` }),
    })
    if (answer !== 'half') return void response.end(part)
    response.write(part.subarray(0, part.length / 2))
    this.cut = () => response.destroy()
  }
}

/** For tests: waits end at once, except those of the given length, which end when `fire` is called. */
export class TestClock implements Clock {
  time = 1_000_000
  readonly held: number
  readonly #waiting = new Set<() => void>()

  constructor(held: number) {
    this.held = held
  }

  now(): number {
    return this.time
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (ms !== this.held) return void setImmediate(resolve)
      const finish = () => {
        this.#waiting.delete(finish)
        resolve()
      }
      this.#waiting.add(finish)
      signal?.addEventListener('abort', finish)
    })
  }

  fire(): void {
    for (const finish of this.#waiting) finish()
  }
}
