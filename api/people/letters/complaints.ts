import type { Mail } from '../../mail/mailer.ts'
import type { PersonTable } from '../person/tables.ts'
import type { Letter } from './letters.ts'
import { mailOf } from './mails.ts'
import { on } from './warnings.ts'

/** Facts of a complaint; the texts are the operator's, never a customer's or a stranger's. */
interface ComplaintFacts {
  letter: 'opened' | 'replied' | 'reminder' | 'closed'
  kind: 'spam' | 'scan' | 'attack' | 'phishing' | 'malware' | 'copyright' | 'other'
  text: string
  /** The operator's last message; null if the customer wrote last, or nobody did. */
  last: string | null
  outcome: 'solved' | 'unfounded' | 'measures_taken' | null
  /** In milliseconds. */
  deadlineAt: number
}

const kinds = {
  en: {
    spam: 'spam',
    scan: 'scanning others',
    attack: 'an attack on others',
    phishing: 'phishing',
    malware: 'malware',
    copyright: 'copyright',
    other: 'your account',
  },
  ru: {
    spam: 'спам',
    scan: 'сканирование чужих сетей',
    attack: 'атака на других',
    phishing: 'фишинг',
    malware: 'вредоносные программы',
    copyright: 'авторские права',
    other: 'ваш аккаунт',
  },
}

const outcomes = {
  en: {
    solved: 'It is resolved.',
    unfounded: 'It was unfounded.',
    measures_taken: 'The operator has taken measures.',
  },
  ru: { solved: 'Она решена.', unfounded: 'Она необоснованна.', measures_taken: 'Оператор принял меры.' },
}

/** The mail about a complaint, in the reader's language. @param link the page where it is answered */
export function complaintMail(
  to: Pick<PersonTable, 'email' | 'language'>,
  facts: ComplaintFacts,
  link: URL,
): Mail {
  const letter = to.language === 'ru' ? russian(facts, link.host) : english(facts, link.host)
  return mailOf(to, letter, link)
}

/** The lines of a text as paragraphs. */
const lines = (text: string) => text.split('\n').filter((line) => line.trim() !== '')

function english({ letter, kind, text, last, outcome, deadlineAt }: ComplaintFacts, site: string): Letter {
  const about = kinds.en[kind]
  const until = `Answer by ${on('en', deadlineAt)}. Without an answer the operator may stop the server or the account.`
  const quoted = letter === 'replied' || letter === 'closed' ? lines(last ?? '') : lines(text)
  const words = {
    opened: { subject: `A complaint about ${about} at ${site}`, first: 'Somebody complained:', end: until },
    replied: { subject: `A reply about a complaint at ${site}`, first: 'The operator asks:', end: until },
    reminder: {
      subject: `A complaint at ${site} awaits your answer`,
      first: 'A complaint has no answer yet:',
      end: until,
    },
    closed: {
      subject: `A complaint at ${site} is closed`,
      first: `The complaint about ${about} is closed. ${outcome ? outcomes.en[outcome] : ''}`.trim(),
      end: 'You do not need to do anything.',
    },
  }[letter]
  return {
    subject: words.subject,
    before: [words.first, ...quoted, words.end],
    button: letter === 'closed' ? 'Open the complaints' : 'Answer',
    after:
      'You receive this mail because you manage this account. If you have no access to it, write to the operator.',
  }
}

function russian({ letter, kind, text, last, outcome, deadlineAt }: ComplaintFacts, site: string): Letter {
  const about = kinds.ru[kind]
  const until = `Ответьте до ${on('ru', deadlineAt)}. Без ответа оператор может остановить сервер или аккаунт.`
  const quoted = letter === 'replied' || letter === 'closed' ? lines(last ?? '') : lines(text)
  const words = {
    opened: { subject: `Жалоба на ${site}: ${about}`, first: 'Поступила жалоба:', end: until },
    replied: { subject: `Ответ по жалобе на ${site}`, first: 'Оператор спрашивает:', end: until },
    reminder: {
      subject: `Жалоба на ${site} ждёт вашего ответа`,
      first: 'На жалобу ещё нет ответа:',
      end: until,
    },
    closed: {
      subject: `Жалоба на ${site} закрыта`,
      first: `Жалоба закрыта (${about}). ${outcome ? outcomes.ru[outcome] : ''}`.trim(),
      end: 'Делать ничего не нужно.',
    },
  }[letter]
  return {
    subject: words.subject,
    before: [words.first, ...quoted, words.end],
    button: letter === 'closed' ? 'Открыть жалобы' : 'Ответить',
    after:
      'Вы получили это письмо, потому что управляете этим аккаунтом. Если доступа к нему нет, напишите оператору.',
  }
}
