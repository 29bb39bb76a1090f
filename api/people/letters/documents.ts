import type { MailedDocument } from '../../billing/documents/mailing.ts'
import type { Mail } from '../../mail/mailer.ts'
import { formatMoney } from '../../money.ts'
import type { PersonTable } from '../person/tables.ts'
import type { Letter } from './letters.ts'
import { mailOf } from './mails.ts'

/** Facts of a mail about a document. */
interface DocumentFacts extends Pick<MailedDocument, 'type' | 'number' | 'period' | 'corrects' | 'total'> {
  /** Contact address of the account. */
  account: string
}

/**
 * The mail about an invoice or a correction of one, in the reader's language. The reason of a correction is on the
 * document alone.
 * @param link the page that lists it
 */
export function documentMail(
  to: Pick<PersonTable, 'email' | 'language'>,
  facts: DocumentFacts,
  link: URL,
): Mail {
  return mailOf(to, (to.language === 'ru' ? russian : english)(facts, link.host), link)
}

/** A month like 2026-11, in words. */
const month = (language: 'en' | 'ru', period: string) =>
  new Intl.DateTimeFormat(language === 'ru' ? 'ru' : 'en-GB', {
    ...{ month: 'long', year: 'numeric', timeZone: 'UTC' },
  }).format(Date.parse(`${period}-01`))

function english({ type, number, period, corrects, total, account }: DocumentFacts, site: string): Letter {
  const sum = formatMoney(Math.abs(total))
  const of = `the invoice ${corrects} of the account ${account}`
  const words = {
    invoice: [
      `Your invoice for ${month('en', period)} at ${site}`,
      `The account ${account} has the invoice ${number} for ${month('en', period)}: ${sum} RUB. It was taken from the balance.`,
    ],
    credit_note: [
      `An invoice at ${site} was lowered`,
      `The credit note ${number} lowers ${of} by ${sum} RUB. It was added to the balance.`,
    ],
    debit_note: [
      `An invoice at ${site} was raised`,
      `The debit note ${number} raises ${of} by ${sum} RUB. It was taken from the balance.`,
    ],
  } as const
  const [subject, first] = words[type]
  const second =
    type === 'invoice' ? 'You do not need to pay it separately.' : 'The reason is on the document.'
  return {
    ...{ subject, before: [first, second], button: 'Open billing' },
    after: 'You receive this mail because you may pay for this account.',
  }
}

function russian({ type, number, period, corrects, total, account }: DocumentFacts, site: string): Letter {
  const sum = formatMoney(Math.abs(total))
  const of = `счёт ${corrects} аккаунта ${account}`
  const words = {
    invoice: [
      `Счёт на ${site}: ${month('ru', period)}`,
      `Аккаунту ${account} выставлен счёт ${number}, ${month('ru', period)}: ${sum} ₽. Сумма списана с баланса.`,
    ],
    credit_note: [
      `Счёт на ${site} уменьшен`,
      `Корректировка ${number} уменьшает ${of} на ${sum} ₽. Сумма зачислена на баланс.`,
    ],
    debit_note: [
      `Счёт на ${site} увеличен`,
      `Корректировка ${number} увеличивает ${of} на ${sum} ₽. Сумма списана с баланса.`,
    ],
  } as const
  const [subject, first] = words[type]
  const second = type === 'invoice' ? 'Платить по нему не нужно.' : 'Причина указана в документе.'
  return {
    ...{ subject, before: [first, second], button: 'Открыть раздел оплаты' },
    after: 'Вы получили это письмо, потому что можете платить за этот аккаунт.',
  }
}
