import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { labelOf } from './database.ts'
import type { Faults } from './faults.ts'
import type { Actor, Scheduler } from './scheduler.ts'

/** The network between processes and PostgreSQL, and the server behind it. */
export interface Network {
  scheduler: Scheduler
  faults: Faults
  /** Identifies the process, whose name replaces the server's host. */
  actorOf(host: string): Actor
  /** Opens a connection to the server. */
  dial(): Socket
  /** True if the server accepts no connections. */
  isAway(): boolean
  /** Ends all sessions, and accepts none for a while, as a database that fails over does. */
  fail(): void
  /** Called when the server begins to work for a connection. */
  departs(wire: Wire): void
  /** Called when the server has answered. */
  lands(wire: Wire): void
  /** Called when a process has abandoned a connection, whose session then ends. */
  leaves(wire: Wire): void
}

/** Messages with a common reply, which end with a Sync or with a message that has its own reply. */
interface Part {
  label: string
  bytes: Buffer[]
}

/** The socket of PostgreSQL's driver. Each part that it sends, and each reply, waits for its turn. */
export class Wire extends Duplex {
  readonly #network: Network
  #actor: Actor | null = null
  #real: Socket | null = null
  /** The process id of the session; 0 before the session exists. */
  pid = 0
  /** True in a transaction. */
  isWithin = false
  /** True if the last part may have committed something. */
  hasWritten = false
  /** The number of parts that were sent. */
  turn = 0
  /** The error code that replaces that of a canceled statement. */
  cause = ''
  /** Resolves when the server has closed the connection. */
  #onClosed: () => void = () => {}
  readonly farewell = new Promise<void>((resolve) => {
    this.#onClosed = resolve
  })
  #isClosed = false
  /** True once the server was told to end the session, and sends no more replies. */
  isEnding = false
  /** Prepared statements by their names. */
  readonly #names = new Map<string, string>()
  readonly #parts: Part[] = []
  #begun: Part = { label: '', bytes: [] }
  #hasStarted = false
  #isMoving = false
  /** Bytes of an incomplete message from the server, and messages that the process has not received. */
  #rest = Buffer.alloc(0)
  #held: Buffer[] = []
  #onAnswer: () => void = () => {}
  /** The label of the last part. */
  #label = ''

  constructor(network: Network) {
    super({ allowHalfOpen: false })
    this.#network = network
  }

  get name(): string {
    return this.#actor?.name ?? ''
  }

  get isLeft(): boolean {
    return this.destroyed || (this.#actor?.isDead ?? false)
  }

  // ---- the parts of a socket that pg uses ----

  connect(_: number, host: string): this {
    const actor = this.#network.actorOf(host)
    this.#actor = actor
    const { scheduler } = this.#network
    void scheduler.as(actor, async () => {
      await scheduler.cross(actor, 'connect')
      if (this.destroyed) return
      if (this.#network.isAway()) return this.#lose('ECONNREFUSED')
      await this.#ask(() => this.#open())
      if (this.#isClosed) this.#lose('ECONNREFUSED')
      else this.emit('connect')
    })
    return this
  }

  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.#take(chunk)
    done()
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#take(Buffer.concat(chunks.map(({ chunk }) => chunk)))
    done()
  }

  override _final(done: () => void): void {
    done()
    this.destroy()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.cut()
    done(error)
  }

  // ---- data to the server ----

  /** Closes the connection, as the end of its process does. */
  cut(): void {
    if (!this.#real || this.#real.destroyed) return
    this.#real.destroy()
    this.#network.leaves(this)
  }

  #open(): void {
    const real = this.#network.dial()
    this.#real = real
    real.on('connect', () => this.#onAnswer())
    real.on('data', (bytes: Buffer) => this.#receive(bytes))
    real.on('error', () => {})
    real.on('close', () => {
      this.#isClosed = true
      this.#onClosed()
      if (!this.isEnding) this.#onAnswer()
    })
  }

  /** Divides sent data into parts; the driver writes complete messages only. */
  #take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const isStartup = !this.#hasStarted
      this.#hasStarted = true
      const end = at + bytes.readUInt32BE(isStartup ? at : at + 1) + (isStartup ? 0 : 1)
      const message = bytes.subarray(at, end)
      at = end
      const type = isStartup ? 'startup' : String.fromCharCode(message[0] ?? 0)
      // The end of the stream follows.
      if (type === 'X') continue
      const label = isStartup ? type : this.#labelOf(type, message)
      if (label !== '')
        this.#begun.label = this.#begun.label === '' ? label : `${this.#begun.label}, ${label}`
      this.#begun.bytes.push(isStartup ? unlimited(message) : message)
      if (!['startup', 'p', 'Q', 'S'].includes(type)) continue
      this.#parts.push(this.#begun)
      this.#begun = { label: '', bytes: [] }
    }
    if (!this.#isMoving && this.#actor)
      void this.#network.scheduler.as(this.#actor, () => this.#move(this.#actor as Actor)) // see the condition
  }

  #labelOf(type: string, message: Buffer): string {
    const [first = '', second = ''] = message.toString('utf8', 5).split('\0', 2)
    if (type === 'p') return 'password'
    if (type === 'Q') return labelOf(first)
    if (type === 'P') this.#names.set(first, labelOf(second))
    return type === 'B' ? (this.#names.get(second) ?? '') : ''
  }

  async #move(actor: Actor): Promise<void> {
    const { scheduler, faults } = this.#network
    this.#isMoving = true
    for (let part = this.#parts.shift(); part; part = this.#parts.shift()) {
      const { label, bytes } = part
      await scheduler.cross(actor, label, faults.happens('slow_statement') ? faults.delayMs(5, 3_000) : 0)
      if (this.destroyed) return
      if (faults.happens('failover')) return this.#sever(true)
      if (faults.happens('database_away')) return this.#sever(faults.is(0.3))
      this.turn += 1
      this.#label = label
      await this.#ask(() => this.#real?.write(Buffer.concat(bytes)))
      // Delaying a read has the same effect as delaying the work that follows.
      if (!READS.test(label)) await scheduler.cross(actor, `answer of ${label}`)
      if (this.destroyed) return
      if (!READS.test(label) && faults.happens('lost_commit')) return this.#lose('ECONNRESET')
      this.#deliver()
    }
    this.#isMoving = false
  }

  /** Resolves when the server has answered. */
  #ask(send: () => void): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onAnswer = () => {
        this.#onAnswer = () => {}
        this.hasWritten = !this.isWithin && !READS.test(this.#label)
        this.#network.lands(this)
        resolve()
      }
      this.#network.departs(this)
      send()
    })
  }

  /** Passes the server's data to the process. */
  #deliver(): void {
    const bytes = Buffer.concat(this.#held.splice(0))
    if (bytes.length > 0) this.push(bytes)
    if (this.#isClosed) this.destroy()
  }

  /** Notifies the process that the server has closed the connection. */
  notice(): void {
    const { scheduler } = this.#network
    const actor = this.#actor as Actor // a session has one
    if (this.#isMoving) this.#onAnswer()
    if (this.#isMoving) return
    void scheduler.as(actor, async () => {
      await scheduler.cross(actor, 'the connection ends')
      if (!this.destroyed) this.#deliver()
    })
  }

  /** Loses this connection, or all of them. */
  #sever(isFailover: boolean): void {
    if (isFailover) this.#network.fail()
    this.#lose('ECONNRESET')
  }

  #lose(code: string): void {
    this.destroy(Object.assign(new Error('the connection was lost'), { code }))
  }

  #receive(bytes: Buffer): void {
    let rest = Buffer.concat([this.#rest, bytes])
    let isAnswered = false
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      const message = Buffer.from(rest.subarray(0, rest.readUInt32BE(1) + 1))
      rest = rest.subarray(message.length)
      const type = String.fromCharCode(message[0] ?? 0)
      if (type === 'K') this.pid = message.readUInt32BE(5)
      if (type === 'Z') this.isWithin = message[5] !== IDLE
      if (type === 'E' && this.cause !== '') {
        const at = message.indexOf(CANCELED)
        if (at > 0) message.write(this.cause, at + 1, 'latin1')
        this.cause = ''
      }
      this.#held.push(message)
      isAnswered ||= type === 'Z' || (type === 'R' && message.readUInt32BE(5) !== 0)
    }
    this.#rest = rest
    if (isAnswered) this.#onAnswer()
  }
}

const IDLE = 'I'.charCodeAt(0)
/** The field of an error with PostgreSQL's code query_canceled. */
const CANCELED = 'C57014\0'
const READS = /^(select\b[^,]*(, )?|startup|password)*$/

/** Replaces the server's limits, which count real time, by the simulation's own. */
function unlimited(startup: Buffer): Buffer {
  const text = startup
    .toString('latin1')
    .replaceAll(/(_timeout\0)(\d+)/g, (_, name, ms: string) => name + '0'.repeat(ms.length))
  return Buffer.from(text, 'latin1')
}
