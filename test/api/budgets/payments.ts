import { withPayments } from '../payments/harness/payments.ts'
import type { Meter } from './meter.ts'

/** Uses the routes of payments, and notes what a look at one costs. */
export async function walkPayments(meter: Meter): Promise<void> {
  const { t, played, shop } = await withPayments()
  const call = meter.measured(t, t.call, '/account/me')
  await call('GET', '/account/payment_providers')
  const { body } = await call('POST', '/account/payments', { amount_rub: '500', provider: 'stripe' })
  const look = async (name: string) => {
    t.clock.advance(20_000)
    await meter.note(name, () => t.app.payments.look())
  }
  await look('look at a pending payment')
  played.last.status = 'succeeded'
  await look('book a payment')
  await call('GET', '/account/payments')
  await call('GET', `/account/payments/${body.payment_id}`)
  const operator = meter.measured(t, shop, '/operator/accounts')
  await operator('GET', '/operator/payments')
  const path = `/operator/payments/${body.payment_id}`
  await operator('GET', path)
  await operator('POST', `${path}/refund`, { amount_rub: '100', reason: 'Paid twice' })
  await look('send a refund, and book it')
}
