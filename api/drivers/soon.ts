import type { Clock } from '../clock.ts'
import { DriverError } from './driver.ts'

/** The time that a client waits for fresh figures, before it gets stored ones. */
const PATIENCE_MS = 2_000

/** Returns a driver's answer if it comes in time; null: it failed, or takes too long. */
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
