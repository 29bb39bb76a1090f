import type { FaultKind } from './faults.ts'
import type { ActName } from './requests.ts'
import type { Setup } from './setup.ts'

export interface Outcome {
  seed: number
  hash: string
  violations: string[]
  days: number
  steps: number
  /** The positions of the moves that were made, some of which a shorter history keeps. */
  moves: string[]
  sometimes: Map<string, number>
  story: string[]
}

export interface Drill {
  seed: number
  /** The preparatory acts, and last the one with the fault. */
  acts: readonly ActName[]
  fault: FaultKind
  at: number
}

export interface Drilled {
  violations: string[]
  /** False if the act ended before that opportunity of the fault. */
  hasHit: boolean
  /** The last reply of the last act. */
  said: string
}

export interface Options {
  /** Parts of the configuration that the seed does not draw. */
  setup?: Partial<Setup>
  /** The moves to make, by position (default: all that the seed draws). */
  only?: ReadonlySet<string>
  onTrace?: (line: string) => void
  /** Checks after every step, whatever the seed has drawn. */
  isStrict?: boolean
  /** True: the database is a real PostgreSQL (default: SQLite). */
  isOnPostgres?: boolean
}
