import { createConnection, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '../../files.ts'

/**
 * No reply to the service is longer. A longer line means that QEMU misbehaves, or that its guest has taken it over.
 */
const LINE_LIMIT = 256 * 1024
/** The most bytes read in a second: many times what a machine sends that is queried all the time. */
const BYTES_A_SECOND = 64 * 1024
const BYTES_AT_ONCE = LINE_LIMIT
/** The cost of reading a piece, however short it is, in bytes. */
const LEAST_BYTES = 64
/** Errors of QEMU end up in logs and operations, so their length is limited. */
const COMPLAINT_LIMIT = 500

export interface QmpEvent {
  event: string
  data: Record<string, unknown>
}

interface Waiting {
  resolve: (value: unknown) => void
  reject: (error: Error) => void
  timer: NodeJS.Timeout
}

/** Limits how much is read from a machine's QEMU: a QEMU that its guest has taken over may send without end. */
export class Allowance {
  /** The moment at which everything read so far is within the limit. */
  #evenAt = 0

  /** @returns milliseconds for which to read nothing */
  spend(bytes: number): number {
    const now = performance.now()
    this.#evenAt = Math.max(now, this.#evenAt) + (1000 * Math.max(bytes, LEAST_BYTES)) / BYTES_A_SECOND
    return this.#evenAt - now - (1000 * BYTES_AT_ONCE) / BYTES_A_SECOND
  }
}

interface Listening {
  onEvent?: (event: QmpEvent) => void
  /** Called once, also after close() and if connect() throws. */
  onClose?: (reason: Error) => void
  /** The machine's allowance, shared by its successive connections. */
  allowance?: Allowance
}

/**
 * One connection to QEMU's monitor (QMP: JSON lines over a unix socket). QEMU serves one client per socket; a second
 * client gets no reply and times out here.
 */
export class Qmp {
  readonly #socket: Socket
  readonly #waiting = new Map<number, Waiting>()
  readonly #onEvent: (event: QmpEvent) => void
  readonly #allowance: Allowance
  #partial = ''
  #lastId = 0
  #greeted: (() => void) | null = null
  #closed: Error | null = null

  private constructor(path: string, { onEvent, onClose, allowance }: Listening) {
    this.#onEvent = onEvent ?? (() => {})
    this.#allowance = allowance ?? new Allowance()
    this.#socket = createConnection(path)
    this.#socket.setEncoding('utf8')
    this.#socket.on('data', (text: string) => this.#read(text))
    this.#socket.on('error', (error) => this.#end(error))
    this.#socket.on('close', () => {
      this.#end(new Error('QEMU closed its monitor'))
      // #end has always set it before this.
      onClose?.(this.#closed as Error)
    })
  }

  /**
   * Connects and negotiates.
   * @throws Error with the system's code (ENOENT, ECONNREFUSED), or on a timeout
   */
  static async connect(path: string, timeoutMs: number, listening: Listening = {}): Promise<Qmp> {
    const qmp = new Qmp(path, listening)
    try {
      await qmp.#greeting(timeoutMs)
      await qmp.run('qmp_capabilities', {}, timeoutMs)
      return qmp
    } catch (error) {
      qmp.close()
      throw error
    }
  }

  get isOpen(): boolean {
    return this.#closed === null
  }

  /**
   * Runs a command and returns its result.
   * @throws Error with QEMU's description, on a timeout, or if the connection ends
   */
  run(command: string, args: Record<string, unknown> = {}, timeoutMs = 2000): Promise<unknown> {
    if (this.#socket.writableLength > LINE_LIMIT) this.#end(new Error('QEMU does not accept commands'))
    if (this.#closed) return Promise.reject(this.#closed)
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Error(`QEMU did not answer ${command} within ${timeoutMs} ms`))
      }, timeoutMs)
      this.#waiting.set(id, { resolve, reject, timer })
      this.#socket.write(`${JSON.stringify({ execute: command, arguments: args, id })}\n`)
    })
  }

  close(): void {
    this.#end(new Error('The connection to QEMU was closed'))
  }

  #greeting(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(0)
        reject(new Error(`QEMU did not greet within ${timeoutMs} ms`))
      }, timeoutMs)
      // No command has id 0: it stands for the greeting, so that a lost connection rejects it like any command.
      this.#waiting.set(0, { resolve: () => resolve(), reject, timer })
      this.#greeted = () => this.#settle(0, (waiting) => waiting.resolve(null))
    })
  }

  #read(text: string): void {
    const waitMs = this.#allowance.spend(text.length)
    if (waitMs > 0) {
      this.#socket.pause()
      setTimeout(() => this.#socket.resume(), waitMs).unref()
    }
    // Only the new piece is searched, since a line may arrive in any number of pieces.
    const [end = '', ...begun] = text.split('\n')
    this.#partial += end
    for (const next of begun) {
      const line = this.#partial
      this.#partial = next
      if (line.trim() !== '') this.#take(line)
      if (this.#closed) return
    }
    if (this.#partial.length > LINE_LIMIT) this.#end(new Error('QEMU sent a line without an end'))
  }

  #take(line: string): void {
    const message = parsed(line)
    if (message === null) this.#end(new Error('QEMU sent something that is not JSON'))
    else if ('QMP' in message) this.#greeted?.()
    else if (typeof message.event === 'string')
      this.#onEvent({ event: message.event, data: objectOr(message.data, {}) })
    else if (typeof message.id === 'number') {
      const failure = objectOr(message.error, null)
      this.#settle(message.id, (waiting) => {
        if (failure) waiting.reject(new Error(`QEMU: ${String(failure.desc).slice(0, COMPLAINT_LIMIT)}`))
        else waiting.resolve(message.return)
      })
    }
  }

  #settle(id: number, settle: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    this.#waiting.delete(id)
    clearTimeout(waiting.timer)
    settle(waiting)
  }

  #end(reason: Error): void {
    if (this.#closed) return
    this.#closed = reason
    this.#partial = ''
    this.#socket.destroy()
    for (const id of [...this.#waiting.keys()]) this.#settle(id, (waiting) => waiting.reject(reason))
  }
}

function parsed(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line)
    return objectOr(value, null)
  } catch {
    return null
  }
}

function objectOr<T>(value: unknown, otherwise: T): Record<string, unknown> | T {
  // An object that is not null can be read by any key.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : otherwise
}

interface Reach extends Listening {
  path: string
  /** The time for which to retry, since a QEMU that just started may not listen yet. */
  patienceMs: number
  isAlive: () => boolean
}

/**
 * Connects to a machine's QEMU, identified by its uuid.
 * @throws Error if another machine answers
 */
export async function qmpOf(uuid: string, { path, patienceMs, isAlive, ...listening }: Reach): Promise<Qmp> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      const qmp = await Qmp.connect(path, 1500, listening)
      const answer = await qmp.run('query-uuid')
      // QEMU's schema: { UUID: string }.
      if ((answer as { UUID: string }).UUID === uuid) return qmp
      qmp.close()
      throw new Error('Another machine answers on the socket')
    } catch (error) {
      const early = ['ENOENT', 'ECONNREFUSED'].includes(errorCode(error) ?? '')
      if (!early || performance.now() > deadline || !isAlive()) throw error
      await sleep(10)
    }
  }
}
