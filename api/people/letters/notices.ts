import type { Clock } from '../../clock.ts'
import type { Queries } from '../../database/database.ts'
import { audit } from '../../events/outbox.ts'
import { enqueueMail } from '../../mail/queue.ts'
import type { Secrets } from '../../secrets.ts'
import { accountIdsOf } from '../membership/members.ts'
import type { PersonTable } from '../person/tables.ts'
import type { Notice } from './letters.ts'
import { letter } from './mails.ts'

/** What a mail about a change needs. */
export interface Notify {
  clock: Clock
  secrets: Secrets
  /** Where people open the console. */
  siteUrl: () => string
  /** Called after a mail was put in. */
  mailed: () => void
}

/**
 * Notes that somebody signs in otherwise from here on: in the audit of her accounts, and by a mail to her, so that she
 * hears of what she did not do. Call `mailed` after the transaction.
 */
export async function noteChange(
  tx: Queries,
  options: Omit<Notify, 'mailed'>,
  person: Pick<PersonTable, 'person_id' | 'email' | 'language'>,
  kind: Notice,
  reason = '',
): Promise<void> {
  const { clock, siteUrl } = options
  const { person_id: personId } = person
  const accountIds = await accountIdsOf(tx, personId)
  await audit(tx, accountIds, { objectType: 'person', objectId: personId, at: clock.now() })
  const link = new URL(kind === 'person_deleted' ? '/' : '/account/security', siteUrl())
  await enqueueMail(tx, options, letter(person, kind, link, { reason }))
}
