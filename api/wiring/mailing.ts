import { complaintMails } from '../abuse/complaint-mails.ts'
import { documentMails } from '../people/letters/document-mails.ts'
import type { Mailing } from '../people/letters/mail-loop.ts'
import { serviceMails } from '../servers/service-mails.ts'

/** Wires the loops that mail people about what rows note. */
export function mailingLoops(mailing: Mailing) {
  return {
    complaintMails: complaintMails(mailing),
    documentMails: documentMails(mailing),
    serviceMails: serviceMails(mailing),
  }
}
