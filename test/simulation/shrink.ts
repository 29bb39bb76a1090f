import { live } from './history.ts'
import type { Options, Outcome } from './outcome.ts'

/** The most histories that are simulated to find a shorter one. */
const MOST_RUNS = 200

/** Returns the promise that a finding names, without the ids of this history's objects. */
const promiseOf = (violation: string) => violation.split(':')[0] ?? ''

/**
 * Finds a shorter history of the same seed that breaks the same promise: leaves out half of the moves, then a quarter,
 * down to single ones.
 */
export async function shrink(failed: Outcome, options: Options): Promise<Outcome> {
  const promise = promiseOf(failed.violations[0] ?? '')
  let best = failed
  let runs = 0
  const attempt = async (moves: readonly string[]): Promise<boolean> => {
    runs += 1
    const outcome = await live(failed.seed, { ...options, only: new Set(moves), isStrict: true })
    const isSame = outcome.violations.some((what) => promiseOf(what) === promise)
    if (isSame) best = outcome
    return isSame
  }
  for (let size = Math.ceil(best.moves.length / 2); size >= 1 && runs < MOST_RUNS; ) {
    let hasShrunk = false
    for (let at = 0; at < best.moves.length && runs < MOST_RUNS; ) {
      const rest = best.moves.filter((_, place) => place < at || place >= at + size)
      if (await attempt(rest)) hasShrunk = true
      else at += size
    }
    if (size === 1 && !hasShrunk) break
    if (!hasShrunk || size > 1) size = Math.max(1, Math.floor(size / 2))
    if (size === 1 && best.moves.length <= 1) break
  }
  return best
}
