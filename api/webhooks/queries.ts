import type { Queries } from '../database/database.ts'
import { countIn } from '../database/page.ts'
import type { Quota } from '../feature.ts'
import { liveOf } from './store.ts'

/** Counts the webhooks of all accounts by state of verification. */
export function countVerifications(db: Queries) {
  return db
    .selectFrom('webhooks')
    .select((eb) => ['verification', eb.fn.countAll<number>().as('total')])
    .where('deleted_at', 'is', null)
    .groupBy('verification')
    .execute()
}

export const webhookQuota: Quota = {
  name: 'webhooks',
  description: 'Webhooks',
  limit: 20,
  example: 0,
  count: (db, accountId) => countIn(liveOf(db, accountId)),
}
