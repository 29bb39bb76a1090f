import type { Console, Printed } from './console.ts'

/** Bytes of a guest's output that are kept: shown first, and the most that a reader may be behind. */
export const KEPT = 64 * 1024
const CHUNK = 16 * 1024

interface LineOptions {
  /** Called with the input of a reader. */
  type: (bytes: Uint8Array) => void
  /** Called when the last reader has left. */
  left?: () => void
}

/**
 * A guest's serial console with any number of readers. Each reads from its own position and at its own speed: a slow one
 * takes no memory, and neither the guest nor other readers wait for it.
 */
export class SerialLine {
  readonly #options: LineOptions
  readonly #ring = Buffer.alloc(KEPT)
  /** The open readers, each with a function that wakes it. */
  readonly #readers = new Map<Console, () => void>()
  /** The number of bytes that were ever printed. */
  #length = 0
  #isOver = false

  constructor(options: LineOptions) {
    this.#options = options
  }

  print(bytes: Buffer): void {
    const kept = bytes.subarray(-KEPT)
    this.#length += bytes.length
    const at = (this.#length - kept.length) % KEPT
    const fitting = kept.copy(this.#ring, at)
    kept.copy(this.#ring, 0, fitting)
    this.#tell()
  }

  /** Ends the line, because the machine is off. Readers still get the rest. */
  end(): void {
    this.#isOver = true
    this.#tell()
  }

  /** @param seen see Driver.openConsole */
  open(seen?: Buffer): Console {
    const { type, left } = this.#options
    let position = this.#oldest
    if (seen && seen.length > 0) {
      const kept = this.#slice(position, this.#length)
      // The first match counts: output that is shown twice is better than lost output.
      const at = kept.indexOf(seen)
      if (at >= 0) position += at + seen.length
    }
    let isClosed = false
    let wake = () => {}
    const read = async (): Promise<Printed | null> => {
      while (!isClosed && position === this.#length) {
        if (this.#isOver) return null
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      if (isClosed) return null
      const start = Math.max(position, this.#oldest)
      const skipped = start - position
      position = Math.min(this.#length, start + CHUNK)
      return { bytes: this.#slice(start, position), skipped }
    }
    const close = () => {
      isClosed = true
      wake()
      if (this.#readers.delete(reader) && this.#readers.size === 0) left?.()
    }
    const write = (bytes: Uint8Array) => {
      if (!isClosed && !this.#isOver) type(bytes)
    }
    const reader: Console = { read, write, close }
    this.#readers.set(reader, () => wake())
    return reader
  }

  get #oldest(): number {
    return Math.max(0, this.#length - KEPT)
  }

  #slice(from: number, to: number): Buffer {
    const at = from % KEPT
    const head = this.#ring.subarray(at, at + to - from)
    return Buffer.concat([head, this.#ring.subarray(0, to - from - head.length)])
  }

  #tell(): void {
    for (const wake of this.#readers.values()) wake()
  }
}
