import type { Clock } from '../../clock.ts'
import type { Queries } from '../../database/database.ts'
import { audit } from '../../events/outbox.ts'
import { enqueueMail } from '../../mail/queue.ts'
import type { Secrets } from '../../secrets.ts'
import { accountIdsOf } from '../membership/members.ts'
import type { PersonTable } from '../person/tables.ts'
import type { Notice } from './letters.ts'
import { letter } from './mails.ts'

/** Parts needed to send a notice. */
export interface Notify {
  clock: Clock
  secrets: Secrets
  /** Address at which people open the console. */
  siteUrl: () => string
  /** Called after a mail was queued. */
  mailed: () => void
}

/**
 * Records a change of how a person signs in, in the audit of their accounts. It mails the person a notice, in case
 * somebody else made the change. Call `mailed` after the transaction.
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
