import Type from 'typebox'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { type Route, route, type SetHeader } from '../http/contract/route.ts'
import { formatMoney, parseMoney } from '../money.ts'
import { autoTopUpRoutes } from './auto-top-up-routes.ts'
import { RUBLES } from './charging.ts'
import { paymentMethodRoutes } from './method-routes.ts'
import { continuePayment, findPayment, listPayments, type Paying, startPayment } from './payments.ts'
import { LEAST, MOST, Payment, PaymentCreate, Providers, paymentProblems } from './schema.ts'
import type { PaymentTable } from './tables.ts'
import { paymentView } from './view.ts'

const tag = 'Payments'
const path = '/account/payments'

export function paymentRoutes(paying: Paying): Route[] {
  return [
    providersRoute(paying),
    ...readingRoutes(paying),
    startRoute(paying),
    ...paymentMethodRoutes(paying),
    ...autoTopUpRoutes(paying),
  ]
}

function providersRoute({ providers, catalog }: Paying): Route {
  const limits = {
    min_amount_rub: formatMoney(parseMoney(LEAST)),
    max_amount_rub: formatMoney(parseMoney(MOST)),
  }
  return route({
    id: 'listPaymentProviders',
    method: 'GET',
    path: '/account/payment_providers',
    scope: 'account:read',
    tag,
    summary: 'List the payment providers',
    description:
      'The services through which the account can be topped up, the preferred one first. The list is empty if the operator takes payments in another way.',
    reply: { 200: Providers },
    run: async () => {
      const second = catalog.operator.secondCurrency
      const currencies = (name: string) => [
        RUBLES,
        ...(second?.chargedBy.includes(name) ? [second.code] : []),
      ]
      return {
        items: providers.map(({ name, title }) => ({
          ...{ provider: name, title, ...limits },
          currencies: currencies(name),
        })),
        total: providers.length,
      }
    },
  })
}

function readingRoutes({ db }: Paying): Route[] {
  return [
    route({
      id: 'listPayments',
      method: 'GET',
      path,
      scope: 'account:read',
      tag,
      summary: 'List payments',
      description:
        'The top-ups of the account through payment providers, newest first. Canceled ones are kept for 90 days, at most 100 of them.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(Payment) },
      run: (call) => paged(call, (page) => listPayments(db, call.actor.accountId, page), paymentView),
    }),
    route({
      id: 'getPayment',
      method: 'GET',
      path: `${path}/:payment_id`,
      scope: 'account:read',
      tag,
      summary: 'Get a payment',
      description:
        'Poll it every few seconds after the customer comes back. Its status changes when the API of the provider has confirmed the payment, whatever the page of the provider shows.',
      params: { payment_id: paymentProblems.payment_not_found },
      load: ({ actor, params }) => findPayment(db, actor.accountId, params.payment_id),
      reply: { 200: Payment },
      run: async ({ loaded }) => paymentView(loaded),
    }),
  ]
}

function startRoute(paying: Paying): Route {
  const begun = (row: PaymentTable, setHeader: SetHeader) => {
    setHeader('location', `/v1${path}/${row.payment_id}`)
    return paymentView(row)
  }
  return route({
    id: 'createPayment',
    method: 'POST',
    path,
    scope: 'account:write',
    deed: 'pay',
    tag,
    summary: 'Top up the balance',
    description:
      'Begins a payment: send the customer to its `url`, a page of the provider. If the provider does not answer, `url` is null: poll the payment until it has one. It is added to the balance once, when the API of the provider confirms exactly this amount. With `charge_currency` the provider charges in that currency, and the balance gets the rubles that arrive, exchanged by the provider; what arrives in that currency is exchanged at the rate of `second_currency` when the payment began. A suspended account can pay, too. With `payment_method_id` the saved method is charged at once, without a page: poll the payment until it is no longer pending.',
    body: PaymentCreate,
    reply: { 201: Payment },
    errors: [
      paymentProblems.payments_off,
      paymentProblems.payment_refused,
      paymentProblems.too_many_open_payments,
      paymentProblems.payment_method_not_found,
      paymentProblems.too_many_payment_methods,
    ],
    run: async ({ actor, body, remember, setHeader }) =>
      begun(await startPayment(paying, actor.accountId, body, remember), setHeader),
    recover: async ({ actor, setHeader }, paymentId) =>
      begun(
        await continuePayment(paying, await findPayment(paying.db, actor.accountId, paymentId)),
        setHeader,
      ),
  })
}
