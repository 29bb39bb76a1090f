import { lockAccount } from '../accounts/accounts.ts'
import type { Queries } from '../database/database.ts'
import { enqueueMail } from '../mail/queue.ts'
import { complaintMail } from '../people/letters/complaints.ts'
import { type Mailing, MailLoop } from '../people/letters/mail-loop.ts'
import { pageOfAccount } from '../people/letters/mails.ts'
import { readersOf } from '../people/membership/members.ts'
import { noteMailed, wholeView } from './complaints.ts'

interface Due {
  complaint_id: string
  account_id: string
}

/** Mails owners and admins about complaints, including those opened by a command. */
export function complaintMails(mailing: Mailing): MailLoop<Due> {
  const { db } = mailing
  return new MailLoop(mailing, {
    about: 'complaints',
    due: (now, atMost) =>
      db
        .selectFrom('complaints')
        .select(['complaint_id', 'account_id'])
        .where('letter_at', '<=', now)
        .orderBy('letter_at')
        .limit(atMost)
        .execute(),
    mail: async (tx, { complaint_id, account_id }) => {
      await lockAccount(tx, account_id)
      await mail(tx, mailing, complaint_id)
    },
  })
}

/** Reads the complaint again, because it may have changed before the caller locked the account. */
async function mail(tx: Queries, mailing: Mailing, complaintId: string): Promise<void> {
  const now = mailing.clock.now()
  const row = await tx
    .selectFrom('complaints')
    .selectAll()
    .where('complaint_id', '=', complaintId)
    .where('letter_at', '<=', now)
    .executeTakeFirst()
  if (!row?.letter) return
  const link = pageOfAccount(mailing.siteUrl(), '/account/complaints', row.account_id)
  const last = wholeView(now)(row).messages.at(-1)
  const said = last?.author === 'operator' ? last.text : null
  const facts = { ...row, letter: row.letter, last: said, deadlineAt: row.deadline_at }
  for (const reader of await readersOf(tx, row.account_id, ['owner', 'admin']))
    await enqueueMail(tx, mailing, complaintMail(reader, facts, link))
  await noteMailed(tx, row, now)
}
