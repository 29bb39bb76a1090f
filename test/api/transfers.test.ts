import { expect, test } from 'vitest'
import { bookArrival } from '../../api/transfers/transfers.ts'
import { pdfText } from '../harness/pdf-text.ts'
import { BANK, selling } from '../harness/seller.ts'
import { signUp } from './harness/browser.ts'
import { makeOperatorToken, withShop } from './operator/harness/shop.ts'

const DAY = 24 * 3600_000
const PATH = '/account/transfers'

async function withInvoice() {
  const { t, shop } = await withShop({ balance: '0', ...selling({ bank: BANK }) })
  const { status, body } = await t.call('POST', PATH, { amount_rub: '5000' })
  expect(status).toBe(201)
  const arrive = (
    amount_rub = '5000',
    bank_transaction_id = 'b-1',
    reference = body.reference,
    call = shop,
  ) => call('POST', '/operator/transfers', { reference, amount_rub, bank_transaction_id })
  const balance = async () => (await t.call('GET', '/account/balance')).body.balance
  return { t, shop, invoice: body, arrive, balance }
}

test('an invoice has the bank of the seller, and what arrives by its reference is booked once', async () => {
  const { t, shop, invoice, arrive, balance } = await withInvoice()
  expect(invoice).toMatchObject({ status: 'open', amount_rub: '5000.00', arrived_rub: '0.00' })
  expect(invoice.payee).toMatchObject({ tax_id: '7700000000', bank_account: '40702810900000000001' })
  const sent = await Promise.all([arrive(), arrive(), arrive()])
  expect(sent.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(await balance()).toBe('5000.00')
  expect((await t.call('GET', `${PATH}/${invoice.transfer_id}`)).body).toMatchObject({
    ...{ status: 'paid', arrived_rub: '5000.00' },
  })
  const { body } = await shop('GET', `/operator/accounts/${t.accountId}`)
  expect(body).toMatchObject({ paid: '5000.00' })
})

test('another sum, a second transfer and an expired invoice are booked as they arrived', async () => {
  const { t, invoice, arrive, balance } = await withInvoice()
  t.clock.advance(31 * DAY)
  const { value } = await makeOperatorToken(t, ['operator:money'])
  expect((await t.call('GET', PATH)).body.items[0]).toMatchObject({ status: 'expired' })
  const call = t.callAs(value)
  await arrive('4999.5', 'b-1', invoice.reference, call)
  expect((await arrive('1', 'b-2', invoice.reference, call)).body).toMatchObject({
    transfer_id: invoice.transfer_id,
    arrived_rub: '5000.50',
  })
  expect(await balance()).toBe('5000.50')
})

test('a forged reference, a transaction with another sum and impossible sums book nothing', async () => {
  const { arrive, balance } = await withInvoice()
  const codes = []
  for (const [amount, id, reference] of [
    ['5000', 'b-1', '0000-0000-0097'],
    ['0', 'b-1'],
    ['-1', 'b-1'],
    ['1e3', 'b-1'],
    ['99999999999999999', 'b-1'],
    ['1', '=1+1'],
  ] as const)
    codes.push((await arrive(amount, id, reference)).body.code)
  expect(codes).toEqual(['transfer_not_found', ...Array(5).fill('validation_failed')])
  await arrive()
  expect((await arrive('4000')).body.code).toBe('bank_transaction_taken')
  expect(await balance()).toBe('5000.00')
})

test('requests that run at once cannot exceed the bound on open invoices', async () => {
  const { t } = await withInvoice()
  const sent = await Promise.all(Array.from({ length: 12 }, () => t.call('POST', PATH, { amount_rub: '10' })))
  expect(sent.filter(({ status }) => status === 201)).toHaveLength(9)
  expect(sent.find(({ status }) => status !== 201)?.body.code).toBe('too_many_transfers')
})

test('without a bank in the catalogue no transfer is offered, and invoices of others are not found', async () => {
  const { t } = await withShop({ balance: '0', ...selling() })
  expect((await t.call('POST', PATH, { amount_rub: '10' })).body.code).toBe('transfers_not_offered')
  const { t: own, invoice } = await withInvoice()
  const accountId = await own.makeAccount('0')
  const call = own.callAs(await own.makeToken(['read'], { accountId }))
  expect((await call('GET', `${PATH}/${invoice.transfer_id}`)).body.code).toBe('transfer_not_found')
})

test('nothing is booked for a closed account', async () => {
  const { t, arrive } = await withInvoice()
  await t.db.updateTable('accounts').set({ status: 'closed' }).where('account_id', '=', t.accountId).execute()
  expect((await arrive()).body.code).toBe('account_status_conflict')
  const booked = await t.db
    .selectFrom('transactions')
    .selectAll()
    .where('account_id', '=', t.accountId)
    .execute()
  expect(booked).toEqual([])
})

for (const [language, lines] of Object.entries({
  en: ['of 20 November 2026', 'BIC: 044525000', '5,000.00', 'Pay until 20 December 2026.'],
  ru: ['от 20 ноября 2026 г.', 'БИК: 044525000', '5\u00a0000,00', 'Оплатить до 20 декабря 2026 г.'],
}))
  test(`an invoice is a PDF with what a bank asks for, in the language of the owner: ${language}`, async () => {
    const { t, invoice } = await withInvoice()
    const { call } = await signUp(t, 'customer1@example.com')
    await call('PATCH', '/person', { language })
    const url = `/v1${PATH}/${invoice.transfer_id}/content.pdf`
    const get = (token: string) => t.app.http.inject({ url, headers: { authorization: `Bearer ${token}` } })
    const { headers, rawPayload } = await get(t.token)
    expect(headers['content-disposition']).toBe(`attachment; filename="invoice-${invoice.reference}.pdf"`)
    const text = pdfText(rawPayload)
    for (const line of [...lines, invoice.reference, '40702810900000000001', 'ООО "Пример"', 'Customer 1'])
      expect(text).toContain(line)
    expect(text).not.toContain('\uFFFD')
    const accountId = await t.makeAccount('0')
    expect((await get(await t.makeToken(['read'], { accountId }))).json().code).toBe('transfer_not_found')
  })

test('a trial books nothing, and reports the same result', async () => {
  const { t, invoice, balance } = await withInvoice()
  const arrival = { reference: invoice.reference, amount_rub: '5000.00', bank_transaction_id: 'b-1' }
  const place = { db: t.db, clock: t.clock }
  expect((await bookArrival({ ...place, isTrial: true }, arrival)).isNew).toBe(true)
  expect(await balance()).toBe('0.00')
  expect((await bookArrival(place, arrival)).isNew).toBe(true)
  expect((await bookArrival({ ...place, isTrial: true }, arrival)).isNew).toBe(false)
  expect(await balance()).toBe('5000.00')
})
