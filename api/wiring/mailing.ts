import { complaintMails } from '../abuse/complaint-mails.ts'
import type { Quota } from '../feature.ts'
import { documentMails } from '../people/letters/document-mails.ts'
import type { Mailing } from '../people/letters/mail-loop.ts'
import { limitMails } from '../servers/limit-mails.ts'
import { serviceMails } from '../servers/service-mails.ts'

/** Wires the loops that send the mails that rows of features record as due. */
export function mailingLoops(mailing: Mailing, quotas: readonly Quota[]) {
  return {
    complaintMails: complaintMails(mailing),
    documentMails: documentMails(mailing),
    limitMails: limitMails(mailing, quotas),
    serviceMails: serviceMails(mailing),
  }
}
