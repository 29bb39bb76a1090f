import type { Clock } from '../clock.ts'
import type { Queries } from '../database/database.ts'
import type { Secrets } from '../secrets.ts'
import { grant } from './credits.ts'

/** The credit of a trial, in units, and the days until its rest expires. */
export interface Trial {
  amount: number
  days: number
}

/** Gives an account that a person has created by signing up the credit of a trial: once for each address, for good. */
export async function grantTrial(
  tx: Queries,
  { clock, secrets, trial }: { clock: Clock; secrets: Secrets; trial: Trial },
  { accountId, email }: { accountId: string; email: string },
): Promise<void> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('trials')
    .values({ address_hash: secrets.for('trials').digest(email), created_at: clock.now() })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) return
  const { amount, days } = trial
  await grant(tx, clock, {
    ...{ accountId, amount, days, promoCodeId: null },
    description: `Trial, for ${days} days`,
  })
}
