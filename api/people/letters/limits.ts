import type { Mail } from '../../mail/mailer.ts'
import type { PersonTable } from '../person/tables.ts'
import type { Letter } from './letters.ts'
import { mailOf } from './mails.ts'

/** A limit that an account has nearly reached, by the name of its quota. */
export interface NearLimit {
  name: string
  used: number
  limit: number
}

/** The words of each quota, in English and in Russian. */
export const limitWords: Readonly<Record<string, readonly [en: string, ru: string]>> = {
  members: ['Members', 'Участники'],
  projects: ['Projects', 'Проекты'],
  ssh_keys: ['SSH keys', 'SSH-ключи'],
  tokens: ['API tokens', 'Токены API'],
  servers: ['Servers', 'Серверы'],
  cpu: ['Cores', 'Ядра'],
  ram_mb: ['Memory, MB', 'Память, МБ'],
  disk_gb: ['Disk, GB', 'Диск, ГБ'],
  webhooks: ['Webhooks', 'Вебхуки'],
  ports: ['Published ports', 'Опубликованные порты'],
  addresses: ['Reserved addresses', 'Адреса'],
  networks: ['Private networks', 'Частные сети'],
  volumes: ['Volumes', 'Тома'],
  volumes_gb: ['Volumes, GB', 'Тома, ГБ'],
  firewalls: ['Firewalls', 'Файрволы'],
  snapshots: ['Snapshots', 'Снимки дисков'],
  images: ['Images', 'Образы'],
  isos: ['ISO images', 'ISO-образы'],
  image_files_gb: ['Image files, GB', 'Файлы образов, ГБ'],
}

/**
 * The mail about limits that are nearly reached.
 * @param account contact address of the account
 * @param link the page with the limits
 */
export function limitsMail(
  to: Pick<PersonTable, 'email' | 'language'>,
  { account, limits }: { account: string; limits: readonly NearLimit[] },
  link: URL,
): Mail {
  const isRussian = to.language === 'ru'
  const lines = limits.map(({ name, used, limit }) => {
    const title = limitWords[name]?.[isRussian ? 1 : 0] ?? name
    return isRussian ? `${title}: ${used} из ${limit}` : `${title}: ${used} of ${limit}`
  })
  return mailOf(to, isRussian ? russian(account, lines, link.host) : english(account, lines, link.host), link)
}

function english(account: string, lines: readonly string[], site: string): Letter {
  return {
    subject: `Limits at ${site} are nearly reached`,
    before: [
      `The account ${account} uses four fifths or more of these limits:`,
      ...lines,
      'Requests that exceed a limit are refused. The account page shows how to raise each limit, and whom to ask.',
    ],
    button: 'Open the limits',
    after:
      'You receive this mail because you manage servers of this account. You can turn off mails about limits on the security page.',
  }
}

function russian(account: string, lines: readonly string[], site: string): Letter {
  return {
    subject: `Лимиты на ${site} почти исчерпаны`,
    before: [
      `Аккаунт ${account} использует не менее четырёх пятых этих лимитов:`,
      ...lines,
      'То, что превысит лимит, создать не получится. На странице аккаунта показано, как увеличить каждый лимит и к кому обратиться.',
    ],
    button: 'Открыть лимиты',
    after:
      'Вы получили это письмо, потому что управляете серверами этого аккаунта. Письма о лимитах отключаются на странице безопасности.',
  }
}
