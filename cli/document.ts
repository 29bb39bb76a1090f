import { writeFileSync } from 'node:fs'
import type { Document, DocumentDetails } from '@berth/sdk'
import { Command } from 'commander'
import { exitCodes, Refusal } from './errors.ts'
import { addLimitOption, type LimitOptions, upTo } from './flags.ts'
import { type Columns, showText } from './output.ts'
import { action, listCommand } from './session.ts'
import { rub } from './units.ts'

const columns: Columns<Document> = {
  id: ({ document_id }) => document_id,
  type: ({ type }) => type,
  number: ({ number }) => number,
  period: ({ period }) => period,
  corrects: ({ corrects }) => corrects?.number,
  vat: ({ vat_rub }) => rub(vat_rub),
  total: ({ total_rub }) => rub(total_rub),
  opening: ({ opening_balance_rub }) => rub(opening_balance_rub),
  closing: ({ closing_balance_rub }) => rub(closing_balance_rub),
  issued: ({ issued_at }) => issued_at,
  sha256: ({ sha256 }) => sha256,
}

/** Only the view of a single document shows these lines. */
const details: Columns<DocumentDetails> = {
  ...columns,
  reason: ({ correction }) => correction?.reason,
  corrections: ({ corrections }) => corrections.map(({ number }) => number).join(', '),
}

export function documentsCommand(): Command {
  return addLimitOption(
    listCommand({
      name: 'documents',
      description: 'list invoices, statements and corrections, newest first',
      columns,
      shown: ['id', 'type', 'number', 'period', 'total', 'closing'],
      items: async (session, options: LimitOptions) =>
        upTo(session, options, session.berth.documents.listAll()),
    }),
  )
}

export function documentCommand(): Command {
  return new Command('document')
    .description('show an invoice, statement or correction, or download it')
    .argument('<id>', 'id of the document')
    .option('--pdf <file>', 'write it to a file as PDF')
    .option('--csv', 'print CSV, regardless of -o')
    .action(
      action(async ({ berth, terminal, show, note }, id: string, options: { pdf?: string; csv?: true }) => {
        const { pdf, csv } = options
        if (pdf !== undefined) {
          writeDocument(pdf, new Uint8Array(await (await berth.documents.pdf(id)).arrayBuffer()))
          note(`The document is in ${pdf}.`)
        }
        if (csv) return showText(terminal.stdout, await berth.documents.csv(id))
        if (pdf === undefined) await show(await berth.documents.get(id), details)
      }),
    )
}

/** Writes a downloaded file. @throws Refusal */
export function writeDocument(file: string, bytes: Uint8Array): void {
  try {
    writeFileSync(file, bytes)
  } catch (error) {
    throw new Refusal(
      `The document can't be written to ${file} (${String(error)}).`,
      'Name another file.',
      exitCodes.error,
    )
  }
}
