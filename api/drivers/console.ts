/** One reader of a guest's serial console. */
export interface Console {
  /** Returns the guest's output as soon as there is some; null: the machine is off, or this was closed. */
  read(): Promise<Printed | null>
  /** Types. Input that the guest does not read in time is lost: a line has a small buffer. */
  write(bytes: Uint8Array): void
  close(): void
}

export interface Printed {
  bytes: Buffer
  /** The number of bytes before it that this reader missed, because it was too slow. */
  skipped: number
}
