import Type from 'typebox'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { type Route, route } from '../http/contract/route.ts'
import { deleteMethod, findMethod, listMethods } from './methods.ts'
import type { Paying } from './payments.ts'
import { PaymentMethod, paymentProblems } from './schema.ts'
import { paymentMethodView } from './view.ts'

const tag = 'Payments'
const path = '/account/payment_methods'

export function paymentMethodRoutes({ db, clock }: Paying): Route[] {
  return [
    route({
      id: 'listPaymentMethods',
      method: 'GET',
      path,
      scope: 'account:read',
      tag,
      summary: 'List saved payment methods',
      description:
        'Cards and wallets that a payment with `save_method` has saved, newest first. The provider keeps their numbers.',
      query: Type.Object(pagingQuery),
      reply: { 200: listOf(PaymentMethod) },
      run: (call) => paged(call, (page) => listMethods(db, call.actor.accountId, page), paymentMethodView),
    }),
    route({
      id: 'deletePaymentMethod',
      method: 'DELETE',
      path: `${path}/:payment_method_id`,
      scope: 'account:write',
      tag,
      summary: 'Delete a saved payment method',
      description:
        'It cannot be charged from here on, and the provider is told to forget it. A payment that was begun with it still ends.',
      params: { payment_method_id: paymentProblems.payment_method_not_found },
      load: ({ actor, params }) => findMethod(db, actor.accountId, params.payment_method_id),
      reply: { 204: null },
      run: ({ loaded }) => deleteMethod(db, clock, loaded),
    }),
  ]
}
