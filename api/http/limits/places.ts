import { ApiError, httpProblems } from '../contract/problem.ts'

/** An account that holds a place, or asks for one. */
export interface Holder {
  accountId: string
  /** True if it has ever paid. */
  hasPaid: boolean
}

export interface Bounds {
  /** The thing that takes a place, in the plural. */
  noun: string
  /** The places of all accounts together. */
  most: number
  ofAccount: number
  /** The places of an account that has never paid: anybody can open many of these. */
  ofUnpaid: number
}

/**
 * Finds room for one more place. When all are taken, the account that has most gives one up to an account that would
 * still have fewer; an account's first place is also taken from one that has never paid. So nobody can take all.
 * @param places the holders of all places, oldest first
 * @returns the index of the place that must be given up; null if there is room
 * @throws ApiError rate_limited
 */
export function findRoom(places: readonly Holder[], asking: Holder, bounds: Bounds): number | null {
  const counts = new Map<string, number>()
  for (const { accountId } of places) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  const own = counts.get(asking.accountId) ?? 0
  const limit = asking.hasPaid ? bounds.ofAccount : bounds.ofUnpaid
  if (own >= limit) throw refusal(ownLimit(bounds, asking))
  if (places.length < bounds.most) return null
  // Among accounts with as many places, those that have never paid come first.
  const rank = ({ accountId, hasPaid }: Holder) => (counts.get(accountId) ?? 0) * 2 + (hasPaid ? 0 : 1)
  const worst = Math.max(...places.map(rank))
  const at = places.findLastIndex((holder) => rank(holder) === worst)
  const holder = places[at]
  const isRicher = worst >= (own + 2) * 2
  const isFirst = own === 0 && asking.hasPaid && holder?.hasPaid === false
  if (holder && (isRicher || isFirst)) return at
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
