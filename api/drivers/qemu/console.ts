import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '../../files.ts'
import { Pace } from '../../loop.ts'
import type { Console } from '../console.ts'
import { DriverError, type MachineState } from '../driver.ts'
import { KEPT, SerialLine } from '../serial-line.ts'
import type { Context } from './launch.ts'
import { readRun } from './layout.ts'
import { lastBytes } from './logs.ts'

/** Linux's open(2) flag, which Node does not name: opens a path itself, without following a link. */
const O_PATH = 0o10000000
/** Output printed earlier reaches the log within this time. */
const SETTLE_MS = 30
/** Bytes of live output that are searched for in the log, to join the two without a repeat. */
const OVERLAP = 4096
/** Bytes of typed input that may wait for the guest. */
const MAX_TYPED = 64 * 1024
/** This limit is above the speed of any serial port. It bounds a QEMU that its guest has taken over. */
const FLOOD = { perSecond: 4 * 2 ** 20, burst: 2 ** 20 }

/**
 * The serial consoles that have readers. QEMU serves one connection for each console, which all its readers share.
 * The log's writer works in any case, and nothing here delays it.
 */
export class SerialConsoles {
  readonly #context: Pick<Context, 'layout' | 'clock'>
  readonly #inspect: (serverId: string) => Promise<MachineState>
  readonly #lines = new Map<string, Promise<SerialLine | null>>()
  readonly #sockets = new Set<Socket>()

  constructor(
    context: Pick<Context, 'layout' | 'clock'>,
    inspect: (serverId: string) => Promise<MachineState>,
  ) {
    this.#context = context
    this.#inspect = inspect
  }

  /** Implements Driver.openConsole. */
  async open(serverId: string, seen?: Buffer): Promise<Console> {
    const isOn = async () => (await this.#inspect(serverId)).power === 'running'
    const line = (await isOn()) ? await this.#line(serverId) : null
    if (line) return line.open(seen)
    // The machine may have been turned off in the meantime.
    if (await isOn()) throw new DriverError('unsupported', 'The machine has no console until its next start')
    throw new DriverError('not_found', 'The machine is off')
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** @returns null if the machine's console socket does not exist */
  #line(serverId: string): Promise<SerialLine | null> {
    const known = this.#lines.get(serverId)
    const line = known ?? this.#connect(serverId)
    if (!known) {
      this.#lines.set(serverId, line)
      void line.then(
        (found) => found ?? this.#forget(serverId, line),
        () => this.#forget(serverId, line),
      )
    }
    return line
  }

  #forget(serverId: string, line: Promise<SerialLine | null> | undefined): void {
    if (this.#lines.get(serverId) === line) this.#lines.delete(serverId)
  }

  async #connect(serverId: string): Promise<SerialLine | null> {
    const { layout, clock } = this.#context
    const files = layout.files(serverId)
    const run = await readRun(files)
    const socket = run && (await connected(join(run.sockets, 'serial.sock')))
    if (!socket) return null
    this.#sockets.add(socket)
    const self = this.#lines.get(serverId)
    const line = new SerialLine({
      type: (bytes) => void (socket.writableLength < MAX_TYPED && socket.write(bytes)),
      left: () => {
        this.#forget(serverId, self)
        socket.destroy()
      },
    })
    let early: Buffer[] | null = []
    const pace = new Pace(clock, FLOOD)
    socket.on('data', (bytes) => {
      if (early) early.push(bytes)
      else line.print(bytes)
      const waitMs = pace.take(bytes.length)
      if (waitMs === 0) return
      socket.pause()
      void clock.sleep(waitMs).then(() => socket.resume())
    })
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.#forget(serverId, self)
      line.end()
    })
    await sleep(SETTLE_MS)
    const before = await lastBytes(files.serialLog, KEPT)
    const since = Buffer.concat(early)
    line.print(before.subarray(0, before.length - overlap(before, since)))
    line.print(since)
    early = null
    return line
  }
}

/**
 * Connects to a socket, but never through a link. A guest that has taken over its QEMU could otherwise lead the
 * service, and what the customer types, to any program on the host.
 */
export async function connected(path: string): Promise<Socket | null> {
  const place = await open(path, O_PATH | constants.O_NOFOLLOW).catch((error: unknown) => {
    if (['ENOENT', 'ELOOP'].includes(errorCode(error) ?? '')) return null
    throw error
  })
  if (!place) return null
  try {
    if (!(await place.stat()).isSocket()) return null
    const socket = createConnection(`/proc/self/fd/${place.fd}`)
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).on('error', () => resolve(false))
    })
    return isOpen ? socket : null
  } finally {
    await place.close()
  }
}

/** Returns how many bytes at the end of `before` are also the beginning of `since`. */
export function overlap(before: Buffer, since: Buffer): number {
  for (let length = Math.min(before.length, since.length, OVERLAP); length > 0; length--)
    if (before.subarray(before.length - length).equals(since.subarray(0, length))) return length
  return 0
}
