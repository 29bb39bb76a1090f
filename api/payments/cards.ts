import type { Queries } from '../database/database.ts'

/**
 * Finds the cards that have paid for several accounts since a moment, with the last payment of each account.
 * @param least the number of accounts
 */
export async function cardsSince(db: Queries, moment: number, least: number) {
  const paid = db
    .selectFrom('payments')
    .where('created_at', '>=', moment)
    .where('card', 'is not', null)
    .where('booked_at', 'is not', null)
  const shared = paid
    .select('card')
    .groupBy('card')
    .having((eb) => eb(eb.fn.count('account_id').distinct(), '>=', least))
  return paid
    .select((eb) => ['card', 'account_id', eb.fn.max('booked_at').as('booked_at')])
    .where('card', 'in', shared)
    .groupBy(['card', 'account_id'])
    .$narrowType<{ card: string; booked_at: number }>()
    .execute()
}
