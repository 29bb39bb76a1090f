import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Command } from 'commander'
import { listProjects } from '../accounts/projects.ts'
import { projectView } from '../accounts/view.ts'
import { documentView, findDocument, listDocuments } from '../billing/documents/documents.ts'
import { listTransactions } from '../billing/ledger.ts'
import { transactionView } from '../billing/view.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Page } from '../database/page.ts'
import { listAudit } from '../events/audit.ts'
import { auditView } from '../events/view.ts'
import { quotas } from '../features.ts'
import { errorCode } from '../files.ts'
import { isoTime } from '../http/contract/fields.ts'
import { messageOf } from '../message-of.ts'
import { showAccount } from '../operator/accounts.ts'
import { listPayments } from '../payments/payments.ts'
import { paymentView } from '../payments/view.ts'
import { listMembers } from '../people/membership/members.ts'
import { memberView } from '../people/membership/view.ts'
import { billedItems, operatedServers } from '../servers/queries.ts'
import { accountByNameOrId, type ReadConfig, withDatabase } from './operator.ts'

const AT_ONCE = 500

export function exportCommand(config: ReadConfig): Command {
  return new Command('export')
    .description(
      'write all that is kept of an account, but no secrets, into a new file: one JSON object a line, with its type',
    )
    .argument('<account>', 'e-mail address or id')
    .argument('<file>', 'file to create, readable for its owner only')
    .action(async (given: string, file: string) => {
      await withDatabase(config(), 'account export', async (db) => {
        const { account_id, email } = await accountByNameOrId(db, given)
        console.log(`${email} is in ${file}: ${await exportAccount(db, account_id, file)} lines.`)
      })
    })
}

/**
 * Writes all data of an account into a new file.
 * @returns the number of lines
 * @throws CommandError if the file exists, or cannot be written
 */
export async function exportAccount(db: Database, accountId: string, file: string): Promise<number> {
  let lines = 0
  async function* texts() {
    for await (const line of linesOf(db, accountId)) {
      lines += 1
      yield `${JSON.stringify(line)}\n`
    }
  }
  try {
    await pipeline(Readable.from(texts()), createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }))
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw new CommandError(`${file} exists. Name a new file.`)
    if (errorCode(error) === undefined) throw error
    throw new CommandError(`${file} can't be written: ${messageOf(error)}.`)
  }
  return lines
}

async function* linesOf(db: Database, accountId: string): AsyncGenerator<object> {
  // The operator's own tags and notes are not the customer's data.
  const { tags: _, notes: __, ...account } = await showAccount({ db, clock, quotas }, accountId)
  yield { type: 'account', ...account }
  yield* each('member', (page) => listMembers(db, accountId, page), memberView)
  yield* each('project', (page) => listProjects(db, accountId, page), projectView)
  const servers = operatedServers(db).where('account_id', '=', accountId)
  for (const { server_id, name, status, zone_slug, created_at } of await servers.execute())
    yield { type: 'server', server_id, name, status, zone_slug, created_at: isoTime(created_at) }
  const entries = (page: Page) => listTransactions(db, billedItems, accountId, page)
  yield* each('transaction', entries, transactionView)
  yield* each('payment', (page) => listPayments(db, accountId, page), paymentView)
  for await (const { document_id } of each('', (page) => listDocuments(db, accountId, page), documentView))
    yield { ...(await findDocument(db, accountId, document_id)), type: 'document' }
  yield* each('audit', (page) => listAudit(db, accountId, page), auditView)
}

/**
 * Yields the items of a list, page by page, each with its kind of object as `type`; an item's own `type`
 * becomes `kind`.
 */
async function* each<Row, View extends object>(
  type: string,
  list: (page: Page) => Promise<{ items: Row[] }>,
  view: (row: Row) => View,
): AsyncGenerator<{ type: string } & Omit<View, 'type'>> {
  for (let offset = 0; ; offset += AT_ONCE) {
    const { items } = await list({ limit: AT_ONCE, offset })
    for (const item of items) {
      const shown = view(item)
      yield { ...shown, ...('type' in shown ? { kind: shown.type } : {}), type }
    }
    if (items.length < AT_ONCE) return
  }
}
