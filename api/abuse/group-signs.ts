import { accountsSince } from '../accounts/queries.ts'
import type { Queries } from '../database/database.ts'
import { firstAddresses } from '../events/audit.ts'
import { networkOf } from '../http/limits/rate-limit.ts'
import { cardsSince } from '../payments/cards.ts'
import { CARD_MS, kinds, NETWORK_MS } from './kinds.ts'
import type { Found } from './signs.ts'

/** The most accounts that a sign lists; its figure counts all of them. */
const MOST_NAMED = 500

/** An account, and when it did something at a network or with a card. */
interface Deed {
  subject: string
  account_id: string
  at: number
}

/** Finds networks from which many accounts were created recently, and cards that paid for several. */
export async function findGroups(db: Queries, now: number): Promise<Found[]> {
  const created = await firstAddresses(db, (tx) => accountsSince(tx, now - NETWORK_MS))
  const paid = await cardsSince(db, now - CARD_MS, kinds.accounts_of_card.least)
  return [
    ...groups(
      'accounts_of_network',
      created.flatMap(({ account_id, created_at, address }) =>
        address === null ? [] : [{ subject: networkOf(address), account_id, at: created_at }],
      ),
    ),
    ...groups(
      'accounts_of_card',
      paid.map(({ card, account_id, booked_at }) => ({ subject: card, account_id, at: booked_at })),
    ),
  ]
}

function groups(kind: 'accounts_of_network' | 'accounts_of_card', deeds: readonly Deed[]): Found[] {
  return [...Map.groupBy(deeds, ({ subject }) => subject)].flatMap(([subject, all]) => {
    const sorted = all.toSorted((a, b) => b.at - a.at)
    const accounts = [...new Set(sorted.map(({ account_id }) => account_id))]
    const [newest, oldest] = [sorted[0], sorted.at(-1)]
    if (!newest || !oldest || accounts.length < kinds[kind].least) return []
    const named = { accountId: null, accounts: accounts.slice(0, MOST_NAMED), figure: accounts.length }
    return [{ kind, subject, ...named, since: oldest.at, seenAt: newest.at }]
  })
}
