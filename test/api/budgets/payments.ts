import { catalogText } from '../../harness/app.ts'
import { chargeHour } from '../../harness/invoiced.ts'
import { BANK, selling } from '../../harness/seller.ts'
import { withPayments } from '../payments/harness/payments.ts'
import type { Meter } from './meter.ts'

/** Uses the routes of payments, and notes what a look at one costs. */
export async function walkPayments(meter: Meter): Promise<void> {
  const { t, played, shop } = await withPayments(selling({ bank: BANK }))
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
  await walkCredits(t, { call, operator })
  const path = `/operator/payments/${body.payment_id}`
  await operator('GET', path)
  await operator('POST', `${path}/refund`, { amount_rub: '100', reason: 'Paid twice' })
  await look('send a refund, and book it')
  await t.app.billing.look()
  await meter.note('look for documents that are due: none', () => t.app.billing.look())
  t.clock.advance(25 * 3600_000)
  await meter.note('book the end of a credit', () => t.app.billing.look())
  t.clock.advance(Date.parse('2026-12-01T00:00:00Z') - t.clock.now())
  await meter.note('issue a statement', () => t.app.billing.look())
  const { items } = (await call('GET', '/account/documents')).body
  const own = `/account/documents/${items[0].document_id}`
  for (const what of ['', '/content', '/content.pdf', '/content.csv']) await call('GET', `${own}${what}`)
  await operator('GET', `/operator/accounts/${t.accountId}/documents`)
  await call('POST', '/account/payments', { amount_rub: '500', provider: 'stripe', save_method: true })
  played.last.status = 'succeeded'
  await look('book a payment, and save its method')
  const { payment_method_id } = (await call('GET', '/account/payment_methods')).body.items[0]
  await call('POST', '/account/payments', { amount_rub: '500', payment_method_id })
  await look('book a charge')
  const sums = { below_rub: '500000', amount_rub: '500', monthly_limit_rub: '500' }
  await call('PUT', '/account/auto_top_up', { ...sums, payment_method_id })
  await call('GET', '/account/auto_top_up')
  await look('begin an automatic payment')
  await look('book an automatic payment')
  await call('DELETE', '/account/auto_top_up')
  await call('PUT', '/account/auto_top_up', { ...sums, payment_method_id })
  await call('DELETE', `/account/payment_methods/${payment_method_id}`)
  await look('book a charge, and forget its method')
  await chargeHour(t, t.accountId)
  t.clock.advance(Date.parse('2027-01-01T00:00:00Z') - t.clock.now())
  await meter.note('issue an invoice', () => t.app.billing.look())
  await meter.note('mail about documents: one invoice', () => t.app.documentMails.look())
  await meter.note('mail about documents: none is due', () => t.app.documentMails.look())
  const invoice = (await call('GET', '/account/documents')).body.items[0].document_id
  const document = `/operator/accounts/${t.accountId}/documents/${invoice}`
  await operator('GET', document)
  const lines = [{ amount_rub: '12' }]
  const note = { type: 'credit_note', lines, reason: 'An outage', reference: 'c-1' }
  await operator('POST', `${document}/corrections`, note)
}

/** Uses the routes of promo codes and bank transfers. */
async function walkCredits(
  t: Awaited<ReturnType<typeof withPayments>>['t'],
  { call, operator }: { call: typeof t.call; operator: typeof t.call },
): Promise<void> {
  const expires_at = new Date(t.clock.now() + 1_000_000).toISOString()
  const terms = { name: 'Fair', amount_rub: '100', credit_days: 1, max_uses: 10, expires_at }
  const { body } = await operator('POST', '/operator/promo_codes', terms)
  await operator('GET', '/operator/promo_codes')
  await operator('GET', `/operator/promo_codes/${body.promo_code_id}`)
  await call('POST', '/account/credits', { code: body.code })
  await call('GET', '/account/credits')
  await operator('POST', `/operator/promo_codes/${body.promo_code_id}/revoke`)
  const { transfer_id, reference } = (await call('POST', '/account/transfers', { amount_rub: '500' })).body
  await call('GET', '/account/transfers')
  await call('GET', `/account/transfers/${transfer_id}`)
  await call('GET', `/account/transfers/${transfer_id}/content.pdf`)
  await operator('GET', '/operator/catalog')
  await operator('POST', '/operator/catalog/check', { text: catalogText })
  const { hash } = (await operator('GET', '/operator/catalog')).body
  await operator('PUT', '/operator/catalog', { text: catalogText, hash })
  await operator('POST', '/operator/transfers', { reference, amount_rub: '500', bank_transaction_id: '1' })
}
