import { createConnection, type Socket } from 'node:net'

/** More than any answer we ask for; what does not fit is a process gone mad, or taken over by its guest. */
const LINE_LIMIT = 256 * 1024

export interface QmpEvent {
  event: string
  data: Record<string, unknown>
}

interface Waiting {
  resolve: (value: unknown) => void
  reject: (error: Error) => void
  timer: NodeJS.Timeout
}

/**
 * One connection to QEMU's monitor (QMP: JSON lines over a unix socket). QEMU serves one client per socket: a
 * second one waits without an answer, and so times out here.
 */
export class Qmp {
  readonly #socket: Socket
  readonly #waiting = new Map<number, Waiting>()
  readonly #onEvent: (event: QmpEvent) => void
  #partial = ''
  #lastId = 0
  #greeted: (() => void) | null = null
  #closed: Error | null = null

  private constructor(path: string, onEvent: (event: QmpEvent) => void, onClose: (reason: Error) => void) {
    this.#onEvent = onEvent
    this.#socket = createConnection(path)
    this.#socket.setEncoding('utf8')
    this.#socket.on('data', (text: string) => this.#read(text))
    this.#socket.on('error', (error) => this.#end(error))
    this.#socket.on('close', () => {
      this.#end(new Error('QEMU closed its monitor'))
      // #end has always set it.
      onClose(this.#closed as Error)
    })
  }

  /**
   * Connects and negotiates.
   * @param onClose is called once, also after close() and when this method throws
   * @throws Error with the system's code (ENOENT, ECONNREFUSED), or a time-out
   */
  static async connect(
    path: string,
    timeoutMs: number,
    onEvent: (event: QmpEvent) => void = () => {},
    onClose: (reason: Error) => void = () => {},
  ): Promise<Qmp> {
    const qmp = new Qmp(path, onEvent, onClose)
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
   * Runs one command and returns what it returns.
   * @throws Error with QEMU's description, on a time-out, or when the connection ends
   */
  run(command: string, args: Record<string, unknown> = {}, timeoutMs = 2000): Promise<unknown> {
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
      // Id 0 is never sent: it stands for the greeting, so that a lost connection rejects it like any command.
      this.#waiting.set(0, { resolve: () => resolve(), reject, timer })
      this.#greeted = () => this.#settle(0, (waiting) => waiting.resolve(null))
    })
  }

  #read(text: string): void {
    const lines = (this.#partial + text).split('\n')
    this.#partial = lines.pop() ?? ''
    if (this.#partial.length > LINE_LIMIT) this.#end(new Error('QEMU sent a line without an end'))
    for (const line of lines) {
      if (this.#closed) return
      if (line.trim() !== '') this.#take(line)
    }
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
        if (failure) waiting.reject(new Error(`QEMU: ${String(failure.desc)}`))
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
