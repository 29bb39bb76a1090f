import type { Transfer } from '@berth/sdk'
import { Command } from 'commander'
import { writeDocument } from './document.ts'
import { addLimitOption, type LimitOptions, upTo } from './flags.ts'
import type { Columns } from './output.ts'
import { action, listCommand } from './session.ts'
import { rub } from './units.ts'

const columns: Columns<Transfer> = {
  id: ({ transfer_id }) => transfer_id,
  reference: ({ reference }) => reference,
  status: ({ status }) => status,
  amount: ({ amount_rub }) => rub(amount_rub),
  arrived: ({ arrived_rub }) => rub(arrived_rub),
  payee: ({ payee: { name, tax_id, address } }) => `${name}, tax id ${tax_id}, ${address}`,
  bank: ({ payee: { bank_name, bank_bic } }) => `${bank_name}, BIC ${bank_bic}`,
  account: ({ payee: { bank_account } }) => bank_account,
  correspondent: ({ payee: { correspondent_account } }) => correspondent_account,
  expires: ({ expires_at }) => expires_at,
  created: ({ created_at }) => created_at,
}

export function transferCommand(): Command {
  return new Command('transfer')
    .description('ask for an invoice to pay by bank transfer: state its reference as the purpose')
    .argument('<rubles>', 'sum to pay, such as 5000 or 99.90')
    .action(
      action(async ({ berth, show }, rubles: string) => show(await berth.transfers.create(rubles), columns)),
    )
}

export function transferInvoiceCommand(): Command {
  return new Command('transfer-invoice')
    .description('show an invoice for a bank transfer, or download it')
    .argument('<id>', 'id of the invoice')
    .option('--pdf <file>', 'write it to a file as PDF')
    .action(
      action(async ({ berth, show, note }, id: string, { pdf }: { pdf?: string }) => {
        if (pdf === undefined) return show(await berth.transfers.get(id), columns)
        writeDocument(pdf, new Uint8Array(await (await berth.transfers.pdf(id)).arrayBuffer()))
        note(`The invoice is in ${pdf}.`)
      }),
    )
}

export function transfersCommand(): Command {
  return addLimitOption(
    listCommand({
      name: 'transfers',
      description: 'list invoices for bank transfers, newest first',
      columns,
      shown: ['reference', 'status', 'amount', 'arrived', 'expires'],
      items: async (session, options: LimitOptions) =>
        upTo(session, options, session.berth.transfers.listAll()),
    }),
  )
}
