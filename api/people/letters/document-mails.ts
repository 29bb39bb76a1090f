import { findAccount } from '../../accounts/accounts.ts'
import { documentsToMail, takeToMail } from '../../billing/documents/mailing.ts'
import type { Queries } from '../../database/database.ts'
import { enqueueMail } from '../../mail/queue.ts'
import { PAYING, readersOf } from '../membership/members.ts'
import { documentMail } from './documents.ts'
import { type Mailing, MailLoop } from './mail-loop.ts'
import { pageOfAccount } from './mails.ts'

/** Mails invoices and corrections to people who may pay, including those that an operator's command issued. */
export function documentMails(mailing: Mailing): MailLoop {
  return new MailLoop(mailing, {
    about: 'documents',
    due: (now, atMost) => documentsToMail(mailing.db, now, atMost),
    mail: (tx, documentId) => mail(tx, mailing, documentId),
  })
}

async function mail(tx: Queries, mailing: Mailing, documentId: string): Promise<void> {
  const document = await takeToMail(tx, documentId)
  if (!document) return
  const { email: account } = await findAccount(tx, document.accountId)
  const link = pageOfAccount(mailing.siteUrl(), '/billing', document.accountId)
  for (const reader of await readersOf(tx, document.accountId, PAYING))
    await enqueueMail(tx, mailing, documentMail(reader, { ...document, account }, link))
}
