import Type from 'typebox'
import { DocumentPdf } from '../billing/documents/schema.ts'
import type { Operator } from '../catalog/operator.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import { type Payer, transferPdf } from './pdf.ts'
import { Transfer, TransferCreate, transferProblems } from './schema.ts'
import { findTransfer, issueTransfer, listTransfers, transferView } from './transfers.ts'

const tag = 'Payments'
const path = '/account/transfers'

interface TransferOptions {
  db: Database
  clock: Clock
  catalog: { operator: Operator }
  /** Returns the account's name and address on invoices, and the language of its people. */
  customerOf: (db: Queries, accountId: string) => Promise<Payer>
}

export function transferRoutes(options: TransferOptions): Route[] {
  return [...invoiceRoutes(options), pdfRoute(options)]
}

function pdfRoute({ db, clock, customerOf }: TransferOptions): Route {
  return route({
    id: 'getTransferPdf',
    method: 'GET',
    path: `${path}/:transfer_id/content.pdf`,
    scope: 'account:read',
    tag,
    params: { transfer_id: transferProblems.transfer_not_found },
    load: ({ actor, params }) => findTransfer(db, actor.accountId, params.transfer_id),
    summary: 'Get an invoice for a bank transfer as PDF',
    description:
      "The invoice with the bank details and the reference, in the language of the account's owner, for an accountant to pay. It names the payee as when it was issued, and the account as it is called today.",
    reply: { 200: DocumentPdf },
    contentType: 'application/pdf',
    run: async ({ actor, loaded, setHeader }) => {
      setHeader('content-disposition', `attachment; filename="invoice-${loaded.reference}.pdf"`)
      const { accountId } = actor
      return transferPdf(accountId, transferView(loaded, clock.now()), await customerOf(db, accountId))
    },
  })
}

function invoiceRoutes({ db, clock, catalog }: TransferOptions): Route[] {
  return [
    route({
      id: 'listTransfers',
      method: 'GET',
      path,
      scope: 'account:read',
      tag,
      summary: 'List invoices for bank transfers',
      description:
        'The invoices that the account asked for to pay by bank transfer, newest first. An invoice expires after 30 days, but money that arrives later is booked nevertheless.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Transfer) },
      run: (call) =>
        paged(
          call,
          (page) => listTransfers(db, call.actor.accountId, page),
          (row) => transferView(row, clock.now()),
        ),
    }),
    route({
      id: 'createTransfer',
      method: 'POST',
      path,
      scope: 'account:write',
      deed: 'pay',
      tag,
      summary: 'Ask for an invoice to pay by bank transfer',
      description:
        'Issues an invoice over the sum, with the bank details of the payee. State its reference as the purpose of the transfer: the balance grows by what arrives once the operator has booked it, in days rather than seconds.',
      body: TransferCreate,
      reply: { 201: Transfer },
      errors: [transferProblems.transfers_not_offered, transferProblems.too_many_transfers],
      run: async ({ actor, body, remember }) => {
        const { seller } = catalog.operator
        const row = await issueTransfer({ db, clock, seller }, actor.accountId, body.amount_rub, remember)
        return transferView(row, clock.now())
      },
      recover: async ({ actor }, id) =>
        transferView(await findTransfer(db, actor.accountId, id), clock.now()),
    }),
    route({
      id: 'getTransfer',
      method: 'GET',
      path: `${path}/:transfer_id`,
      scope: 'account:read',
      tag,
      params: { transfer_id: transferProblems.transfer_not_found },
      load: ({ actor, params }) => findTransfer(db, actor.accountId, params.transfer_id),
      summary: 'Get an invoice for a bank transfer',
      description:
        'The invoice with the bank details of the payee as they were when it was issued. `arrived_rub` is the sum that arrived, which may differ from the sum to pay.',
      reply: { 200: Transfer },
      run: async ({ loaded }) => transferView(loaded, clock.now()),
    }),
  ]
}
