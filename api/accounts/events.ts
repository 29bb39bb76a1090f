import type { Queries } from '../database/database.ts'
import { record } from '../events/outbox.ts'
import type { Quota } from '../feature.ts'
import { limitsOf } from './quotas.ts'
import type { AccountTable } from './tables.ts'
import { ownPrices } from './view.ts'

/** Records the event for a change of an account by an operator. */
export async function recordUpdate(
  tx: Queries,
  account: AccountTable,
  { quotas, reason, at }: { quotas: readonly Quota[]; reason: string; at: number },
): Promise<void> {
  const { account_id, status } = account
  const is_smtp_open = account.is_smtp_open === 1
  const limits = await limitsOf(tx, account, quotas)
  const data = { account_id, status, quotas: limits, ...ownPrices(account), is_smtp_open, reason }
  await record(tx, [{ accountId: account_id, type: 'account.updated', data, at }])
}
