import Type from 'typebox'
import type { Clock } from '../clock.ts'
import type { Database, Lent } from '../database/database.ts'
import { isoTime } from '../http/fields.ts'
import { listOf, paged, pagingQuery } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import { formatMoney, wholeTimes } from '../money.ts'
import { balanceOf, listTransactions } from './ledger.ts'
import { costsNow } from './rates.ts'
import { Balance, Transaction, Usage, UsageCsv, UsageQuery } from './schema.ts'
import { usageOf } from './usage.ts'
import { transactionView, usageCsv, usageView } from './view.ts'

const tag = 'Account'

interface BillingRoutesOptions {
  db: Database
  clock: Clock
  /** Also those that are gone. */
  servers: Lent<{ server_id: string; name: string }>
}

export function billingRoutes(options: BillingRoutesOptions): Route[] {
  const { db, clock } = options
  return [
    route({
      id: 'getBalance',
      method: 'GET',
      path: '/account/balance',
      scope: 'account:read',
      tag,
      summary: 'Get the balance and how long it will last',
      reply: { 200: Balance },
      run: async ({ actor }) => {
        const balance = await balanceOf(db, actor.accountId)
        const { hour, month } = (await costsNow(db, [actor.accountId])).get(actor.accountId) ?? NOTHING
        return {
          balance: formatMoney(balance),
          currency: 'RUB' as const,
          cost_hour_rub: formatMoney(hour, 4),
          cost_month_rub: formatMoney(month),
          hours_left: hour === 0 ? null : wholeTimes(balance, hour),
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
      summary: 'List transactions',
      description:
        'The balance is the sum of all amounts. The cost of a server in a calendar month (UTC) is rounded half up to whole kopecks; the charge for an hour is what it adds to that cost.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Transaction) },
      run: (call) => paged(call, (page) => listTransactions(db, call.actor.accountId, page), transactionView),
    }),
    ...usageRoutes(options),
  ]
}

function usageRoutes({ db, clock, servers }: BillingRoutesOptions): Route[] {
  const monthOf = ({ month }: UsageQuery) => (month ? Date.parse(`${month}-01`) : clock.now())
  return [
    route({
      id: 'getUsage',
      method: 'GET',
      path: '/account/usage',
      scope: 'account:read',
      tag,
      summary: 'Get the costs of a month by server and project',
      description:
        'The sums of the charges for the hours of a calendar month (UTC), by default the current one. An hour is charged when it is over, to the project that the server is in at that time.',
      query: UsageQuery,
      reply: { 200: Usage },
      run: async ({ actor, query }) => {
        const month = monthOf(query)
        return usageView(await usageOf(db, servers, actor.accountId, month), month, clock.now())
      },
    }),
    route({
      id: 'getUsageCsv',
      method: 'GET',
      path: '/account/usage.csv',
      scope: 'account:read',
      tag,
      summary: 'Get the costs of a month as CSV',
      query: UsageQuery,
      reply: { 200: UsageCsv },
      contentType: 'text/csv',
      run: async ({ actor, query }) => {
        const month = monthOf(query)
        return usageCsv(await usageOf(db, servers, actor.accountId, month), month)
      },
    }),
  ]
}

const NOTHING = { hour: 0, month: 0 }
