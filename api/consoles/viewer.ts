import type { WebSocket } from 'ws'
import type { Clock } from '../clock.ts'
import type { Console } from '../drivers/console.ts'
import type { Holder } from '../http/limits/places.ts'
import { Alarm, Pace } from '../loop.ts'
import type { Admission } from './tickets.ts'

/** Reasons for the end of a console, with the close code of its WebSocket. */
export const endings = {
  service_stopping: 1001,
  internal_error: 1011,
  server_off: 4000,
  access_ended: 4001,
  idle: 4002,
  place_given_up: 4003,
} as const
export type Ending = keyof typeof endings

/** Limits of one viewer in bytes a second: faster than a serial line, enough for a picture, and faster than typing. */
const SHOWN = {
  console: { perSecond: 512 * 1024, burst: 128 * 1024 },
  screen: { perSecond: 2 * 2 ** 20, burst: 4 * 2 ** 20 },
}
const TYPED = { perSecond: 16 * 1024, burst: 64 * 1024 }
/** RFB's input messages: keys, the pointer, and QEMU's keys. Clients send update requests even when idle. */
const RFB_INPUT = [4, 5, 255]
/** The number of bytes by which a viewer's last position is found again. */
const REMEMBERED = 512
/** Pause between two attempts to attach to a machine that is about to be on. */
const RETRY_MS = 1_000
const PING_MS = 15_000
/** Long enough for an answer to a ping that is queued behind data on a slow network. */
const SILENCE_MS = 90_000
/** A viewer that types nothing for this long is disconnected. */
const IDLE_MS = 60 * 60_000
/** Time that a client may take to close the WebSocket. */
const GOODBYE_MS = 1_000

interface ViewerOptions {
  socket: WebSocket
  admission: Admission
  holder: Holder
  clock: Clock
  /**
   * Opens the console after the output that was seen; null if the machine will be on soon, `server_off` if it will not.
   */
  attach: (seen: Buffer) => Promise<Console | null | 'server_off'>
}

/** One WebSocket at the serial console of a server, also across its reboots; or at its screen, until it is off. */
export class Viewer {
  readonly admission: Admission
  readonly holder: Holder
  readonly #options: ViewerOptions
  readonly #alarm: Alarm
  readonly #typedPace: Pace
  #console: Console | null = null
  #seen: Buffer = Buffer.alloc(0)
  #isOver = false
  #typedAt: number
  #pingedAt: number
  #aliveAt: number

  constructor(options: ViewerOptions) {
    const { socket, clock, admission, holder } = options
    this.admission = admission
    this.holder = holder
    this.#options = options
    this.#alarm = new Alarm(clock)
    this.#typedPace = new Pace(clock, TYPED)
    this.#typedAt = this.#pingedAt = this.#aliveAt = clock.now()
    socket.on('message', (data: Buffer) => this.#type(data))
    socket.on('pong', () => {
      this.#aliveAt = clock.now()
    })
    socket.on('error', () => socket.terminate())
    socket.once('close', () => this.#leave())
  }

  /** True once the viewer has ended; its socket may take a moment longer to close. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Shows the guest's output. Resolves when the viewer has left or the server is off for good. */
  async run(): Promise<void> {
    const { clock, attach } = this.#options
    const { kind } = this.admission
    const pace = new Pace(clock, SHOWN[kind])
    while (!this.#isOver) {
      const console = await attach(this.#seen)
      if (console === 'server_off') return this.end('server_off')
      if (this.#isOver) return console?.close()
      this.#console = console
      for (let printed = await console?.read(); printed && !this.#isOver; printed = await console?.read()) {
        if (printed.skipped > 0) await this.#show(Buffer.from(skippedNote(printed.skipped)))
        await this.#show(printed.bytes)
        this.#seen = Buffer.concat([this.#seen, printed.bytes]).subarray(-REMEMBERED)
        const waitMs = pace.take(printed.bytes.length)
        if (waitMs > 0) await this.#alarm.sleep(waitMs)
      }
      console?.close()
      this.#console = null
      // A picture begins with a handshake, which a client has only once.
      if (console && kind === 'screen') return this.end('server_off')
      await this.#alarm.sleep(RETRY_MS)
    }
  }

  /** Keeps the connection alive, and ends it if nobody uses it. */
  look(now: number): void {
    const { socket } = this.#options
    if (now - this.#typedAt > IDLE_MS) this.end('idle')
    else if (now - this.#aliveAt > SILENCE_MS) socket.terminate()
    else if (Math.abs(now - this.#pingedAt) >= PING_MS) {
      this.#pingedAt = now
      socket.ping()
    }
  }

  end(ending: Ending): void {
    const { socket } = this.#options
    this.#leave()
    socket.close(endings[ending], ending)
    // This runs on the real clock, and does not wait for the client.
    setTimeout(() => socket.terminate(), GOODBYE_MS).unref()
  }

  #leave(): void {
    this.#isOver = true
    this.#console?.close()
    this.#alarm.ring()
  }

  #type(data: Buffer): void {
    const { socket, clock } = this.#options
    if (this.#isOver) return
    this.#aliveAt = clock.now()
    if (this.admission.kind === 'console' || RFB_INPUT.includes(data[0] ?? 0)) this.#typedAt = this.#aliveAt
    this.#console?.write(data)
    const waitMs = this.#typedPace.take(data.length)
    if (waitMs === 0) return
    socket.pause()
    void this.#alarm.sleep(waitMs).then(() => socket.resume())
  }

  /** Sends one piece at a time, so that at most one waits in memory for a slow viewer. */
  #show(bytes: Buffer): Promise<void> {
    const { socket } = this.#options
    return new Promise((resolve) => {
      socket.send(bytes, { binary: true }, (error) => {
        if (error) socket.terminate()
        resolve()
      })
    })
  }
}

function skippedNote(bytes: number): string {
  return `\r\n[${bytes} bytes were printed too fast to be shown]\r\n`
}
