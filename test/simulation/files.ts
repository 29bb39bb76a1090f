import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { Faults } from './faults.ts'
import type { Scheduler } from './scheduler.ts'

/** The web server with customers' files, which the service downloads. */
export const FILES = 'files.example.com'
/** A file larger than one part of a download. */
export const LARGE_FILE = 8 * 2 ** 20 + 4096

/** The offset of an ISO's signature. */
const ISO_AT = 0x8001

const made = new Map<string, Buffer>()

/**
 * Makes a disk that is also an ISO if it is large enough. Each byte depends on its offset and the version, so that
 * misplaced parts and parts of another version are detected.
 */
export function fileOf(bytes: number, version: number): Buffer {
  const known = made.get(`${bytes} ${version}`)
  if (known) return known
  const file = Buffer.alloc(bytes)
  for (let at = 0; at < bytes; at += 1) file[at] = (at * 7 + (at >> 8) + version * 13) & 0xff
  if (bytes > 512) file.writeUInt16BE(0x55aa, 510)
  if (bytes > ISO_AT + 5) file.write('CD001', ISO_AT, 'latin1')
  file[0] = version
  made.set(`${bytes} ${version}`, file)
  return file
}

interface Sent {
  headers?: Record<string, string>
  path?: string
}

/** Serves files in parts as web servers do: some replies are cut off, and some files change during a download. */
export class Files {
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  readonly #asked = new Map<string, number>()

  constructor(scheduler: Scheduler, faults: Faults) {
    this.#scheduler = scheduler
    this.#faults = faults
  }

  serves(options: object): boolean {
    return (options as Sent).headers?.host === FILES
  }

  /** Stands in for node's http.request. */
  readonly request = (options: object): EventEmitter => {
    const { headers = {}, path = '/' } = options as Sent // the service's own
    const sent = Object.assign(new EventEmitter(), {
      destroy: () => sent,
      end: () => {
        void this.#answer(sent, path, headers.range ?? '')
        return sent
      },
    })
    return sent
  }

  async #answer(sent: EventEmitter, path: string, range: string): Promise<void> {
    const { actor } = this.#scheduler
    await this.#scheduler.cross(actor, 'download', 50)
    if (this.#faults.happens('receiver_fails'))
      return void sent.emit('error', Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
    const [, kind = '', bytes = '0', name = ''] = /^\/(\w+)\/(\d+)\/(\w+)/.exec(path) ?? []
    const times = this.#asked.get(name) ?? 0
    this.#asked.set(name, times + 1)
    const version = kind === 'changing' ? Math.min(times, 200) : 1
    const [, first = '0', last = '0'] = /bytes=(\d+)-(\d+)/.exec(range) ?? []
    const file = fileOf(Number(bytes), version)
    const content = file.subarray(Number(first), Number(last) + 1)
    const end = Number(first) + content.length - 1
    const isCut = this.#faults.happens('receiver_hangs')
    const reply = Object.assign(Readable.from([isCut ? content.subarray(0, content.length / 2) : content]), {
      statusCode: 206,
      headers: { etag: `"${version}"`, 'content-range': `bytes ${first}-${end}/${file.length}` },
    })
    sent.emit('response', reply)
    sent.emit('close')
  }
}
