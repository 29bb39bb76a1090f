import type { Queries } from '../database/database.ts'
import { lockLedgers } from './ledger.ts'
import { fundsOf } from './standing.ts'

/**
 * Sets the amount that an account may owe: it pays afterwards. A lower one holds from the next charge on.
 * @param limit units; 0: the account pays in advance
 */
export async function setCreditLimit(tx: Queries, accountId: string, limit: number): Promise<void> {
  const ledger = (await lockLedgers(tx, [accountId])).get(accountId)
  if (!ledger) throw new Error('the ledger of the account is not locked')
  const isUsedUp = fundsOf({ ...ledger, credit_limit: limit }) <= 0
  await tx
    .updateTable('ledgers')
    .set({ credit_limit: limit, low_since: null, ...(isUsedUp ? {} : { depleted_since: null }) })
    .where('account_id', '=', accountId)
    .execute()
}
