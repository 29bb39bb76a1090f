/** A jump ahead by more than this is not drift, and is not trusted at once. */
const JUMP_MS = 10 * 60_000
const BELIEVED_AFTER_MS = 10 * 60_000

/**
 * Compares the system clock with a monotonic clock. Charges are final: a clock that is a year ahead for a minute must
 * not charge that year. A jump is trusted after ten minutes.
 */
export class ClockWatch {
  #last: { wall: number; count: number } | null = null
  /** The monotonic time of the jump; null: the clock is trusted. */
  #jumpedAt: number | null = null

  /** @param count milliseconds of a monotonic clock, with any origin */
  look(wall: number, count: number): 'trusted' | 'jumped' | 'waiting' {
    const last = this.#last
    this.#last = { wall, count }
    const step = last ? wall - last.wall - (count - last.count) : 0
    if (step > JUMP_MS) {
      this.#jumpedAt = count
      return 'jumped'
    }
    // The clock was set back again, which ends the fault.
    if (step < -JUMP_MS || (this.#jumpedAt !== null && count - this.#jumpedAt >= BELIEVED_AFTER_MS))
      this.#jumpedAt = null
    return this.#jumpedAt === null ? 'trusted' : 'waiting'
  }
}
