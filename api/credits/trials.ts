import { domainToASCII } from 'node:url'
import type { Clock } from '../clock.ts'
import type { Queries } from '../database/database.ts'
import type { Secrets } from '../secrets.ts'
import { grant } from './credits.ts'

/** The credit of a trial, in units, and the days until its rest expires. */
export interface Trial {
  amount: number
  days: number
}

/** Maps spellings of one mailbox to one: drops +anything, and normalizes the domain's case, dot and alphabet. */
function mailboxOf(email: string): string {
  const at = email.lastIndexOf('@')
  const name = email.slice(0, at).replace(/(?<=.)\+.*$/, '')
  const domain = email.slice(at + 1).replace(/\.$/, '')
  return `${name}@${domainToASCII(domain) || domain}`
}

/** Gives trial credit to an account created at sign-up, only once for each mailbox. */
export async function grantTrial(
  tx: Queries,
  { clock, secrets, trial }: { clock: Clock; secrets: Secrets; trial: Trial },
  { accountId, email }: { accountId: string; email: string },
): Promise<void> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('trials')
    .values({ address_hash: secrets.for('trials').digest(mailboxOf(email)), created_at: clock.now() })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) return
  const { amount, days } = trial
  await grant(tx, clock, {
    ...{ accountId, amount, days, promoCodeId: null },
    description: `Trial, for ${days} days`,
  })
}
