import { v7 as uuid } from 'uuid'
import { expect, test } from 'vitest'
import { charge as book, post } from '../../../api/billing/ledger.ts'
import { parseCatalog } from '../../../api/catalog/file.ts'
import { operatorScopes } from '../../../api/http/contract/auth.ts'
import { formatMoney, parseMoney } from '../../../api/money.ts'
import { createOperatorToken } from '../../../api/operator/tokens.ts'
import { catalogText, type TestApp, testApp } from '../../harness/app.ts'
import { pdfText } from '../../harness/pdf-text.ts'
import { selling, VAT_ADDED } from '../../harness/seller.ts'
import { signUp } from '../harness/browser.ts'
import { make, NOBODY } from '../harness/ordering.ts'

const HOUR = 3600_000

interface Listed {
  document_id: string
  type: string
  number: string
  period: string
  vat_rub: string
  total_rub: string
  opening_balance_rub: string
  closing_balance_rub: string
}

/** Turns the clock, and runs rounds of billing until nothing is due. */
async function until(t: TestApp, iso: string) {
  t.clock.advance(Date.parse(iso) - t.clock.now())
  for (let round = 0; round < 5; round++) await t.app.billing.look()
}

const documents = async (t: TestApp): Promise<Listed[]> =>
  (await t.call('GET', '/account/documents')).body.items
const documentOf = async (t: TestApp, at = 0) =>
  (await t.call('GET', `/account/documents/${(await documents(t))[at]?.document_id}`)).body
const pay = (t: TestApp, amount: string, iso?: string) =>
  post(t.db, iso ? { now: () => Date.parse(iso), sleep: t.clock.sleep } : t.clock, {
    ...{ accountId: t.accountId, type: 'payment', amount: parseMoney(amount), description: 'paid' },
  })

async function pdfOf(t: TestApp, at = 0) {
  const [{ document_id: id } = { document_id: NOBODY }] = (await documents(t)).slice(at)
  const headers = { authorization: `Bearer ${t.token}` }
  return t.app.http.inject({ url: `/v1/account/documents/${id}/content.pdf`, headers })
}

test('a month that has ended has one invoice, with its servers, payments and balances', async () => {
  const t = await testApp(selling({ prefix: 'EX-' }))
  const id = await make(t, { name: 'web-1' })
  await until(t, '2026-11-30T23:59:00Z')
  expect(await documents(t)).toEqual([])
  await until(t, '2026-12-01T00:00:00Z')
  const usage = (await t.call('GET', '/account/usage?month=2026-11')).body
  const [listed, ...more] = await documents(t)
  expect(more).toEqual([])
  expect(listed).toMatchObject({
    type: 'invoice',
    number: 'EX-1',
    period: '2026-11',
    total_rub: usage.amount,
  })
  const document = await documentOf(t)
  expect(document).toMatchObject({
    ...listed,
    language: 'en',
    seller: { name: 'ООО "Пример"', address: 'Москва, ул. Примерная, 1', tax_id: '7700000000' },
    customer: { account_id: t.accountId, name: 'Customer 1', email: 'customer1@example.com' },
    vat: { percent: '20', is_included: true },
    charges_rub: usage.amount,
    opening_balance_rub: '0.00',
    entries: [{ type: 'payment', amount_rub: '10000.00', description: 'test' }],
  })
  const [{ hours, amount }] = usage.items
  const item = { item_type: 'server', item_id: id, name: 'web-1', hours, amount_rub: amount }
  expect(document.projects).toMatchObject([{ name: 'Default', amount_rub: amount, items: [item] }])
  expect(parseMoney(document.closing_balance_rub)).toBe(parseMoney('10000') - parseMoney(usage.amount))
  expect(parseMoney(document.net_rub) + parseMoney(document.vat_rub)).toBe(parseMoney(usage.amount))
})

test('a document stays the same, byte for byte, whatever is renamed, sold or booked afterwards', async () => {
  const options = selling()
  const t = await testApp(options)
  const id = await make(t, { name: 'web-1' })
  await until(t, '2026-12-01T00:00:00Z')
  const all = async () => {
    const [{ document_id }] = (await documents(t)).slice(-1) as [Listed]
    const csv = (await t.call('GET', `/account/documents/${document_id}/content.csv`)).body
    const at = (await documents(t)).length - 1
    return [await documentOf(t, at), csv, (await pdfOf(t, at)).rawPayload.toString('base64')]
  }
  const before = await all()
  await t.call('PATCH', `/servers/${id}`, { name: 'renamed' })
  const { project_id } = (await t.call('GET', `/servers/${id}`)).body
  await t.call('PATCH', `/account/projects/${project_id}`, { name: 'Other' })
  await t.db.updateTable('accounts').set({ name: 'Other', email: 'other@example.com' }).execute()
  Object.assign(options.catalog, selling({ vat: VAT_ADDED, taxId: '1' }).catalog)
  await pay(t, '5', '2026-11-25T00:00:00Z')
  await until(t, '2027-01-01T00:00:00Z')
  expect(await documents(t)).toHaveLength(2)
  expect(await all()).toEqual(before)
  expect(before[1]).toContain('1,2026-11,item,Default,server,')
})

test('a document that was changed in the database is not shown', async () => {
  const t = await testApp(selling())
  await until(t, '2026-12-01T00:00:00Z')
  const { content } = await t.db.selectFrom('documents').select('content').executeTakeFirstOrThrow()
  expect((await documentOf(t)).number).toBe('1')
  await t.db
    .updateTable('documents')
    .set({ content: content.replace('10000', '90000') })
    .execute()
  const [listed] = await documents(t)
  for (const what of ['', '/content', '/content.pdf', '/content.csv'])
    expect((await t.call('GET', `/account/documents/${listed?.document_id}${what}`)).status).toBe(500)
})

test('the PDF is in the language of the owner, with Cyrillic and the hash of the content', async () => {
  const t = await testApp(selling())
  const { call } = await signUp(t, 'customer1@example.com')
  await call('PATCH', '/person', { language: 'ru' })
  await make(t, { name: 'web-1' })
  await until(t, '2026-12-01T00:00:00Z')
  const { headers, rawPayload } = await pdfOf(t)
  expect(headers).toMatchObject({
    'content-type': 'application/pdf',
    'content-disposition': 'attachment; filename="invoice-2026-11.pdf"',
  })
  const { sha256, closing_balance_rub: closing } = await documentOf(t)
  const lines = pdfText(rawPayload).split('\n')
  const [whole = '', kopecks] = closing.split('.')
  expect(lines).toEqual(
    expect.arrayContaining([
      ...['Счёт № 1 от 1 декабря 2026 г.', 'За ноябрь 2026 г. (UTC)', 'ООО "Пример"', 'ИНН 7700000000'],
      ...['Сервер web-1', 'НДС 20 %', 'Платёж, 20 ноября 2026 г.: test', '10\u00a0000,00'],
      ...[`${whole.at(0)}\u00a0${whole.slice(1)},${kopecks}`, `Данные: SHA-256 ${sha256}`],
    ]),
  )
  expect(lines.join()).not.toContain('\uFFFD')
})

test('the content of a document is PDF or CSV, as Accept prefers', async () => {
  const t = await testApp(selling())
  await until(t, '2026-12-01T00:00:00Z')
  const [{ document_id: id } = { document_id: NOBODY }] = await documents(t)
  const get = (what: string, accept?: string) => {
    const headers = { authorization: `Bearer ${t.token}`, ...(accept === undefined ? {} : { accept }) }
    return t.app.http.inject({ url: `/v1/account/documents/${id}/${what}`, headers })
  }
  const csv = await get('content.csv')
  for (const accept of ['text/csv', 'application/pdf;q=0.5, text/csv', 'text/*', 'TEXT/CSV; q=1'])
    expect(await get('content', accept)).toMatchObject({
      ...{ statusCode: 200, payload: csv.payload },
      headers: {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': csv.headers['content-disposition'],
        vary: 'accept',
      },
    })
  const { rawPayload } = await pdfOf(t)
  for (const accept of [
    undefined,
    '*/*',
    'application/pdf',
    'application/json',
    'text/csv;q=0, */*',
    ';,;q=x',
  ])
    expect(await get('content', accept)).toMatchObject({
      ...{ statusCode: 200, rawPayload },
      headers: { 'content-type': 'application/pdf' },
    })
})

test('a month with payments only has a statement, and one without entries has no document', async () => {
  const t = await testApp(selling({ from: '2026-10' }))
  await until(t, '2027-01-01T00:00:00Z')
  await pay(t, '1')
  await until(t, '2027-02-01T00:00:00Z')
  const found = (await documents(t)).map(({ type, number, period, total_rub, closing_balance_rub }) => [
    ...[type, number, period, total_rub, closing_balance_rub],
  ])
  expect(found).toEqual([
    ['statement', '2', '2027-01', '0.00', '10001.00'],
    ['statement', '1', '2026-11', '0.00', '10000.00'],
  ])
  expect(pdfText((await pdfOf(t)).rawPayload)).toContain('Statement No. 2 of 1 February 2027')
})

test('nothing is issued without a seller, and later from the month that the operator sets', async () => {
  const options = { catalog: parseCatalog(catalogText, 'catalog.yaml') }
  const t = await testApp(options)
  await make(t)
  for (const month of ['12', '01', '02'])
    await until(t, `${month === '12' ? 2026 : 2027}-${month}-01T00:00:00Z`)
  expect(await documents(t)).toEqual([])
  Object.assign(options.catalog, selling({ from: '2026-12' }).catalog)
  for (let round = 0; round < 3; round++) await t.app.billing.look()
  const [january, december, ...more] = await documents(t)
  expect([december?.period, january?.period, more]).toEqual(['2026-12', '2027-01', []])
  const november = (await t.call('GET', '/account/usage?month=2026-11')).body.amount
  expect(parseMoney(december?.opening_balance_rub ?? '')).toBe(parseMoney('10000') - parseMoney(november))
  expect(january?.opening_balance_rub).toBe(december?.closing_balance_rub)
})

test('VAT that prices do not include is debited once, and stands in the next document', async () => {
  const t = await testApp(selling({ vat: VAT_ADDED }))
  await make(t)
  await until(t, '2026-12-01T00:00:00Z')
  const [november] = await documents(t)
  const { charges_rub, net_rub, vat_rub, total_rub, closing_balance_rub } = await documentOf(t)
  expect(net_rub).toBe(charges_rub)
  expect(parseMoney(total_rub)).toBe(parseMoney(charges_rub) + parseMoney(vat_rub))
  await t.app.billing.look()
  const { body } = await t.call('GET', '/account/balance')
  expect(parseMoney(body.balance)).toBe(parseMoney(closing_balance_rub) - parseMoney(vat_rub))
  await until(t, '2027-01-01T00:00:00Z')
  expect((await documentOf(t)).entries).toMatchObject([
    {
      type: 'correction',
      amount_rub: `-${november?.vat_rub}`,
      description: 'VAT of 20 % for 2026-11, document 1',
    },
  ])
  expect((await documents(t))[0]?.opening_balance_rub).toBe(closing_balance_rub)
})

test('a month is not closed before all of its hours are charged', async () => {
  const t = await testApp(selling())
  const id = await make(t)
  await until(t, '2026-11-30T22:00:00Z')
  // As if the item could not be charged.
  const postponed = Date.parse('2026-12-01T05:00:00Z')
  await t.db.updateTable('billing_meters').set({ due_at: postponed }).where('item_id', '=', id).execute()
  await until(t, '2026-12-01T04:00:00Z')
  expect(await documents(t)).toEqual([])
  await until(t, '2026-12-01T05:30:00Z')
  const { amount } = (await t.call('GET', '/account/usage?month=2026-11')).body
  expect(await documents(t)).toMatchObject([{ period: '2026-11', total_rub: amount }])
})

test('an entry that is booked too late is in the next document, so that balances follow each other', async () => {
  const t = await testApp(selling())
  await make(t)
  await until(t, '2026-12-01T00:00:00Z')
  // The clock of another process was behind.
  await pay(t, '7', '2026-11-30T23:59:59Z')
  await until(t, '2026-12-15T12:00:00Z')
  await pay(t, '3')
  await until(t, '2027-01-01T00:00:00Z')
  const [december, november] = await documents(t)
  expect((await documentOf(t)).entries).toMatchObject([{ amount_rub: '7.00' }, { amount_rub: '3.00' }])
  expect(december?.opening_balance_rub).toBe(november?.closing_balance_rub)
  const { items } = (await t.call('GET', '/account/transactions?limit=200')).body
  const since = items
    .filter(({ hour }: { hour: string | null }) => hour !== null && hour >= '2027')
    .reduce((sum: number, { amount }: { amount: string }) => sum + parseMoney(amount), 0)
  const { balance } = (await t.call('GET', '/account/balance')).body
  expect(december?.closing_balance_rub).toBe(formatMoney(parseMoney(balance) - since))
})

test('numbers have no gaps, whatever fails and however many processes issue documents', async () => {
  let countdown = Number.POSITIVE_INFINITY
  const t = await testApp({
    ...selling({ vat: VAT_ADDED }),
    afterStatement: () => {
      countdown -= 1
      if (countdown === 0) throw new Error('the connection is lost')
    },
  })
  for (let more = 0; more < 50; more++) await t.makeAccount('5')
  await make(t)
  await until(t, '2026-11-30T23:30:00Z')
  t.clock.advance(HOUR)
  await t.app.billing.look()
  // One account after the other is due again, and its document fails at one statement further on.
  await t.db.deleteFrom('documents').execute()
  await t.db.deleteFrom('document_series').execute()
  const ledgers = await t.db.selectFrom('ledgers').select('account_id').execute()
  for (const [after, { account_id }] of ledgers.entries()) {
    const due = { documented_until: 0, document_due_at: 0 }
    await t.db.updateTable('ledgers').set(due).where('account_id', '=', account_id).execute()
    countdown = after + 1
    await t.app.billing.look()
    countdown = Number.POSITIVE_INFINITY
  }
  t.clock.advance(2 * HOUR)
  await Promise.all([1, 2, 3, 4].map(() => t.app.billing.look()))
  const rows = await t.db.selectFrom('documents').select(['sequence', 'account_id']).execute()
  const numbers = rows.map(({ sequence }) => sequence).sort((a, b) => a - b)
  expect(numbers).toEqual(Array.from({ length: 51 }, (_, at) => at + 1))
  expect(new Set(rows.map(({ account_id }) => account_id)).size).toBe(51)
})

test('an account that requests a long PDF again and again has a few of them printed at once', async () => {
  const t = await testApp(selling())
  const { default_project_id: project_id } = (await t.call('GET', '/account/me')).body
  const { accountId } = t
  const item = { item_type: 'address' as const, project_id, hour: t.clock.now(), seconds: 3600, bytes: null }
  const charges = Array.from({ length: 300 }, () => ({
    ...{ accountId, type: 'charge' as const, amount: -100, description: '' },
    charged: { ...item, item_id: uuid() },
  }))
  await t.db.transaction().execute((tx) => book(tx, charges, t.clock.now()))
  await until(t, '2026-12-01T00:00:00Z')
  const [own] = await documents(t)
  const pdf = () => t.call('GET', `/account/documents/${own?.document_id}/content.pdf`)
  const replies = await Promise.all(Array.from({ length: 16 }, pdf))
  const refused = replies.filter(({ status }) => status === 429)
  expect(refused[0]).toMatchObject({ body: { code: 'rate_limited' }, headers: { 'retry-after': '5' } })
  expect(replies.filter(({ status }) => status === 200).length).toBe(16 - refused.length)
  expect((await pdf()).status).toBe(200)
})

test('each legal entity has numbers of its own', async () => {
  const options = selling()
  const t = await testApp(options)
  await until(t, '2026-12-01T00:00:00Z')
  Object.assign(options.catalog, selling({ taxId: '7800000000' }).catalog)
  await pay(t, '1')
  await until(t, '2027-01-01T00:00:00Z')
  Object.assign(options.catalog, selling().catalog)
  await pay(t, '1')
  await until(t, '2027-02-01T00:00:00Z')
  expect((await documents(t)).map(({ number }) => number)).toEqual(['2', '1', '1'])
})

test('a document shows the items that cost the most, and sums up the others', async () => {
  const t = await testApp(selling())
  const id = await make(t)
  const { project_id } = (await t.call('GET', `/servers/${id}`)).body
  await until(t, '2026-11-20T13:00:00Z')
  const charge = { item_type: 'server' as const, project_id, hour: t.clock.now(), seconds: 3600, bytes: null }

  const { accountId } = t
  const charges = Array.from({ length: 1_010 }, (_, at) => ({
    ...{ accountId, type: 'charge' as const, amount: 0 - 100 * (at + 1), description: '' },
    charged: { ...charge, item_id: uuid() },
  }))
  const payment = { accountId, type: 'payment' as const, amount: parseMoney('1'), description: '' }
  const entries = [...charges, ...Array.from({ length: 1_005 }, () => payment)]
  await t.db.transaction().execute((tx) => book(tx, entries, t.clock.now()))
  await until(t, '2026-12-01T00:00:00Z')
  const { projects, more_entries, charges_rub, closing_balance_rub, ...shown } = await documentOf(t)
  const [{ items, more_items, amount_rub }] = projects
  expect([items.length, shown.entries.length]).toEqual([1_000, 1_000])
  // The server is among the 1,000, so that 0.01 to 0.11 are left.
  expect(more_items).toEqual([{ item_type: 'server', items: 11, hours: 11, amount_rub: '0.66' }])
  expect(more_entries).toEqual([{ type: 'payment', entries: 6, amount_rub: '6.00' }])
  expect(amount_rub).toBe(charges_rub)
  const balance = parseMoney('11005') - parseMoney(charges_rub)
  expect(parseMoney(closing_balance_rub)).toBe(balance)
  expect((await pdfOf(t)).statusCode).toBe(200)
})

test('documents are the account’s own, and its operator lists them', async () => {
  const t = await testApp(selling())
  await until(t, '2026-12-01T00:00:00Z')
  const [own] = await documents(t)
  const other = t.callAs(await t.makeToken(['account:read'], { accountId: await t.makeAccount() }))
  expect((await other('GET', '/account/documents')).body).toEqual({ items: [], total: 0 })
  for (const what of ['', '/content.pdf', '/content.csv'])
    expect(await other('GET', `/account/documents/${own?.document_id}${what}`)).toMatchObject({
      ...{ status: 404, body: { code: 'document_not_found' } },
    })
  const servers = t.callAs(await t.makeToken(['servers:read']))
  expect((await servers('GET', '/account/documents')).status).toBe(403)
  const year = { name: 'shop', cidrs: ['127.0.0.0/8'], createdBy: 'root', expiresAt: t.clock.now() + HOUR }
  const { value } = await createOperatorToken(t.db, t.clock, { ...year, scopes: operatorScopes })
  const shop = t.callAs(value)
  const listed = await shop('GET', `/operator/accounts/${t.accountId}/documents`)
  expect(listed.body).toEqual({ items: [own], total: 1 })
  expect((await shop('GET', `/operator/accounts/${NOBODY}/documents`)).status).toBe(404)
})
