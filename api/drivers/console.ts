import type { Duplex } from 'node:stream'

/** One reader of a guest's serial console, or of its screen, whose bytes are those of RFB (RFC 6143). */
export interface Console {
  /** Returns the guest's output as soon as there is some; null: the machine is off, or this was closed. */
  read(): Promise<Printed | null>
  /** Sends input. A serial line has a small buffer: input that the guest does not read in time is lost. */
  write(bytes: Uint8Array): void
  close(): void
}

export interface Printed {
  bytes: Buffer
  /** The number of bytes before `text` that this reader missed, because it was too slow; always 0 for a screen. */
  skipped: number
}

/** The most input that waits for a screen. A reader that sends more is disconnected, since RFB must not lose any. */
const MOST_WAITING = 64 * 1024

/** Returns the reader of a screen at the other end of a stream. */
export function screenOver(stream: Duplex): Console {
  const pieces: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]()
  return {
    read: async () => {
      const { value, done } = await pieces.next().catch(() => ({ value: null, done: true }))
      return done || !value ? null : { bytes: value, skipped: 0 }
    },
    write: (bytes) => {
      if (stream.writableLength > MOST_WAITING) stream.destroy()
      else if (stream.writable) stream.write(bytes)
    },
    close: () => void stream.destroy(),
  }
}
