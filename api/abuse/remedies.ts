import type { Complaint } from './complaint-schema.ts'
import type { SignKind } from './kinds.ts'
import type { SignTable } from './tables.ts'

/** The commands name ids alone: names and addresses are customers' words, which a shell might carry out. */
const freeze = (account: string, reason: string) => `berthd account freeze ${account} --reason "${reason}"`
const suspend = (server: string, reason: string) => `berthd server suspend ${server} --reason "${reason}"`

const remedies: Readonly<Record<SignKind, (subject: string, account: string) => string>> = {
  outgoing_flood: (server, account) =>
    `Unless the customer has announced it, cut it off with its evidence kept: ${freeze(account, 'outgoing flood')} (the server alone: ${suspend(server, 'outgoing flood')}).`,
  many_connections: (server, account) =>
    `Crawlers and resolvers do so, too; a scan of others is cut off by ${freeze(account, 'scan of others')} (the server alone: ${suspend(server, 'scan of others')}).`,
  mail_tries: (server) =>
    `All of them were refused; ask the customer what sends mail, and until they answer: ${suspend(server, 'tries to send mail')}.`,
  cpu_at_limit: (server) =>
    `It is paid for; if it takes room from others or mines against your terms: ${suspend(server, 'CPU at the limit for days')}.`,
  accounts_of_network: (_, account) =>
    `Offices and mobile networks share an address, too: compare the accounts, and freeze each that is a copy, such as ${freeze(account, 'copy of another account')}.`,
  accounts_of_card: (_, account) =>
    `Compare the accounts and look for disputes at the provider; freeze each that is a copy, such as ${freeze(account, 'card of another account')}.`,
}

/** The action to take, in a sentence. @param account the newest account that the sign is about */
export function remedyFor({ kind, subject }: Pick<SignTable, 'kind' | 'subject'>, account: string): string {
  return remedies[kind](subject, account)
}

/** The action that a complaint needs, in a sentence. */
export function remedyOf(
  {
    complaint_id: id,
    kind,
    status,
    is_overdue,
    server_id,
  }: Pick<Complaint, 'complaint_id' | 'kind' | 'status' | 'is_overdue' | 'server_id'>,
  account: string,
): string {
  if (status === 'closed') return 'Nothing: it is closed.'
  if (status === 'awaiting_operator')
    return `Read the answer: berthd abuse show ${id}. Then: berthd abuse reply ${id} --text "…", or berthd abuse close ${id} --outcome solved.`
  if (!is_overdue)
    return 'Wait for the answer until the deadline; the people of the account are reminded by mail.'
  const reason = `complaint about ${kind}, not answered in time`
  const one = server_id === null ? '' : `Stop the server: ${suspend(server_id, reason)}. `
  return `${one}${one === '' ? 'Cut' : 'Or cut'} the account off with its evidence kept: ${freeze(account, reason)}.`
}
