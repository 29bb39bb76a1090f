import type { Catalog } from '../catalog/file.ts'
import { withTerms } from '../catalog/terms.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import type { Quota } from '../feature.ts'
import type { Terms } from '../http/contract/auth.ts'
import { findAccount } from './accounts.ts'
import { recordUpdate } from './events.ts'
import { termsOf } from './status.ts'

/**
 * The time for which items of an account are compared with its prices after these changed: longer than any order or
 * operation that began before.
 */
const SETTLING_MS = 3600_000

/** Returns the catalogue at the prices of an account. */
export async function pricedFor(db: Queries, catalog: Catalog, accountId: string): Promise<Catalog> {
  return withTerms(catalog, termsOf(await findAccount(db, accountId)))
}

/**
 * Sets the prices of an account. Its existing objects are billed at these prices from this moment, once they
 * are repriced.
 * @returns the moment
 */
export function changeTerms(
  { db, clock, quotas }: { db: Database; clock: Clock; quotas: readonly Quota[] },
  accountId: string,
  { percent, presets, reason }: Terms & { reason: string },
): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const at = clock.now()
    const terms = { price_percent: percent, price_presets: JSON.stringify(presets), repriced_since: at }
    const row = await tx
      .updateTable('accounts')
      .set(terms)
      .where('account_id', '=', accountId)
      .returningAll()
      .executeTakeFirstOrThrow()
    await recordUpdate(tx, row, { quotas, reason, at })
    return at
  })
}

/** Lists the accounts whose prices changed recently. */
export function changedTerms(db: Queries) {
  return changed.all(db, {})
}

const changed = prepared((db) =>
  db
    .selectFrom('accounts')
    .select(['account_id', 'repriced_since as at'])
    .where('repriced_since', 'is not', null)
    .$narrowType<{ at: number }>(),
)

/** Notes that all objects have the changed prices, once no order is left that began before the change. */
export async function settleTerms(db: Queries, accountId: string, at: number, now: number): Promise<void> {
  if (now - at < SETTLING_MS) return
  await db
    .updateTable('accounts')
    .set({ repriced_since: null })
    .where('account_id', '=', accountId)
    .where('repriced_since', '=', at)
    .execute()
}
