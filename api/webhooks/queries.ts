import type { Queries } from '../database/database.ts'
import { countOf } from '../database/page.ts'
import type { Quota } from '../feature.ts'
import { liveOf } from './store.ts'

/** Counts an account's webhooks against its quota. */
function countWebhooks(db: Queries, accountId: string): Promise<number> {
  return countOf(liveOf(db, accountId))
}

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
  count: countWebhooks,
}
