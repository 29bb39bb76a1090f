import { ApiError, httpProblems } from '../contract/problem.ts'

/** An account that holds a place, or asks for one. */
export interface Holder {
  accountId: string
  /** True if it has ever paid. */
  hasPaid: boolean
}

export interface Bounds {
  /** The plural noun that messages call the places by, such as "streams". */
  noun: string
  /** The places of all accounts together. */
  most: number
  ofAccount: number
  /** The places of an account that has never paid: anybody can open many unpaid accounts. */
  ofUnpaid: number
}

/**
 * Finds room for one more place. When all are taken, the account that has the largest share of its limit gives one up
 * to an account that would still have a smaller share, or that asks for its first. So nobody can take all, and
 * accounts that have never paid cannot push out one that pays.
 * @param places the holders of all places, oldest first
 * @returns the index of the place that must be given up; null if there is room
 * @throws ApiError rate_limited
 */
export function findRoom(places: readonly Holder[], asking: Holder, bounds: Bounds): number | null {
  const counts = new Map<string, number>()
  for (const { accountId } of places) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  const countOf = ({ accountId }: Holder) => counts.get(accountId) ?? 0
  const limitOf = ({ hasPaid }: Holder) => (hasPaid ? bounds.ofAccount : bounds.ofUnpaid)
  const own = countOf(asking)
  if (own >= limitOf(asking)) throw refusal(ownLimit(bounds, asking))
  if (places.length < bounds.most) return null
  const shareOf = (holder: Holder) => countOf(holder) / limitOf(holder)
  const largest = Math.max(...places.map(shareOf))
  const isLargest = (holder: Holder) => shareOf(holder) === largest
  // Among equal shares, accounts that have never paid come first.
  const free = places.findLastIndex((holder) => isLargest(holder) && !holder.hasPaid)
  const isSmaller = (own + 1) / limitOf(asking) < largest
  if (own === 0 || isSmaller) return free === -1 ? places.findLastIndex(isLargest) : free
  throw refusal(`All ${bounds.most} ${bounds.noun} of this installation are taken. Try again in a moment.`)
}

function ownLimit({ noun, ofAccount, ofUnpaid }: Bounds, { hasPaid }: Holder): string {
  return hasPaid
    ? `An account can have ${ofAccount} open ${noun}. Close one first.`
    : `An account that has never paid can have ${ofUnpaid} open ${noun}, others ${ofAccount}. Close one first.`
}

function refusal(detail: string): ApiError {
  return new ApiError(httpProblems.rate_limited, detail, {}, { 'retry-after': '5' })
}
