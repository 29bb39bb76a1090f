import type { Clock } from '../clock.ts'
import { isDiskFull } from './database.ts'

/**
 * The time after the last failure in which the disk counts as full. Samples are written at least once a
 * minute.
 */
const WINDOW_MS = 120_000

/** Remembers whether writes fail because a disk is full, for health checks, metrics and the log. */
export class FullDisk {
  readonly #clock: Clock
  #failedAt = Number.NEGATIVE_INFINITY
  #isTold = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isFull(): boolean {
    return this.#clock.now() - this.#failedAt < WINDOW_MS
  }

  /** Notes an error of any kind. @returns true if it means that a disk is full */
  note(error: unknown): boolean {
    if (!isDiskFull(error)) return false
    if (!this.isFull) this.#isTold = false
    this.#failedAt = this.#clock.now()
    return true
  }

  /** @returns true once for each time that the disk is full */
  isNews(): boolean {
    const isNews = this.isFull && !this.#isTold
    this.#isTold = true
    return isNews
  }
}
