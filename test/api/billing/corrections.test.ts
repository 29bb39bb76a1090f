import fc from 'fast-check'
import { expect, test } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { formatMoney, parseMoney } from '../../../api/money.ts'
import type { TestApp } from '../../harness/app.ts'
import { pdfText } from '../../harness/pdf-text.ts'
import { selling, VAT_ADDED } from '../../harness/seller.ts'
import { signUp } from '../harness/browser.ts'
import { make } from '../harness/ordering.ts'
import { makeOperatorToken, withShop } from '../operator/harness/shop.ts'

const REASON = 'An outage on 3 November'

async function until(t: TestApp, iso: string) {
  t.clock.advance(Date.parse(iso) - t.clock.now())
  for (let round = 0; round < 5; round++) await t.app.billing.look()
}

interface Setting {
  language?: 'ru'
  seller?: Parameters<typeof selling>[0]
  afterStatement?: () => void
}

/** An account with the invoice of November, over one server, and an operator's calls. */
async function withInvoice({ language, seller, ...options }: Setting = {}) {
  const { t } = await withShop({ ...selling(seller), ...options })
  if (language) await (await signUp(t, 'customer1@example.com')).call('PATCH', '/person', { language })
  const serverId = await make(t, { name: 'web-1' })
  await until(t, '2026-12-01T00:00:00Z')
  await t.db.updateTable('billing_meters').set({ due_at: null }).execute()
  const operator = t.callAs((await makeOperatorToken(t, ['operator:read', 'operator:money'])).value)
  const list = async () => (await t.call('GET', '/account/documents')).body.items
  const [{ document_id: id }] = await list()
  const path = `/operator/accounts/${t.accountId}/documents/${id}`
  const correct = (amount: string, reference: string, more: object = {}, headers = {}) =>
    operator(
      'POST',
      `${path}/corrections`,
      { type: 'credit_note', lines: [{ amount_rub: amount }], reason: REASON, reference, ...more },
      headers,
    )
  const get = async (document = id) => (await t.call('GET', `/account/documents/${document}`)).body
  const balance = async () => (await t.call('GET', '/account/balance')).body.balance
  return { t, id, serverId, operator, path, correct, get, list, balance, invoice: await get() }
}

/** Checks that numbers have no gaps, entries follow each other, and each correction has one entry of its total. */
async function expectWhole(t: TestApp) {
  const rows = await t.db.selectFrom('documents').selectAll().execute()
  const numbers = rows.map(({ sequence }) => sequence).sort((a, b) => a - b)
  expect(numbers).toEqual(Array.from({ length: rows.length }, (_, at) => at + 1))
  const { last_number } = await t.db
    .selectFrom('document_series')
    .select('last_number')
    .executeTakeFirstOrThrow()
  expect(last_number).toBe(rows.length)
  const own = t.db.selectFrom('transactions').selectAll().where('account_id', '=', t.accountId)
  const entries = await own.orderBy('sequence').execute()
  let balance = 0
  for (const { balance_before, amount, balance_after } of entries) {
    expect([balance_before, balance_after]).toEqual([balance, balance + amount])
    balance = balance_after
  }
  const corrections = rows.filter(({ corrects }) => corrects !== null)
  const booked = entries.filter(({ description }) => /^(Credit|Debit) note /.test(description))
  const pairs = (all: readonly { reference: string | null; change: number }[]) =>
    all.map(({ reference, change }) => `${reference} ${change}`).sort()
  expect(pairs(booked.map(({ reference, amount }) => ({ reference, change: amount })))).toEqual(
    pairs(corrections.map(({ reference, total }) => ({ reference, change: 0 - total }))),
  )
}

test('a credit note has the next number, names its invoice, and is booked once', async () => {
  const { t, id, serverId, correct, get, list, balance, invoice } = await withInvoice({
    seller: { prefix: 'EX-' },
  })
  const before = await balance()
  const { status, body: note } = await correct('1.20', 'c-1', {
    lines: [{ amount_rub: '1.20', item_id: serverId }],
  })
  expect(status).toBe(201)
  const left = formatMoney(parseMoney(invoice.total_rub) - parseMoney('1.2'))
  expect(note).toMatchObject({
    ...{ type: 'credit_note', number: 'EX-2', period: '2026-11', language: 'en' },
    corrects: { document_id: id, number: 'EX-1', period: '2026-11', issued_at: invoice.issued_at },
    ...{ seller: invoice.seller, customer: invoice.customer, vat: { percent: '20', is_included: true } },
    ...{ total_rub: '-1.20', vat_rub: '-0.20', net_rub: '-1.00', charges_rub: '-1.20' },
    ...{ opening_balance_rub: before, projects: [], entries: [], corrections: [] },
    correction: {
      reason: REASON,
      lines: [{ item_type: 'server', item_id: serverId, name: 'web-1', amount_rub: '-1.20' }],
      before: { total_rub: invoice.total_rub, vat_rub: invoice.vat_rub },
      after: { total_rub: left },
    },
  })
  expect(await balance()).toBe(formatMoney(parseMoney(before) + parseMoney('1.2')))
  expect(await get(note.document_id)).toEqual(note)
  const { type, number, total_rub, issued_at, document_id } = note
  const named = { document_id, type, number, total_rub, issued_at }
  expect(await get()).toEqual({ ...invoice, corrections: [named] })
  expect((await list()).map((one: typeof note) => [one.number, one.corrects?.number])).toEqual([
    ['EX-2', 'EX-1'],
    ['EX-1', undefined],
  ])
  const [entry] = (await t.call('GET', '/account/transactions')).body.items
  expect(entry).toMatchObject({
    ...{ transaction_id: note.correction.transaction_id, type: 'correction', amount: '1.20' },
    description: `Credit note EX-2 to invoice EX-1: ${REASON}`,
  })
  const events = (await t.call('GET', '/events')).body.items
  expect(events.filter(({ type }: { type: string }) => type === 'invoice.corrected')).toMatchObject([
    { data: { document_id: note.document_id, number: 'EX-2', corrects: { document_id: id } } },
  ])
  await expectWhole(t)
})

test('a repeat of a reference changes nothing, and a reference of something else is refused', async () => {
  const { t, id, path, operator, correct, balance } = await withInvoice()
  const sent = await Promise.all([correct('1', 'c-1'), correct('1', 'c-1'), correct('1.00', 'c-1')])
  expect(sent.map(({ status }) => status).sort()).toEqual([200, 200, 201])
  expect(new Set(sent.map(({ body }) => body.document_id)).size).toBe(1)
  const key = { 'idempotency-key': 'again' }
  const keyed = [await correct('2', 'c-2', {}, key), await correct('2', 'c-2', {}, key)]
  expect(keyed.map(({ status }) => status)).toEqual([201, 200])
  const after = await balance()
  const credit = { amount: '1', type: 'correction', reason: 'a gift', reference: 'c-3' }
  await operator('POST', `/operator/accounts/${t.accountId}/credit`, credit)
  for (const [amount, reference, more] of [
    ['1.01', 'c-1', {}],
    ['1', 'c-1', { reason: 'another' }],
    ['1', 'c-1', { type: 'debit_note' }],
    ['1', 'c-3', {}],
    ['2', 'c-3', {}],
  ] as const)
    expect((await correct(amount, reference, more)).body.code).toBe('reference_taken')
  const other = `/operator/accounts/${await t.makeAccount()}/documents/${id}/corrections`
  const order = { type: 'credit_note', lines: [{ amount_rub: '1' }], reason: REASON, reference: 'c-4' }
  expect((await operator('POST', other, order)).body.code).toBe('document_not_found')
  expect((await operator('GET', path)).body.corrections).toHaveLength(2)
  expect(await balance()).toBe(formatMoney(parseMoney(after) + parseMoney('1')))
  await expectWhole(t)
})

test('credit notes take no more than the invoice and its items have left, and VAT to the kopeck', async () => {
  const { t, serverId, correct, get, balance, invoice } = await withInvoice()
  const before = await balance()
  const rest = formatMoney(parseMoney(invoice.charges_rub) - parseMoney('0.03'))
  const item = (amount_rub: string) => ({ lines: [{ amount_rub, item_id: serverId }] })
  expect(
    (await correct('', 'c-0', item(formatMoney(parseMoney(invoice.charges_rub) + parseMoney('0.01'))))).body
      .code,
  ).toBe('correction_too_large')
  for (const [at, amount] of ['0.01', '0.01', '0.01'].entries())
    expect((await correct('', `c-${at + 1}`, item(amount))).status).toBe(201)
  const raced = await Promise.all(['a', 'b', 'c'].map((reference) => correct(rest, reference)))
  expect(raced.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  expect(raced.find(({ status }) => status === 409)?.body.code).toBe('correction_too_large')
  const { corrections } = await get()
  const notes = await Promise.all(corrections.map((one: { document_id: string }) => get(one.document_id)))
  const sum = (field: string) => notes.reduce((all, note) => all + parseMoney(note[field]), 0)
  for (const field of ['net_rub', 'vat_rub', 'total_rub'])
    expect(sum(field)).toBe(-parseMoney(invoice[field]))
  const zero = { net_rub: '0.00', vat_rub: '0.00', total_rub: '0.00' }
  expect(notes.at(-1).correction.after).toEqual(zero)
  expect(await balance()).toBe(formatMoney(parseMoney(before) + parseMoney(invoice.total_rub)))
  expect((await correct('5', 'd', { type: 'debit_note' })).body.total_rub).toBe('5.00')
  expect((await correct('4', 'e')).body.correction.after.total_rub).toBe('1.00')
  await expectWhole(t)
})

test('VAT that prices do not include is added to a correction, and paid back with it', async () => {
  const { t, correct, invoice, balance } = await withInvoice({ seller: { vat: VAT_ADDED } })
  const before = await balance()
  const { body } = await correct('1', 'c-1')
  expect(body).toMatchObject({ charges_rub: '-1.00', net_rub: '-1.00', vat_rub: '-0.20', total_rub: '-1.20' })
  expect(await balance()).toBe(formatMoney(parseMoney(before) + parseMoney('1.2')))
  const rest = formatMoney(parseMoney(invoice.charges_rub) - parseMoney('1'))
  expect((await correct(rest, 'c-2')).body.correction.after.total_rub).toBe('0.00')
  expect(await balance()).toBe(formatMoney(parseMoney(before) + parseMoney(invoice.total_rub)))
  await expectWhole(t)
})

test('a correction has the terms of its invoice, and the next invoice has its entry, whatever is sold then', async () => {
  const { t, correct, invoice, list, get } = await withInvoice()
  const csv = async () => (await t.call('GET', `/account/documents/${invoice.document_id}/content.csv`)).body
  const before = await csv()
  await until(t, '2026-12-20T00:00:00Z')
  const operator = t.callAs((await makeOperatorToken(t, ['operator:money'])).value)
  const path = `/operator/accounts/${t.accountId}/documents/${invoice.document_id}/corrections`
  const order = { type: 'debit_note', lines: [{ amount_rub: '3' }], reason: REASON, reference: 'c-1' }
  const { body: note } = await operator('POST', path, order)
  expect(note).toMatchObject({ number: '2', total_rub: '3.00', vat_rub: '0.50' })
  await until(t, '2027-01-01T00:00:00Z')
  const [december] = await list()
  expect(await get(december.document_id)).toMatchObject({
    ...{ number: '3', type: 'statement', opening_balance_rub: invoice.closing_balance_rub },
    entries: [
      { type: 'correction', amount_rub: '-3.00', description: `Debit note 2 to invoice 1: ${REASON}` },
    ],
  })
  expect(await csv()).toBe(before)
  expect((await correct('1', 'c-2')).status).toBe(401)
  await expectWhole(t)
})

test('only invoices are corrected, and a closed account gets no credit note', async () => {
  const { t, correct, operator, id } = await withInvoice()
  const { body: note } = await correct('1', 'c-1')
  const order = { type: 'debit_note', lines: [{ amount_rub: '1' }], reason: REASON, reference: 'c-2' }
  const path = `/operator/accounts/${t.accountId}/documents/${note.document_id}/corrections`
  expect((await operator('POST', path, order)).body.code).toBe('document_not_correctable')
  const lines = [{ amount_rub: '1', item_id: id }]
  expect((await correct('', 'c-3', { lines })).body.errors).toMatchObject([
    { field: 'lines.0.item_id', code: 'not_found' },
  ])
  for (const amount of ['0', '-1', '0.001', '1e3', ''])
    expect((await correct(amount, 'c-4')).body.code).toBe('validation_failed')
  await t.db.updateTable('accounts').set({ status: 'closed' }).where('account_id', '=', t.accountId).execute()
  expect((await correct('1', 'c-5')).body.code).toBe('account_status_conflict')
  expect((await correct('1', 'c-6', { type: 'debit_note' })).status).toBe(201)
  const readers = t.callAs((await makeOperatorToken(t, ['operator:read', 'operator:write'])).value)
  expect((await readers('POST', path, order)).status).toBe(403)
  expect((await t.call('POST', path, order)).status).toBe(403)
  await expectWhole(t)
})

test('a document has at most 50 corrections', async () => {
  const { t, id, correct } = await withInvoice()
  await correct('0.01', 'c-1')
  const row = await t.db
    .selectFrom('documents')
    .selectAll()
    .where('corrects', '=', id)
    .executeTakeFirstOrThrow()
  for (let more = 2; more <= 50; more++)
    await t.db
      .insertInto('documents')
      .values({
        ...row,
        document_id: `copy-${more}`,
        sequence: more + 1,
        month: -more,
        reference: `c-${more}`,
      })
      .execute()
  await t.db.updateTable('document_series').set({ last_number: 51 }).execute()
  expect((await correct('0.01', 'c-51')).body.code).toBe('too_many_corrections')
})

test('a correction that dies at any statement leaves neither a number, a document nor an entry', async () => {
  let countdown = Number.POSITIVE_INFINITY
  const { t, correct, balance } = await withInvoice({
    afterStatement: () => {
      countdown -= 1
      if (countdown === 0) throw new Error('the connection is lost')
    },
  })
  const before = await balance()
  let [tries, died] = [0, 0]
  for (let isReached = true; isReached; ) {
    tries++
    countdown = tries
    const { status } = await correct('0.01', `c-${tries}`)
    isReached = countdown <= 0
    countdown = Number.POSITIVE_INFINITY
    await expectWhole(t)
    if (status === 500) died++
    // One that died after its commit is found by its reference.
    expect((await correct('0.01', `c-${tries}`)).status).toBeLessThan(300)
    await expectWhole(t)
  }
  expect(died).toBeGreaterThan(10)
  expect(await balance()).toBe(formatMoney(parseMoney(before) + tries * parseMoney('0.01')))
})

test('numbers have no gaps, whatever is corrected, repeated, refused and issued at once', async () => {
  const { t, id, invoice } = await withInvoice()
  const part = Math.floor(parseMoney(invoice.charges_rub) / 40_000) * 100
  const other = await t.makeAccount()
  const path = `/operator/accounts/${t.accountId}/documents/${id}/corrections`
  const order = fc.record({
    lines: fc.integer({ min: 1, max: 150 }).map((times) => [{ amount_rub: formatMoney(part * times) }]),
    type: fc.constantFrom('credit_note', 'debit_note'),
    reference: fc.constantFrom('a', 'b', 'c', 'd'),
    reason: fc.constant(REASON),
  })
  let month = 0
  await fc.assert(
    fc.asyncProperty(fc.array(order, { minLength: 1, maxLength: 6 }), async (orders) => {
      month++
      for (const accountId of [t.accountId, other])
        await post(t.db, t.clock, { accountId, type: 'payment', amount: 100, description: '' })
      t.clock.advance(Date.UTC(2026, 11 + month) - t.clock.now())
      const call = t.callAs((await makeOperatorToken(t, ['operator:money'])).value)
      const sent = orders.map((one) => call('POST', path, { ...one, reference: `${month}-${one.reference}` }))
      const looks = [1, 2].map(() => t.app.billing.look())
      const replies = await Promise.all(sent)
      await Promise.all(looks)
      for (const { status, body } of replies)
        expect([200, 201, 'correction_too_large', 'reference_taken']).toContain(body.code ?? status)
      await expectWhole(t)
    }),
    { numRuns: 8 },
  )
  const { items } = (await t.call('GET', '/account/documents?limit=200')).body
  expect(items.filter(({ corrects }: { corrects: object | null }) => corrects === null)).toHaveLength(9)
})

test.each([
  {
    language: 'en',
    lines: [
      'Credit note No. 2 of 1 December 2026',
      'Corrects invoice No. 1 of 1 December 2026',
      `Reason: ${REASON}`,
      'Server web-1',
      '-1.20',
    ],
  },
  {
    language: 'ru',
    lines: [
      'Корректировочный счёт № 2 от 1 декабря 2026 г.',
      'Уменьшает сумму счёта № 1 от 1 декабря 2026 г.',
      `Основание: ${REASON}`,
      'Сервер web-1',
      '-1,20',
    ],
  },
] as const)('a correction is a PDF and CSV in the language of its invoice: $language', async (wanted) => {
  const { t, serverId, correct } = await withInvoice(wanted.language === 'ru' ? { language: 'ru' } : {})
  const { body } = await correct('', 'c-1', { lines: [{ amount_rub: '1.20', item_id: serverId }] })
  const url = `/v1/account/documents/${body.document_id}/content`
  const headers = { authorization: `Bearer ${t.token}` }
  const pdf = await t.app.http.inject({ url: `${url}.pdf`, headers })
  expect(pdf.headers['content-disposition']).toBe('attachment; filename="credit_note-2026-11-2.pdf"')
  const text = pdfText(pdf.rawPayload)
  for (const line of wanted.lines) expect(text.split('\n')).toContain(line)
  expect(text).toContain(body.sha256)
  const again = await t.app.http.inject({ url: `${url}.pdf`, headers })
  expect(again.rawPayload.equals(pdf.rawPayload)).toBe(true)
  const csv = (await t.app.http.inject({ url: `${url}.csv`, headers })).body.split('\r\n')
  expect(csv.slice(1, -1).map((row) => row.split(',')[2])).toEqual([
    ...['opening_balance', 'corrected_document', 'item', 'net', 'vat', 'total', 'corrected_total'],
    'closing_balance',
  ])
  expect(csv[3]).toBe(`2,2026-11,item,,server,${serverId},web-1,,,-1.20`)
})
