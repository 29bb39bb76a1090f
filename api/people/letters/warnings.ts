import type { PersonTable } from '../person/tables.ts'
import type { Letter } from './letters.ts'

export type WarningKind =
  | 'balance_low'
  | 'balance_urgent'
  | 'suspended'
  | 'resumed'
  | 'deletion_week'
  | 'deletion_day'
  | 'account_suspended'
  | 'account_frozen'
  | 'account_closed'
  | 'account_resumed'

/** Facts of a warning; times are in milliseconds, amounts in rubles as text. */
export interface WarningFacts {
  site: string
  /** Contact address of the account. */
  account: string
  balance: string
  /** The amount that the account may owe, in rubles; null if it pays in advance. */
  creditLimit: string | null
  /** When the balance will be used up (milliseconds); null if it already is. */
  until: number | null
  /** Amount to pay before suspended servers resume; null if a payment does not resume them. */
  missing: string | null
  /** When suspended servers are deleted; null: never. */
  deleteAt: number | null
  /** The operator's reason. */
  reason: string
  /** True if the button leads to a page for payments. */
  canPay: boolean
}

const dates = {
  en: new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }),
  ru: new Intl.DateTimeFormat('ru', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }),
}
/** Formats a time for people. */
export const on = (language: 'en' | 'ru', at: number) => `${dates[language].format(at)} UTC`

const englishHeld = {
  account_suspended: {
    done: 'suspended',
    rest: 'Its servers are shut down. You can read the account and delete servers. If you have questions, contact the operator.',
  },
  account_frozen: {
    done: 'frozen',
    rest: 'Its servers are powered off, and nothing of it can be read, changed or deleted. Contact the operator.',
  },
  account_closed: { done: 'closed', rest: 'Its servers are shut down. The account can only be read.' },
}

const russianHeld = {
  account_suspended: {
    ...{ is: 'приостановлен', did: 'приостановил' },
    rest: 'Его серверы выключены. Аккаунт можно просматривать, а серверы — удалять. Если есть вопросы, напишите оператору.',
  },
  account_frozen: {
    ...{ is: 'заморожен', did: 'заморозил' },
    rest: 'Его серверы выключены. Ничего в нём нельзя просматривать, изменять или удалять. Напишите оператору.',
  },
  account_closed: {
    ...{ is: 'закрыт', did: 'закрыл' },
    rest: 'Его серверы выключены. Аккаунт можно только просматривать.',
  },
}

type Resumed = 'resumed' | 'account_resumed'

const isResumed = (kind: WarningKind): kind is Resumed => kind === 'resumed' || kind === 'account_resumed'

function englishResumed(kind: Resumed, { site, account, balance, reason }: WarningFacts): Letter {
  const after = 'You receive this mail because you manage this account or its servers.'
  if (kind === 'resumed')
    return {
      subject: `Your servers at ${site} are resumed`,
      before: [
        `The balance of the account ${account} covers its servers again: it is ${balance} RUB. The servers are no longer suspended, and those that ran before are starting.`,
      ],
      button: 'Open the servers',
      after,
    }
  return {
    subject: `Your account at ${site} is resumed`,
    before: [
      `The operator of ${site} has resumed the account ${account}. The reason: ${reason}`,
      'Servers that ran before are starting, if the balance covers them.',
    ],
    button: 'Open the account',
    after,
  }
}

function russianResumed(kind: Resumed, { site, account, balance, reason }: WarningFacts): Letter {
  const after = 'Вы получили это письмо, потому что управляете этим аккаунтом или его серверами.'
  if (kind === 'resumed')
    return {
      subject: `Ваши серверы на ${site} возобновили работу`,
      before: [
        `Баланса аккаунта ${account} снова хватает на его серверы: ${balance} ₽. Серверы больше не приостановлены, и те, что работали раньше, запускаются.`,
      ],
      button: 'Открыть серверы',
      after,
    }
  return {
    subject: `Ваш аккаунт на ${site} возобновлён`,
    before: [
      `Оператор ${site} возобновил аккаунт ${account}. Причина: ${reason}`,
      'Серверы, которые работали раньше, запускаются, если на них хватает баланса.',
    ],
    button: 'Открыть аккаунт',
    after,
  }
}

function english(kind: Exclude<WarningKind, Resumed>, facts: WarningFacts): Letter {
  const { site, account, balance, creditLimit, until, missing, deleteAt, reason, canPay } = facts
  const button = canPay ? 'Top up' : 'Open billing'
  const after = 'You receive this mail because you manage this account or its servers.'
  const resume = missing === null ? [] : [`The servers resume once the account has received ${missing} RUB.`]
  if (kind === 'balance_low' || kind === 'balance_urgent') {
    const left =
      until === null ? 'is used up' : `lasts less than ${kind === 'balance_low' ? '3 days' : 'a day'}`
    const rest =
      until === null
        ? `The balance of the account ${account} is ${balance} RUB.`
        : `The balance of the account ${account} is ${balance} RUB. At the current cost it lasts until ${on('en', until)}.`
    const limit = creditLimit === null ? [] : [`It may owe ${creditLimit} RUB.`]
    const next = 'After that its servers are suspended: they are shut down, and cannot be reached.'
    return { subject: `Your balance at ${site} ${left}`, before: [rest, ...limit, next], button, after }
  }
  if (kind === 'suspended')
    return {
      subject: `Your servers at ${site} are suspended`,
      before: [
        `The balance of the account ${account} is used up, so its servers were shut down and are suspended. Their disks are kept.`,
        ...resume,
        ...(deleteAt === null
          ? []
          : [`Servers that stay suspended are deleted with their data, the first on ${on('en', deleteAt)}.`]),
      ],
      button,
      after,
    }
  if (kind === 'deletion_week' || kind === 'deletion_day')
    return {
      subject: `Your servers at ${site} will be deleted within ${kind === 'deletion_week' ? '7 days' : 'a day'}`,
      before: [
        `Servers of the account ${account} are suspended. ${deleteAt === null ? '' : `From ${on('en', deleteAt)} they are deleted with their data, which cannot be restored.`}`,
        ...(missing === null ? ['To keep them, contact the operator.'] : resume),
      ],
      button,
      after,
    }
  const { done, rest } = englishHeld[kind]
  return {
    subject: `Your account at ${site} is ${done}`,
    before: [`The operator of ${site} has ${done} the account ${account}. The reason: ${reason}`, rest],
    button: 'Open the account',
    after,
  }
}

function russian(kind: Exclude<WarningKind, Resumed>, facts: WarningFacts): Letter {
  const { site, account, balance, creditLimit, until, missing, deleteAt, reason, canPay } = facts
  const button = canPay ? 'Пополнить баланс' : 'Открыть раздел оплаты'
  const after = 'Вы получили это письмо, потому что управляете этим аккаунтом или его серверами.'
  const resume = missing === null ? [] : [`Серверы возобновят работу, когда на счёт поступит ${missing} ₽.`]
  if (kind === 'balance_low' || kind === 'balance_urgent') {
    const left =
      until === null ? 'исчерпан' : `закончится меньше чем через ${kind === 'balance_low' ? '3 дня' : 'день'}`
    const rest =
      until === null
        ? `Баланс аккаунта ${account}: ${balance} ₽.`
        : `Баланс аккаунта ${account}: ${balance} ₽. При нынешних расходах его хватит до ${on('ru', until)}.`
    const limit = creditLimit === null ? [] : [`Кредитный лимит аккаунта: ${creditLimit} ₽.`]
    const next = 'После этого серверы приостанавливаются: они выключаются и становятся недоступны.'
    return { subject: `Баланс на ${site} ${left}`, before: [rest, ...limit, next], button, after }
  }
  if (kind === 'suspended')
    return {
      subject: `Ваши серверы на ${site} приостановлены`,
      before: [
        `Баланс аккаунта ${account} исчерпан, поэтому его серверы выключены и приостановлены. Их диски сохраняются.`,
        ...resume,
        ...(deleteAt === null
          ? []
          : [`Приостановленные серверы удаляются вместе с данными, первый — ${on('ru', deleteAt)}.`]),
      ],
      button,
      after,
    }
  if (kind === 'deletion_week' || kind === 'deletion_day')
    return {
      subject: `Ваши серверы на ${site} будут удалены в течение ${kind === 'deletion_week' ? '7 дней' : 'суток'}`,
      before: [
        `Серверы аккаунта ${account} приостановлены. ${deleteAt === null ? '' : `Начиная с ${on('ru', deleteAt)} они удаляются вместе с данными, восстановить их будет нельзя.`}`,
        ...(missing === null ? ['Чтобы сохранить их, напишите оператору.'] : resume),
      ],
      button,
      after,
    }
  const { is, did, rest } = russianHeld[kind]
  return {
    subject: `Ваш аккаунт на ${site} ${is}`,
    before: [`Оператор ${site} ${did} аккаунт ${account}. Причина: ${reason}`, rest],
    button: 'Открыть аккаунт',
    after,
  }
}

/** The words of a warning in the reader's language. */
export function warning(language: PersonTable['language'], kind: WarningKind, facts: WarningFacts): Letter {
  const isRussian = language === 'ru'
  if (isResumed(kind)) return isRussian ? russianResumed(kind, facts) : englishResumed(kind, facts)
  return isRussian ? russian(kind, facts) : english(kind, facts)
}
