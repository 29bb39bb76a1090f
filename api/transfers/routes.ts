import Type from 'typebox'
import type { Operator } from '../catalog/operator.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import { Transfer, TransferCreate, transferProblems } from './schema.ts'
import { findTransfer, issueTransfer, listTransfers, transferView } from './transfers.ts'

const tag = 'Payments'
const path = '/account/transfers'

interface TransferOptions {
  db: Database
  clock: Clock
  catalog: { operator: Operator }
}

export function transferRoutes({ db, clock, catalog }: TransferOptions): Route[] {
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
