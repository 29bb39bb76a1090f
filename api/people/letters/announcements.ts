import type { Mail } from '../../mail/mailer.ts'
import type { PersonTable } from '../person/tables.ts'
import { mailOf } from './mails.ts'
import { on } from './warnings.ts'

interface AnnouncementFacts {
  kind: 'maintenance' | 'incident' | 'notice'
  text: Readonly<Record<PersonTable['language'], string>>
  /** Titles of zones; none if it is about all. */
  zones: readonly string[]
  startsAt: number
  endsAt: number | null
}

const subjects = {
  en: { maintenance: 'Maintenance at', incident: 'An incident at', notice: 'News of' },
  ru: { maintenance: 'Технические работы на', incident: 'Сбой на', notice: 'Новости' },
}

/** The mail of an announcement, in the reader's language. */
export function announcementMail(
  to: Pick<PersonTable, 'email' | 'language'>,
  { kind, text, zones, startsAt, endsAt }: AnnouncementFacts,
  link: URL,
): Mail {
  const { language } = to
  const [begin, end] = [on(language, startsAt), endsAt === null ? null : on(language, endsAt)]
  const isRussian = language === 'ru'
  const time = isRussian
    ? `Начало: ${begin}.${end === null ? '' : ` Окончание: ${end}.`}`
    : `It begins: ${begin}.${end === null ? '' : ` It ends: ${end}.`}`
  const places = zones.length === 0 ? [] : [`${isRussian ? 'Зоны' : 'Zones'}: ${zones.join(', ')}.`]
  return mailOf(
    to,
    {
      subject: `${subjects[language][kind]} ${link.host}`,
      before: [text[language], [time, ...places].join(' ')],
      button: isRussian ? 'Открыть сайт' : 'Open the site',
      after: isRussian
        ? 'Вы получили это письмо как владелец аккаунта. Такие письма отключаются на странице безопасности.'
        : 'You receive this mail because you own an account. You can turn such mails off on the security page.',
    },
    link,
  )
}
