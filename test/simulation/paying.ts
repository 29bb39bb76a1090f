import type { Act, Request } from './acting.ts'
import { promoCodes } from './office.ts'

/** A saved method of the account. */
async function methodOf({ customer: { client }, chance }: Request): Promise<string | undefined> {
  const list = await client.send(chance, 'GET', '/account/payment_methods')
  return list?.status === 200
    ? chance.pick<{ payment_method_id: string }>(list.body.items)?.payment_method_id
    : undefined
}

/** All acts of customers with their own money. */
export const payments = {
  pay: async ({ customer: { client, visit }, chance }) => {
    const wanted = { amount_rub: chance.pick(['100.00', '500.00', '1500.00']), save_method: chance.is(0.8) }
    const reply = await client.insist(chance, 'POST', '/account/payments', wanted)
    const page: unknown = reply && reply.status < 300 ? reply.body.url : null
    if (typeof page === 'string') await visit(page, chance)
    return reply
  },
  charge_method: async (request) => {
    const payment_method_id = await methodOf(request)
    const { customer, chance } = request
    const wanted = { amount_rub: chance.pick(['50.00', '300.00']), payment_method_id }
    return payment_method_id ? customer.client.insist(chance, 'POST', '/account/payments', wanted) : null
  },
  auto_top_up: async (request) => {
    const payment_method_id = await methodOf(request)
    const { customer, chance } = request
    if (!payment_method_id) return null
    const limits = { amount_rub: '500.00', monthly_limit_rub: chance.pick(['500.00', '5000.00']) ?? '' }
    const wanted = { below_rub: chance.pick(['200.00', '150000.00']), ...limits, payment_method_id }
    return customer.client.send(chance, 'PUT', '/account/auto_top_up', wanted)
  },
  stop_auto_top_up: async ({ customer: { client }, chance }) =>
    client.send(chance, 'DELETE', '/account/auto_top_up'),
  forget_method: async (request) => {
    const id = await methodOf(request)
    const { customer, chance } = request
    return id ? customer.client.insist(chance, 'DELETE', `/account/payment_methods/${id}`) : null
  },
  transfer: async ({ customer: { client }, chance }) =>
    client.insist(chance, 'POST', '/account/transfers', { amount_rub: chance.pick(['500.00', '2000.00']) }),
  redeem: async ({ customer: { client }, chance }) => {
    const code = chance.is(0.1) ? 'WRONG-CODE-0000' : chance.pick(promoCodes)
    return client.insist(chance, 'POST', '/account/credits', { code })
  },
} satisfies Record<string, Act>
