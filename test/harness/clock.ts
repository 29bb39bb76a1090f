import type { Clock } from '../../api/clock.ts'

interface Sleeper {
  at: number
  wake: () => void
}

/** A clock that stands still until a test advances it. */
export class ManualClock implements Clock {
  #now: number
  readonly #sleepers = new Set<Sleeper>()

  constructor(start = Date.parse('2026-11-20T12:00:00Z')) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const sleeper = { at: this.#now + ms, wake: () => finish() }
      const finish = () => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', finish)
        resolve()
      }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', finish)
    })
  }

  /** Advances the clock and wakes sleepers whose time has come, in order of time. */
  advance(ms: number): void {
    this.#now += ms
    const due = [...this.#sleepers].filter((sleeper) => sleeper.at <= this.#now).sort((a, b) => a.at - b.at)
    for (const sleeper of due) sleeper.wake()
  }
}
