import type { Clock } from '../clock.ts'

/** A result that nobody has asked about for this long is forgotten. */
const TOLD_FOR_MS = 5 * 60_000

interface Work<Result> {
  /** The share that is done, 0 to 1. */
  progress: number
  /** The result, until it is told, or too old to be told; null: the work goes on. */
  ended: { result: Result; at: number } | null
  /** Never fails. */
  done: Promise<void>
}

/** Work by id, which goes on after the call that began it. A later call is told its result, once. */
export class Ongoing<Result> {
  readonly #clock: Clock
  readonly #works = new Map<string, Work<Result>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The progress of work that goes on, or the result of work that ended and was not told; null if there is none. */
  find(id: string): { progress: number } | { result: Result } | null {
    const known = this.#works.get(id)
    if (!known?.ended) return known ? { progress: known.progress } : null
    this.#works.delete(id)
    const { result, at } = known.ended
    return this.#clock.now() - at < TOLD_FOR_MS ? { result } : null
  }

  /**
   * Begins work, unless it goes on already.
   * @param work never fails; null has nothing to tell
   */
  begin(id: string, work: (progress: (share: number) => void) => Promise<Result | null>): void {
    const known = this.#works.get(id)
    if (known && !known.ended) return
    const begun: Work<Result> = { progress: 0, ended: null, done: Promise.resolve() }
    this.#works.set(id, begun)
    const progress = (share: number) => {
      begun.progress = share
    }
    begun.done = work(progress).then((result) => {
      if (result === null) this.#works.delete(id)
      else begun.ended = { result, at: this.#clock.now() }
    })
  }

  /** Resolves when no work goes on. */
  async settled(): Promise<void> {
    await Promise.all([...this.#works.values()].map(({ done }) => done))
  }
}
