import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type WebSocket from 'ws'
import type { Console } from '../console.ts'
import { DriverError } from '../driver.ts'
import { KEPT, SerialLine } from '../serial-line.ts'
import { at, type IncusClient } from './client.ts'
import { unless } from './errors.ts'
import { nameOf } from './instance.ts'

interface Attached {
  line: SerialLine
  close(): void
}

/** The WebSockets of a console operation. */
interface ConsoleOperation {
  id: string
  metadata: { fds: Record<string, string> }
}

const OPEN_MS = 10_000
const ATTACH_MS = 300
/** The most bytes that may arrive twice: output between attaching and reading the log. */
const MOST_OVERLAP = 1024

/** The consoles that have readers. Incus allows one reader for each: a line, which all our readers share. */
export class IncusConsoles {
  readonly #client: IncusClient
  readonly #project: string
  readonly #attached = new Map<string, Promise<Attached>>()

  constructor(client: IncusClient, project: string) {
    this.#client = client
    this.#project = project
  }

  async open(serverId: string, seen?: Buffer): Promise<Console> {
    let attached = this.#attached.get(serverId)
    if (!attached) {
      attached = this.#attach(serverId)
      this.#attached.set(serverId, attached)
      attached.catch(() => this.#attached.delete(serverId))
    }
    return (await attached).line.open(seen)
  }

  /** Ends the console of a machine that is off or has booted again: Incus leaves dead consoles open. */
  end(serverId: string): void {
    this.#attached
      .get(serverId)
      ?.then(({ close }) => close())
      .catch(() => {})
  }

  close(): void {
    for (const serverId of this.#attached.keys()) this.end(serverId)
  }

  async #attach(serverId: string): Promise<Attached> {
    const path = at(`/1.0/instances/${nameOf(serverId)}/console`, { project: this.#project })
    const body = { type: 'console', width: 80, height: 24, force: true }
    const { metadata } = await this.#client.call('POST', path, { body })
    const { id, metadata: operation } = metadata as ConsoleOperation // as the API documents it
    const socketOf = (fd: string) =>
      this.#client.socket(at(`/1.0/operations/${id}/websocket`, { secret: operation.fds[fd] }))
    const control = socketOf('control')
    const data = socketOf('0')
    const early: Buffer[] = []
    const keep = (bytes: Buffer) => void early.push(bytes)
    data.on('message', keep)
    await Promise.all([opened(data), opened(control)])
    // Input before the guest's line is attached is lost, and nothing reports when it is.
    await sleep(ATTACH_MS)
    const line = new SerialLine({
      type: (bytes) => data.send(bytes),
      left: () => close(),
    })
    // Earlier and new output: the end of the log may have arrived both ways.
    const log =
      (await this.#client.bytes(path).catch(unless('missing', 'other')))?.subarray(-KEPT) ?? Buffer.alloc(0)
    const since = Buffer.concat(early)
    data.off('message', keep)
    line.print(log)
    line.print(since.subarray(overlapOf(log, since)))
    data.on('message', (bytes: Buffer) => line.print(bytes))
    let isOver = false
    const close = () => {
      // The socket closes later, and another one may be attached by then.
      if (isOver) return
      isOver = true
      this.#attached.delete(serverId)
      line.end()
      data.close()
      control.close()
    }
    data.on('close', close)
    return { line, close }
  }
}

/** @throws DriverError unavailable */
async function opened(socket: WebSocket): Promise<void> {
  try {
    await once(socket, 'open', { signal: AbortSignal.timeout(OPEN_MS) })
  } catch (error) {
    throw new DriverError('unavailable', 'The console cannot be opened', { cause: error })
  }
}

/** The number of bytes at the beginning of `later` that are also the end of `earlier`. */
function overlapOf(earlier: Buffer, later: Buffer): number {
  for (let length = Math.min(earlier.length, later.length, MOST_OVERLAP); length > 0; length--)
    if (earlier.subarray(-length).equals(later.subarray(0, length))) return length
  return 0
}
