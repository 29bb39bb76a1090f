import type { Clock } from '../clock.ts'

/** A result that no call fetched within this time is dropped. */
const TOLD_FOR_MS = 5 * 60_000

interface Work<Result> {
  /** The share that is done, 0 to 1. */
  progress: number
  /** The result, until a call fetches it or it is too old; null: the work continues. */
  ended: { result: Result; at: number } | null
  /** Never fails. */
  done: Promise<void>
}

/** Runs work by id, which continues after the call that began it. A later call gets its result, once. */
export class Ongoing<Result> {
  readonly #clock: Clock
  readonly #works = new Map<string, Work<Result>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Returns the progress of ongoing work, or the result of ended work that no call has got yet; null if there
   * is none.
   */
  find(id: string): { progress: number } | { result: Result } | null {
    const known = this.#works.get(id)
    if (!known?.ended) return known ? { progress: known.progress } : null
    this.#works.delete(id)
    const { result, at } = known.ended
    return this.#clock.now() - at < TOLD_FOR_MS ? { result } : null
  }

  /**
   * Begins work, unless work with this id is in progress.
   * @param work never fails; a result of null is not kept
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

  /** Resolves when no work is in progress. */
  async settled(): Promise<void> {
    await Promise.all([...this.#works.values()].map(({ done }) => done))
  }
}
