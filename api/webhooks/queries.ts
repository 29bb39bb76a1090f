import type { Queries } from '../database/database.ts'
import { countOf } from '../database/page.ts'
import { liveOf } from './store.ts'

/** How many of its quota an account has; api/app.ts hands it to the account's profile. */
export function countWebhooks(db: Queries, accountId: string): Promise<number> {
  return countOf(liveOf(db, accountId))
}

/** How many webhooks there are of each state of verification, all accounts together. */
export function countVerifications(db: Queries) {
  return db
    .selectFrom('webhooks')
    .select((eb) => ['verification', eb.fn.countAll<number>().as('total')])
    .where('deleted_at', 'is', null)
    .groupBy('verification')
    .execute()
}
