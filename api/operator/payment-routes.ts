import { listOf, paged } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import {
  findAnyPayment,
  type Paying,
  requestRefund,
  returnsOf,
  searchPayments,
} from '../payments/payments.ts'
import { OperatedPayment, OperatedPaymentQuery, paymentProblems, RefundCreate } from '../payments/schema.ts'
import { operatedPaymentView } from '../payments/view.ts'
import { asOperator } from './accounts.ts'

const tag = 'Operator'

export interface OperatorPaymentOptions extends Pick<Paying, 'db' | 'clock'> {
  /** Sends refunds that were requested. */
  wakePayments: () => void
}

/** Payments of all accounts, and refunds. */
export function operatorPaymentRoutes(options: OperatorPaymentOptions): Route[] {
  const { db } = options
  const onPayment = {
    tag,
    params: { payment_id: paymentProblems.payment_not_found },
    load: ({ params: { payment_id } }: { params: { payment_id: string } }) => findAnyPayment(db, payment_id),
  }
  const show = async (paymentId: string) =>
    operatedPaymentView(await findAnyPayment(db, paymentId), await returnsOf(db, [paymentId]))
  return [
    listRoute(options),
    route({
      id: 'getOperatedPayment',
      method: 'GET',
      path: '/operator/payments/:payment_id',
      scope: 'operator:read',
      ...onPayment,
      summary: 'Get a payment of any account',
      description:
        'The payment with its refunds and disputes. `problem` says why something of it was not booked; the provider is asked again daily, so a payment of an account that was resumed is booked later.',
      reply: { 200: OperatedPayment },
      run: ({ params: { payment_id } }) => show(payment_id),
    }),
    route({
      id: 'refundPayment',
      method: 'POST',
      path: '/operator/payments/:payment_id/refund',
      scope: 'operator:money',
      ...onPayment,
      summary: 'Refund a payment, or a part of it',
      description:
        'Requests the refund from the provider within seconds; the reply shows it in `returns`. The balance is debited when the provider has confirmed it, even below zero. The audit of the account names the operator.',
      body: RefundCreate,
      reply: { 200: OperatedPayment },
      errors: [paymentProblems.refund_too_large],
      run: async ({ params: { payment_id }, body, remember, report }) => {
        report({ event: 'payment_refunded', objectId: payment_id })
        await asOperator(() => requestRefund(options, payment_id, body, remember), body.reason)
        options.wakePayments()
        return show(payment_id)
      },
      recover: (_call, paymentId) => show(paymentId),
    }),
  ]
}

function listRoute({ db }: OperatorPaymentOptions): Route {
  return route({
    id: 'listOperatedPayments',
    method: 'GET',
    path: '/operator/payments',
    scope: 'operator:read',
    tag,
    summary: 'List the payments of all accounts',
    description:
      'Payments through providers, newest first; filters are combined with and. `has_problem=true` finds those of which something was not booked, with the reason.',
    query: OperatedPaymentQuery,
    reply: { 200: listOf(OperatedPayment) },
    run: (call) =>
      paged(
        call,
        async (page) => {
          const { items, total } = await searchPayments(db, call.query, page)
          const returns = await returnsOf(
            db,
            items.map(({ payment_id }) => payment_id),
          )
          const ofPayment = Map.groupBy(returns, ({ payment_id }) => payment_id)
          return { total, items: items.map((row) => ({ row, returns: ofPayment.get(row.payment_id) ?? [] })) }
        },
        ({ row, returns }) => operatedPaymentView(row, returns),
      ),
  })
}
