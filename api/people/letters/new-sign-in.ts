import type { Mail } from '../../mail/mailer.ts'
import type { PersonTable } from '../person/tables.ts'
import type { Letter } from './letters.ts'
import { mailOf } from './mails.ts'
import { on } from './warnings.ts'

/** Facts of a sign-in; `at` is in milliseconds. */
export interface SignInFacts {
  at: number
  address: string
  /** Browser and system by our own list of names; null if neither is known. */
  browser: string | null
}

/** The mail about a sign-in from a place that is new. @param link the page that lists the sessions */
export function newSignInMail(
  to: Pick<PersonTable, 'email' | 'language'>,
  facts: SignInFacts,
  link: URL,
): Mail {
  return mailOf(to, to.language === 'ru' ? russian(facts, link.host) : english(facts, link.host), link)
}

function english({ at, address, browser }: SignInFacts, site: string): Letter {
  return {
    subject: `A new sign-in at ${site}`,
    before: [
      `Somebody, presumably you, signed in to ${site} from a network or with a browser that you have not used there before.`,
      `Time: ${on('en', at)}`,
      `Address: ${address}`,
      `Browser: ${browser ?? 'not known'}`,
    ],
    button: 'Open your sessions',
    after:
      'If it was you, ignore this mail. If it was not, change your password, end all other sessions, and turn on two-factor authentication. If you can no longer sign in, reset the password or contact the operator.',
  }
}

function russian({ at, address, browser }: SignInFacts, site: string): Letter {
  return {
    subject: `Новый вход на ${site}`,
    before: [
      `Кто-то, вероятно вы, вошёл на ${site} из сети или в браузере, которыми вы там раньше не пользовались.`,
      `Время: ${on('ru', at)}`,
      `Адрес: ${address}`,
      `Браузер: ${browser ?? 'неизвестен'}`,
    ],
    button: 'Посмотреть сеансы',
    after:
      'Если это были вы, просто проигнорируйте это письмо. Если нет, смените пароль, завершите остальные сеансы и включите двухфакторную аутентификацию. Если войти не удаётся, сбросьте пароль или напишите оператору.',
  }
}
