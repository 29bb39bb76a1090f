import Type from 'typebox'
import { findAccount } from '../accounts/accounts.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { TransactionTable } from '../database/schema.ts'
import { isoTime } from '../http/fields.ts'
import { listOf, paged, pagingQuery } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import { formatMoney } from '../money.ts'
import { costNow, listTransactions } from './ledger.ts'
import { Balance, Transaction } from './schema.ts'

const tag = 'Account'

export function billingRoutes(db: Database, clock: Clock): Route[] {
  return [
    route({
      id: 'getBalance',
      method: 'GET',
      path: '/account/balance',
      scope: 'account:read',
      tag,
      summary: 'The balance, and how long it lasts',
      reply: { 200: Balance },
      run: async ({ actor }) => {
        const [{ balance }, cost] = await Promise.all([
          findAccount(db, actor.accountId),
          costNow(db, actor.accountId),
        ])
        return {
          balance: formatMoney(balance),
          currency: 'RUB' as const,
          cost_hour_rub: formatMoney(cost.hour, 4),
          cost_month_rub: formatMoney(cost.month),
          hours_left: cost.hour === 0 ? null : Math.max(0, Math.floor(balance / cost.hour)),
          generated_at: isoTime(clock.now()),
        }
      },
    }),
    route({
      id: 'listTransactions',
      method: 'GET',
      path: '/account/transactions',
      scope: 'account:read',
      tag,
      summary: 'List the entries of the ledger',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Transaction) },
      run: (call) => paged(call, (page) => listTransactions(db, call.actor.accountId, page), transactionView),
    }),
  ]
}

function transactionView(row: TransactionTable): Transaction {
  return {
    transaction_id: row.transaction_id,
    type: row.type,
    amount: formatMoney(row.amount),
    balance_after: formatMoney(row.balance_after),
    server_id: row.server_id,
    description: row.description,
    created_at: isoTime(row.created_at),
  }
}
