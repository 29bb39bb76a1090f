import type { Mail } from '../../mail/mailer.ts'
import type { PersonTable } from '../person/tables.ts'
import type { Letter } from './letters.ts'
import { mailOf } from './mails.ts'

export type ServiceMailKind = 'server_down' | 'backup_failed' | 'server_held'

/** `restarted`: it died and was started again. `off`: it could not be started again. */
export type Down = 'unreachable' | 'restarted' | 'crash_loop' | 'disk_lost' | 'off'
/** `missing`: a backup was not created. `damaged`, `unbootable`: a backup exists, but is useless. */
export type BackupFault = 'missing' | 'damaged' | 'unbootable'

/** Facts of a mail about servers. */
export interface ServiceFacts<State> {
  /** Contact address of the account. */
  account: string
  /** Each server by its address or id, since strangers may have chosen its name. */
  servers: readonly { address: string; state: State }[]
}

/** The operator's reason to suspend a single server; null: the suspension has ended. */
export type Hold = string | null

type Reader = Pick<PersonTable, 'email' | 'language'>

/** The most servers that a mail names. */
const NAMED = 10

const words = {
  en: {
    down: {
      unreachable: 'the host does not answer. The server may still be running.',
      restarted: 'the machine died and was started again.',
      crash_loop: 'the machine died several times in a row. It stays off until you start the server.',
      disk_lost: 'the disk is missing. Ask the operator, or restore a backup.',
      off: 'the machine died and could not be started again. Start the server.',
    },
    faults: {
      missing: 'the backup could not be created. It is retried the next day.',
      damaged: 'a backup is damaged and cannot be restored. The next one is a full one.',
      unbootable: 'a backup did not start in a test. Check the operating system of the server.',
    },
    held: (reason: string) => `suspended by the operator. The reason: ${reason}`,
    released: 'no longer suspended by the operator. It starts if it ran before and the balance covers it.',
    more: (count: number) => `More servers: ${count}.`,
    button: 'Open the servers',
    after: (why: string) =>
      `You receive this mail because you manage servers of this account. You can turn off mails about ${why} on the security page.`,
  },
  ru: {
    down: {
      unreachable: 'узел не отвечает. Сервер, возможно, продолжает работать.',
      restarted: 'машина аварийно остановилась и была запущена снова.',
      crash_loop:
        'машина аварийно остановилась несколько раз подряд. Она выключена, пока вы не запустите сервер.',
      disk_lost: 'диск не найден. Напишите оператору или восстановите сервер из резервной копии.',
      off: 'машина аварийно остановилась, и запустить её не удалось. Запустите сервер.',
    },
    faults: {
      missing: 'резервную копию создать не удалось. Следующая попытка — на другой день.',
      damaged: 'резервная копия повреждена, восстановить из неё нельзя. Следующая копия будет полной.',
      unbootable: 'резервная копия не запустилась при проверке. Проверьте систему сервера.',
    },
    held: (reason: string) => `приостановлен оператором. Причина: ${reason}`,
    released:
      'оператор снял приостановку. Сервер запускается, если работал раньше и на него хватает баланса.',
    more: (count: number) => `Ещё серверов: ${count}.`,
    button: 'Открыть серверы',
    after: (why: string) =>
      `Вы получили это письмо, потому что управляете серверами этого аккаунта. Письма о ${why} отключаются на странице безопасности.`,
  },
}

function listed<State>(
  { servers }: ServiceFacts<State>,
  textOf: (state: State) => string,
  more: (count: number) => string,
): string[] {
  const lines = servers.slice(0, NAMED).map(({ address, state }) => `${address}: ${textOf(state)}`)
  return servers.length > NAMED ? [...lines, more(servers.length - NAMED)] : lines
}

/** The mail about servers that should run and were found not running. @param link the page of the servers */
export function serverDownMail(to: Reader, facts: ServiceFacts<Down>, link: URL): Mail {
  const { down, more, button, after } = words[to.language]
  const { length } = facts.servers
  const isRussian = to.language === 'ru'
  const subject = isRussian
    ? `Серверы на ${link.host} не работали: ${length}`
    : `${length === 1 ? 'A server' : `${length} servers`} at ${link.host} went down`
  const first = isRussian
    ? `Серверы аккаунта ${facts.account} должны работать, но не работали:`
    : `Servers of the account ${facts.account} should run, but were found not running:`
  const why = isRussian ? 'сбоях серверов' : 'servers that are down'
  const letter: Letter = {
    subject,
    before: [first, ...listed(facts, (state) => down[state], more)],
    button,
    after: after(why),
  }
  return mailOf(to, letter, link)
}

/** The mail about backups that failed. @param link the page of the servers */
export function backupFailedMail(to: Reader, facts: ServiceFacts<BackupFault>, link: URL): Mail {
  const { faults, more, button, after } = words[to.language]
  const isRussian = to.language === 'ru'
  const subject = isRussian ? `Сбой резервного копирования на ${link.host}` : `Backups at ${link.host} failed`
  const first = isRussian
    ? `Резервные копии серверов аккаунта ${facts.account}:`
    : `Backups of servers of the account ${facts.account}:`
  const why = isRussian ? 'сбоях резервного копирования' : 'failed backups'
  const letter: Letter = {
    subject,
    before: [first, ...listed(facts, (state) => faults[state], more)],
    button,
    after: after(why),
  }
  return mailOf(to, letter, link)
}

/** The mail about single servers that the operator suspended or resumed. @param link the page of the servers */
export function serverHeldMail(to: Reader, facts: ServiceFacts<Hold>, link: URL): Mail {
  const { held, released, more, button } = words[to.language]
  const isRussian = to.language === 'ru'
  const isHeld = facts.servers.some(({ state }) => state !== null)
  const english = isHeld ? 'suspended' : 'resumed'
  const subject = isRussian
    ? `Оператор ${link.host} ${isHeld ? 'приостановил' : 'возобновил'} серверы: ${facts.servers.length}`
    : `The operator of ${link.host} has ${english} ${facts.servers.length === 1 ? 'a server' : 'servers'} of yours`
  const first = isRussian ? `Серверы аккаунта ${facts.account}:` : `Servers of the account ${facts.account}:`
  const textOf = (state: Hold) => (state === null ? released : held(state))
  const contact = isRussian
    ? 'Приостановленный сервер выключен, ничего не стоит, и его можно только удалить. Если есть вопросы, напишите оператору.'
    : 'A suspended server is shut down, costs nothing, and can only be deleted. If you have questions, contact the operator.'
  const after = isRussian
    ? 'Вы получили это письмо, потому что управляете серверами этого аккаунта.'
    : 'You receive this mail because you manage servers of this account.'
  const before = [first, ...listed(facts, textOf, more), ...(isHeld ? [contact] : [])]
  return mailOf(to, { subject, before, button, after }, link)
}
