import type { Clock } from '../../clock.ts'
import type { Queries } from '../../database/database.ts'
import { countMails, enqueueMail, MOST_WAITING } from '../../mail/queue.ts'
import { formatMoney } from '../../money.ts'
import type { Secrets } from '../../secrets.ts'
import { PAYING, readersOf } from '../membership/members.ts'
import type { PersonTable } from '../person/tables.ts'
import type { Letter } from './letters.ts'
import { mailOf, pageOfAccount } from './mails.ts'
import { on } from './warnings.ts'

/**
 * Mails the people who may pay for an account that an automatic payment was declined. The number of waiting mails is
 * limited.
 */
export async function tellDeclined(
  tx: Queries,
  options: { clock: Clock; secrets: Secrets; siteUrl: () => string },
  accountId: string,
  declined: { amount: number; nextAt: number | null },
): Promise<void> {
  if ((await countMails(tx)) >= MOST_WAITING) return
  const link = pageOfAccount(options.siteUrl(), '/billing', accountId)
  for (const reader of await readersOf(tx, accountId, PAYING))
    await enqueueMail(tx, options, mailOf(reader, letterOf(reader.language, link.host, declined), link))
}

function letterOf(
  language: PersonTable['language'],
  site: string,
  { amount, nextAt }: { amount: number; nextAt: number | null },
): Letter {
  const sum = formatMoney(amount)
  if (language === 'ru')
    return {
      subject: `Автоматический платёж на ${site} отклонён`,
      before: [
        `Баланс опустился ниже заданного вами порога, но банк отклонил автоматический платёж на ${sum} ₽. Деньги не списаны.`,
        nextAt === null
          ? 'Автопополнение выключено. Пополните баланс и включите его снова, если нужно, с другой картой.'
          : `Следующая попытка: ${on('ru', nextAt)}. Проверьте карту или пополните баланс сами.`,
      ],
      button: 'Открыть раздел оплаты',
      after: 'Вы получили это письмо, потому что можете платить за этот аккаунт.',
    }
  return {
    subject: `An automatic payment at ${site} was declined`,
    before: [
      `The balance fell below the amount that you have set, but the bank declined the automatic payment of ${sum} RUB. Nothing was charged.`,
      nextAt === null
        ? 'Automatic top-up is off. Top up, and turn it on again, with another card if needed.'
        : `It will be retried on ${on('en', nextAt)}. Check the card, or top up yourself.`,
    ],
    button: 'Open billing',
    after: 'You receive this mail because you may pay for this account.',
  }
}
