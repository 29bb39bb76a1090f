import type { Command } from 'commander'
import { documentView, listDocuments, namedDocuments } from '../billing/documents/documents.ts'
import { systemClock as clock } from '../clock.ts'
import { ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { correct } from '../operator/corrections.ts'
import { CorrectionCreate } from '../operator/schema.ts'
import { requireValid } from './checked.ts'
import { paged, printMore } from './listing.ts'
import { accountByNameOrId, type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printFields, printTable } from './print.ts'

interface Given {
  reason: string
  reference: string
  debit?: true
  item?: string
}

/** Adds the commands for the documents of an account. */
export function addDocumentCommands(account: Command, config: ReadConfig): void {
  const list = account
    .command('documents')
    .description('list the invoices, statements and corrections of an account, newest first')
    .argument('<account>', 'e-mail address or id')
  paged(list, 'documents').action(async (given: string, page: { limit: number; offset: number }) => {
    await withDatabase(config(), 'account documents', async (db) => {
      const { account_id } = await accountByNameOrId(db, given)
      const { items, total } = await listDocuments(db, account_id, page)
      const rows = items.map((row) => {
        const { number, type, period, corrects, total_rub, document_id } = documentView(row)
        const of = corrects?.number ?? ''
        return [number, type, period, of, `${total_rub} RUB`, shortTime(row.issued_at), document_id]
      })
      printTable(['NUMBER', 'TYPE', 'PERIOD', 'CORRECTS', 'TOTAL', 'ISSUED', 'DOCUMENT'], rows)
      printMore(page, items.length, total, 'documents')
    })
  })
  addCorrectCommand(account, config)
}

function addCorrectCommand(account: Command, config: ReadConfig): void {
  account
    .command('correct')
    .description('correct an invoice by a credit note, which adds to the balance, or a debit note')
    .argument('<account>', 'e-mail address or id')
    .argument('<document>', 'number or id of the invoice')
    .argument(
      '<rubles>',
      'change of the charges, as the items of the invoice: with VAT only if it includes it',
    )
    .requiredOption('--reason <text>', 'reason, which the customer reads on the document')
    .requiredOption(
      '--reference <text>',
      'reference, unique in the installation; a repeated one is issued and booked only once',
    )
    .option('--debit', 'a debit note, which raises the invoice and takes from the balance')
    .option('--item <id>', 'the item of the invoice that it is for')
    .action(async (given: string, named: string, amount_rub: string, options: Given) => {
      const { reason, reference, debit, item } = options
      const body = requireValid(CorrectionCreate, {
        type: debit ? ('debit_note' as const) : ('credit_note' as const),
        lines: [{ amount_rub, ...(item !== undefined && { item_id: item }) }],
        ...{ reason, reference },
      })
      await withDatabase(config(), 'account correct', async (db) => {
        const { account_id: accountId } = await accountByNameOrId(db, given)
        const documentId = await documentNamed(db, accountId, named)
        const { document, isNew } = await correct({ db, clock }, { ...body, accountId, documentId })
        if (!isNew) console.error('Nothing changed: this reference is already booked.')
        printFields([
          ['number', document.number],
          ['document', document.document_id],
          ['type', document.type],
          ['corrects', document.corrects?.number ?? ''],
          ['vat', `${document.vat_rub} RUB`],
          ['total', `${document.total_rub} RUB`],
          ['balance', `${document.closing_balance_rub} RUB`],
        ])
      })
    })
}

/** @throws ConfigError if no document, or documents of several legal entities, are called that */
async function documentNamed(db: Database, accountId: string, named: string): Promise<string> {
  const [id, ...others] = await namedDocuments(db, accountId, named)
  if (id === undefined)
    throw new ConfigError(`No such document: ${named}. List them with: berthd account documents`)
  if (others.length === 0) return id
  throw new ConfigError(`Several documents have the number ${named}: name one by its id.`)
}
