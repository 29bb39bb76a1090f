import { BerthError } from './errors.ts'

export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>

export interface Retries {
  /** Number of retries of a failed request. */
  retries: number
  sleep: Sleep
  /** From 0 to 1: spreads the retries of many clients. */
  random: () => number
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 8_000
/** A longer Retry-After is reported instead of waited for. */
const LONGEST_RETRY_AFTER_MS = 60_000

/**
 * Requests are retried if they were certainly not carried out.
 * @param isRepeatable true if a retry is right whatever happened to the first attempt: for a GET, which changes nothing,
 * and with an Idempotency-Key
 */
export function isWorthRetrying(isRepeatable: boolean, error: Error): boolean {
  if (error instanceof BerthError && error.code === 'rate_limited') return true
  if (!isRepeatable) return false
  if (!(error instanceof BerthError)) return true
  return error.status >= 500 || error.code === 'idempotency_key_in_use'
}

/** The pause before the next attempt: doubles each time, with jitter. */
export function pauseMs(attempt: number, random: () => number): number {
  const most = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt)
  return most / 2 + (most / 2) * random()
}

/** The Retry-After of an error, 0 without one; null if it is too long to wait. */
export function retryAfterMs(error: Error): number | null {
  const ms = error instanceof BerthError ? (error.retryAfterMs ?? 0) : 0
  return ms > LONGEST_RETRY_AFTER_MS ? null : ms
}

/** Retry-After in seconds, or as a date (RFC 9110, 10.2.3). */
export function retryAfterOf({ headers }: Response): number | null {
  const value = headers.get('retry-after')
  if (value === null) return null
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** @throws the signal's reason if it is aborted meanwhile */
export const sleep: Sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
