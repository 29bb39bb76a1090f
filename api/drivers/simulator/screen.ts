import { type Duplex, duplexPair } from 'node:stream'
import { type Console, screenOver } from '../console.ts'

const WIDTH = 640
const HEIGHT = 400
const NAME = 'Simulated screen'
/** The most keys that are remembered, each with a block on the screen. */
const MOST_KEYS = 600
const BLOCK = { columns: 60, width: 8, height: 16 }
/** The picture: a frame, its title, and lines, each with its colour, place and size. */
const PICTURE: [colour: number, x: number, y: number, width: number, height: number][] = [
  [0x2f6fed, 20, 20, 600, 28],
  [0xffffff, 32, 30, 160, 8],
  [0x1d232c, 20, 48, 600, 332],
  [0x9aa4b2, 40, 68, 220, 8],
  [0x9aa4b2, 40, 88, 320, 8],
]
const BACKGROUND = 0x0b0d10
const KEY_COLOUR = 0x58d68d
const RRE = 2

/** Sizes of a client's messages after their type, without lists (RFC 6143, section 7.5). */
const SIZES: Record<number, number> = { 0: 19, 2: 3, 3: 9, 4: 7, 5: 5, 6: 7 }

/** The screen of a simulated guest: a plain picture, with a block for each key that was pressed. It speaks RFB. */
export class SimulatedScreen {
  /** The keys that were pressed, as keysyms of X11. */
  readonly keys: number[] = []
  readonly #streams = new Set<Duplex>()
  /** Called when the picture has changed. */
  readonly #watchers = new Set<() => void>()

  open(): Console {
    const [guest, viewer] = duplexPair()
    this.#streams.add(guest)
    viewer.once('close', () => guest.destroy())
    guest.once('close', () => {
      this.#streams.delete(guest)
      viewer.destroy()
    })
    // The screen ends with its stream.
    this.#serve(guest).catch(() => guest.destroy())
    return screenOver(viewer)
  }

  /** Closes the screen for all viewers, because the machine is off. */
  end(): void {
    for (const stream of this.#streams) stream.destroy()
  }

  press(key: number): void {
    if (this.keys.length < MOST_KEYS) this.keys.push(key)
    for (const tell of this.#watchers) tell()
  }

  async #serve(stream: Duplex): Promise<void> {
    const take = readerOf(stream)
    await greet(stream, take)
    let shifts = [16, 8, 0]
    let isAwaited = false
    const show = () => {
      if (isAwaited) stream.write(this.#update(shifts))
      isAwaited = false
    }
    this.#watchers.add(show)
    stream.once('close', () => this.#watchers.delete(show))
    for (;;) {
      const type = (await take(1)).readUInt8()
      const message = await take(sizeOf(type))
      if (type === 0) shifts = [...message.subarray(13, 16)]
      if (type === 2) await take(4 * message.readUInt16BE(1))
      if (type === 6) await take(Math.min(message.readUInt32BE(3), 2 ** 16))
      if (type === 4 && message[0] === 1) this.press(message.readUInt32BE(3))
      if (type === 3) {
        isAwaited = true
        // An incremental request is answered by the next change.
        if (message[0] === 0) show()
      }
    }
  }

  #update(shifts: number[]): Buffer {
    const blocks = this.keys.map((_, at): (typeof PICTURE)[number] => {
      const [row, column] = [Math.floor(at / BLOCK.columns), at % BLOCK.columns]
      return [KEY_COLOUR, 40 + column * BLOCK.width, 108 + row * BLOCK.height, BLOCK.width - 2, 12]
    })
    const parts = [...PICTURE, ...blocks]
    const head = Buffer.alloc(4 + 12 + 8)
    head.writeUInt16BE(1, 2)
    head.writeUInt16BE(WIDTH, 8)
    head.writeUInt16BE(HEIGHT, 10)
    head.writeInt32BE(RRE, 12)
    head.writeUInt32BE(parts.length, 16)
    head.writeUInt32LE(pixel(BACKGROUND, shifts), 20)
    return Buffer.concat([
      head,
      ...parts.map(([colour, ...place]) => {
        const part = Buffer.alloc(12)
        part.writeUInt32LE(pixel(colour, shifts))
        for (const [at, value] of place.entries()) part.writeUInt16BE(value, 4 + 2 * at)
        return part
      }),
    ])
  }
}

/** Version 3.8, without a password, and the size of the screen (RFC 6143, sections 7.1 to 7.3). */
async function greet(stream: Duplex, take: Take): Promise<void> {
  stream.write('RFB 003.008\n')
  await take(12)
  stream.write(Buffer.from([1, 1]))
  await take(1)
  stream.write(Buffer.alloc(4))
  await take(1)
  const size = Buffer.alloc(4)
  size.writeUInt16BE(WIDTH, 0)
  size.writeUInt16BE(HEIGHT, 2)
  const format = Buffer.from([32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(NAME.length)
  stream.write(Buffer.concat([size, format, length, Buffer.from(NAME)]))
}

function sizeOf(type: number): number {
  const size = SIZES[type]
  if (size === undefined) throw new Error(`no such message: ${type}`)
  return size
}

/** A colour of 24 bits in the format that a client has asked for. */
function pixel(colour: number, [red = 0, green = 0, blue = 0]: number[]): number {
  const part = (from: number, to: number) => ((colour >> from) & 255) << (to & 31)
  return (part(16, red) | part(8, green) | part(0, blue)) >>> 0
}

type Take = (count: number) => Promise<Buffer>

/** Returns a function for the next bytes of a stream, which throws once it has ended. */
function readerOf(stream: Duplex): Take {
  const pieces: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]()
  let held = Buffer.alloc(0)
  return async (count) => {
    while (held.length < count) {
      const { value, done } = await pieces.next()
      if (done) throw new Error('the viewer has left')
      held = Buffer.concat([held, value])
    }
    const taken = held.subarray(0, count)
    held = held.subarray(count)
    return taken
  }
}
