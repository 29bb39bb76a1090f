import type { Clock } from '../clock.ts'
import { DriverError } from './driver.ts'

/** Of somebody who waits for a reply, and can be told what is stored. */
const PATIENCE_MS = 2_000

/** What a driver answers in time; null: it can't, or takes too long. */
export async function soon<Result>(clock: Clock, asked: Promise<Result>): Promise<Result | null> {
  const timer = new AbortController()
  const late = clock.sleep(PATIENCE_MS, timer.signal).then(() => null)
  const answer = asked.catch((error: unknown) => {
    if (error instanceof DriverError) return null
    throw error
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    timer.abort()
  }
}
