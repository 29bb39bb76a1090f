import { accountProblems } from '../accounts/schema.ts'
import { ApiError } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import { Arrival, Transfer, transferProblems } from '../transfers/schema.ts'
import { type Arriving, bookArrival, transferView } from '../transfers/transfers.ts'
import { asOperator } from './accounts.ts'
import { operatorProblems } from './schema.ts'

/** Books money that arrived by bank transfer. */
export function operatorTransferRoute({ db, clock }: Arriving): Route {
  return route({
    id: 'bookTransfer',
    method: 'POST',
    path: '/operator/transfers',
    scope: 'operator:money',
    tag: 'Operator',
    summary: 'Book money that arrived by bank transfer',
    description:
      "Finds the invoice by its reference and adds what arrived to the balance, as a payment. A transaction of the bank is booked once: a repeat changes nothing. A sum that differs and an expired invoice are booked, too, since the money is the customer's.",
    body: Arrival,
    reply: { 200: Transfer },
    errors: [
      transferProblems.transfer_not_found,
      transferProblems.bank_transaction_taken,
      operatorProblems.account_status_conflict,
    ],
    isRepeatable: true,
    run: async ({ body, report }) => {
      const { row } = await asOperator(() => bookArrival({ db, clock }, body)).catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.type !== accountProblems.account_suspended) throw error
        throw new ApiError(
          operatorProblems.account_status_conflict,
          'Nothing changed: the account is closed.',
        )
      })
      report({ event: 'transfer_booked', objectId: row.transfer_id })
      return transferView(row, clock.now())
    },
  })
}
