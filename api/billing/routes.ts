import Type from 'typebox'
import type { Catalog } from '../catalog/file.ts'
import { topUpUrl } from '../catalog/operator.ts'
import { secondCurrencyView } from '../catalog/view.ts'
import type { Clock } from '../clock.ts'
import type { Database, Lent } from '../database/database.ts'
import { isoTime } from '../http/contract/fields.ts'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import { formatMoney, wholeTimes } from '../money.ts'
import { trafficOf } from '../monitoring/traffic.ts'
import { ledgersOf, listTransactions, type NamedItems } from './ledger.ts'
import { costsNow } from './rates.ts'
import { Balance, MOST_ITEMS, Transaction, Usage, UsageCsv, UsageQuery } from './schema.ts'
import { EMPTY_LEDGER, fundsOf } from './standing.ts'
import { usageOf } from './usage.ts'
import { transactionView, usageCsv, usageView } from './view.ts'

const tag = 'Account'

export interface BillingRoutesOptions {
  db: Database
  catalog: Pick<Catalog, 'operator'>
  clock: Clock
  /** Both queries include deleted items. */
  billedItems: NamedItems
  allServers: Lent<{ server_id: string; account_id: string; name: string }>
  /** Returns the payment, in units, that suspended servers need to resume; null if there are none. */
  missingToResume: (accountId: string) => Promise<number | null>
  /** The console's page for payments; null if there are no payment providers. */
  billingPage: () => string | null
}

export function billingRoutes(options: BillingRoutesOptions): Route[] {
  const { db, clock, catalog, billedItems, missingToResume, billingPage } = options
  return [
    route({
      id: 'getBalance',
      method: 'GET',
      path: '/account/balance',
      scope: 'account:read',
      tag,
      summary: 'Get the balance and how long it will last',
      description:
        'Returns the balance, the current costs, and the number of full hours that the balance lasts. Once it is used up, servers run on for a grace period of 24 hours, unless the operator set another, and are then suspended.',
      reply: { 200: Balance },
      run: async ({ actor }) => {
        const ledger = (await ledgersOf(db, [actor.accountId])).get(actor.accountId) ?? EMPTY_LEDGER
        const { hour, month } = (await costsNow(db, [actor.accountId])).get(actor.accountId) ?? NOTHING
        const missing = await missingToResume(actor.accountId)
        return {
          balance: formatMoney(ledger.balance),
          credit_limit_rub: formatMoney(ledger.credit_limit),
          currency: 'RUB' as const,
          cost_hour_rub: formatMoney(hour, 4),
          cost_month_rub: formatMoney(month),
          hours_left: hour === 0 ? null : wholeTimes(fundsOf(ledger), hour),
          top_up_to_resume_rub: missing === null ? null : formatMoney(missing),
          top_up_url: topUpUrl(catalog, actor.accountId, billingPage()),
          second_currency: secondCurrencyView(catalog.operator.secondCurrency),
          takes_transfers: Boolean(catalog.operator.seller?.bank),
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
        'The ledger, newest first: the balance is the sum of all amounts. Each hour of a server or public address (`item_type`, `item_id`) is charged after it ends; its cost in a calendar month (UTC) is rounded half up to whole kopecks, at least one, and the charge is the amount that the hour adds to that cost. Traffic beyond what a plan includes is a charge of its own in the same hour.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Transaction) },
      run: (call) =>
        paged(call, (page) => listTransactions(db, billedItems, call.actor.accountId, page), transactionView),
    }),
    ...usageRoutes(options),
  ]
}

function usageRoutes({ db, clock, billedItems, allServers }: BillingRoutesOptions): Route[] {
  const monthOf = ({ month }: UsageQuery) => (month ? Date.parse(`${month}-01`) : clock.now())
  return [
    route({
      id: 'getUsage',
      method: 'GET',
      path: '/account/usage',
      scope: 'account:read',
      tag,
      summary: 'Get the costs of a month by item and project',
      description:
        'The sums of the charges for the hours of a calendar month (UTC), by default the current one. An item is a server or a public address: `item_type` and `item_id` name it. An hour is charged when it is over, to the project that the item is in at that time, so the current hour is not included. `traffic` is the traffic that each server received and sent. Traffic sent beyond the amount that its plan includes is charged each hour, and is part of `amount`. Of very many items, those that cost the least are only counted and summed up: `more_items` and `more_amount`.',
      query: UsageQuery,
      reply: { 200: Usage },
      run: async ({ actor, query }) => {
        const month = monthOf(query)
        const usage = await usageOf(db, billedItems, actor.accountId, month)
        const traffic = await trafficOf(db, allServers, {
          accountId: actor.accountId,
          month,
          limit: MOST_ITEMS,
        })
        return usageView(usage, traffic, { at: month, now: clock.now() })
      },
    }),
    route({
      id: 'getUsageCsv',
      method: 'GET',
      path: '/account/usage.csv',
      scope: 'account:read',
      tag,
      summary: 'Get the costs of a month as CSV',
      description:
        'The same as `GET /account/usage`, as CSV (RFC 4180) with a header line, for spreadsheets and accounting. The total is not included: sum the last column. Items beyond the number of `GET /account/usage` are one line, `more_items`, with their number as the name.',
      query: UsageQuery,
      reply: { 200: UsageCsv },
      contentType: 'text/csv',
      run: async ({ actor, query }) => {
        const month = monthOf(query)
        return usageCsv(await usageOf(db, billedItems, actor.accountId, month), month)
      },
    }),
  ]
}

const NOTHING = { hour: 0, month: 0 }
