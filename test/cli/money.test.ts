import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openComplaint } from '../../api/abuse/complaints.ts'
import { createAnnouncement } from '../../api/announcements/announcements.ts'
import { post } from '../../api/billing/ledger.ts'
import { parseCatalog } from '../../api/catalog/file.ts'
import { createPromoCode } from '../../api/credits/codes.ts'
import { parseMoney } from '../../api/money.ts'
import { catalogText } from '../harness/app.ts'
import { chargeHour, creditInvoice } from '../harness/invoiced.ts'
import { playedProviders } from '../harness/payment-providers.ts'
import { pdfText } from '../harness/pdf-text.ts'
import { chargingEuros, withEuros } from '../harness/second-currency.ts'
import { BANK, selling } from '../harness/seller.ts'
import { expectSession, loggedIn } from './harness/berth.ts'

test('payments, charges and the audit log can be read', async () => {
  const t = await loggedIn()
  await expectSession(t, 'usage-empty', ['usage', 'usage -o json'])
  await t.make('web-1')
  t.clock.advance(3 * 3600_000)
  await t.app.billing.look()
  await expectSession(t, 'money', [
    'usage',
    'usage --month 2026-11 -o json',
    'usage --csv',
    'usage --month November',
    'transaction list',
    'transaction list --limit 1 -o json',
    'transaction list --limit 0 --columns type,amount --sort amount',
    'transaction list --limit few',
    'transaction list --limit -1',
    'project create Shop -o name',
    'project update Shop --name Store -o name',
    'audit list',
    'audit list --limit 1 -o json',
    'audit list --limit 2 --columns action,object_type',
    'audit list --limit 0 -o name',
    'audit list --sort when',
  ])
})

test('the balance and prices are shown in a second currency, too, marked as approximate', async () => {
  const t = await loggedIn({ ...withEuros(), balance: '500' })
  await expectSession(t, 'second-currency', ['balance', 'balance -o json', 'balance --currency EUR'])
  await expectSession(t, 'second-currency-quote', [
    'quote --preset nano',
    'quote --preset nano -o json',
    'quote --preset giant',
  ])
})

test('the account is topped up in euros, which are converted to rubles on arrival', async () => {
  const played = await playedProviders()
  const t = await loggedIn({ ...played.urls, ...chargingEuros(), balance: '0' })
  await expectSession(t, 'top-up-euros', [
    'account top-up 12.34 --currency EUR -o json',
    'account payments --columns status,charged,amount',
    'account top-up 12.34 --currency USD',
  ])
})

test('a customer whose servers are suspended sees the amount that resumes them', async () => {
  const t = await loggedIn()
  await t.make('web-1')
  expect((await t.run('balance')).out).not.toContain('Top up')
  const chargedBack = { accountId: t.accountId, type: 'payment', amount: parseMoney('-10000') } as const
  await post(t.db, t.clock, { ...chargedBack, description: '' })
  t.clock.advance(3600_000)
  await t.app.billing.look()
  await t.finish()
  expect((await t.run('server show web-1')).out).toContain('suspended')
  const { top_up_to_resume_rub: missing } = JSON.parse((await t.run('balance -o json')).out)
  expect(Number(missing)).toBeGreaterThan(0)
  expect((await t.run('balance')).out).toContain(`Top up to resume:  ${missing} RUB\n`)
})

test('an invoice for a bank transfer has the details that a bank requires', async () => {
  const t = await loggedIn(selling({ bank: BANK }))
  const { transfer_id: id } = await t.berth.transfers.create('700')
  await expectSession(t, 'transfer', [
    `account transfer-invoice ${id}`,
    `account transfer-invoice ${id} -o json`,
    'account transfer-invoice 01a1fb45-1ac2-75b7-a056-9ee82769d403 --pdf invoice.pdf',
    'account transfer 5000',
    'account transfer 99.90 -o json',
    'account transfer 0',
    'account transfers',
    'account transfers -o json',
    'account transfers --sort when',
  ])
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-transfers-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'invoice.pdf')
  expect(await t.run(`account transfer-invoice ${id} --pdf ${file}`)).toMatchObject({
    ...{ code: 0, out: '', err: `The invoice is in ${file}.\n` },
  })
  expect(pdfText(readFileSync(file))).toContain('40702810900000000001')
})

test('a top-up prints the address of the provider’s page, and waits for the payment', async () => {
  const played = await playedProviders()
  const t = await loggedIn(played.urls)
  const { out, err } = await t.run('account top-up 500 --provider stripe -o json')
  expect(JSON.parse(out)).toMatchObject({ status: 'pending', amount_rub: '500.00', provider: 'stripe' })
  expect(err).toBe(`Open this page to pay: ${played.origin}/pay/${played.last.id}\n`)
  const waiting = t.run('account top-up 250.50 --wait')
  await expect.poll(() => played.last.kopecks).toBe(25_050)
  for (const payment of played.payments.values()) payment.status = 'succeeded'
  let isOver = false
  void waiting.finally(() => {
    isOver = true
  })
  // The provider knows the payment before the database does, so a single check could come too early.
  const look = async () => {
    t.clock.advance(20_000)
    await t.app.payments.look()
    return isOver
  }
  await expect.poll(look).toBe(true)
  expect((await waiting).out).toContain('succeeded')
  expect((await t.run('account payments --columns status,amount')).out).toContain('succeeded  250.50 RUB')
  const { payment_id } = JSON.parse(out)
  await expectSession(t, 'payment', [
    `account payment ${payment_id}`,
    `account payment ${payment_id} -o json`,
    'account payment 01a1fb45-1ac2-75b7-a056-9ee82769d403',
    'account payments',
    'account payments --limit 1 -o json',
    'account payments --limit few',
    'account top-up 700 --provider stripe',
    'account top-up 800 -o json',
    'account top-up 1',
    'account top-up 500 --provider bank',
  ])
})

test('invoices and statements are listed, and downloaded as PDF and CSV', async () => {
  const t = await loggedIn(selling())
  t.clock.advance(Date.parse('2026-12-01T00:00:00Z') - t.clock.now())
  await t.app.billing.look()
  const [{ document_id: id }] = JSON.parse((await t.run('account documents -o json')).out)
  await expectSession(t, 'document', [
    'account documents',
    'account documents --limit 1 -o json',
    'account documents --limit few',
    `account document ${id}`,
    `account document ${id} -o json`,
    `account document ${id} --csv`,
    'account document 01a1fb45-1ac2-75b7-a056-9ee82769d403',
  ])
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-documents-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'statement.pdf')
  expect(await t.run(`account document ${id} --pdf ${file}`)).toMatchObject({
    ...{ out: '', err: `The document is in ${file}.\n` },
  })
  expect(pdfText(readFileSync(file))).toContain('Statement No. 1 of 1 December 2026')
  const missing = await t.run(`account document ${id} --pdf ${folder}/missing/statement.pdf`)
  expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('Name another file.') })
})

test('an invoice names its corrections, and a correction its invoice', async () => {
  const t = await loggedIn(selling())
  await chargeHour(t, t.accountId)
  t.clock.advance(Date.parse('2026-12-01T00:00:00Z') - t.clock.now())
  await t.app.billing.look()
  const { invoiceId, noteId } = await creditInvoice(t, t.accountId)
  await expectSession(t, 'correction', [
    'account documents',
    `account document ${invoiceId}`,
    `account document ${noteId}`,
    `account document ${noteId} -o json`,
    `account document ${noteId} --csv`,
  ])
})

test('a saved card is chosen by its last four digits to be charged, and deleted', async () => {
  const played = await playedProviders()
  const t = await loggedIn(played.urls)
  await t.run('account top-up 500 --save-method -o json')
  played.last.status = 'succeeded'
  t.clock.advance(20_000)
  await t.app.payments.look()
  expect((await t.run('payment-method list')).out).toMatch(/yookassa +MasterCard +4477 +2029-04/)
  const charged = await t.run('account top-up 300 --method 4477 -o json')
  expect(charged).toMatchObject({ code: 0, err: '' })
  expect(played.last).toMatchObject({ kopecks: 30_000, status: 'succeeded' })
  await expectSession(t, 'payment-method', [
    'payment-method list',
    'payment-method list -o json',
    'payment-method list --sort color',
    'account auto-top-up show',
    'account auto-top-up set --below 500 --amount 1000 --monthly-limit 5000 --method 4477',
    'account auto-top-up set --below 500 --amount 5 --monthly-limit 5000 --method 4477',
    'account auto-top-up set --below 500 --amount 1000 --monthly-limit 5000 --method 4478',
    'account auto-top-up set --below 500',
    'account auto-top-up set --below 500 --amount 1000 --monthly-limit 6000 --method 4477 -o json',
    'account auto-top-up show -o json',
    'account auto-top-up show all',
    'account auto-top-up delete all',
    'account auto-top-up delete',
    'account auto-top-up show',
    'payment-method delete 4478',
    'payment-method delete 4477 -o json',
    'payment-method list -o json',
  ])
})

test('announcements of the operator are listed', async () => {
  const t = await loggedIn()
  const text = { en: 'The switches are replaced.', ru: 'В зоне меняют коммутаторы.' }
  const place = { db: t.db, clock: t.clock, catalog: parseCatalog(catalogText, 'catalog.yaml') }
  const times = { starts_at: '2060-12-01T01:00:00Z', ends_at: '2060-12-01T03:00:00Z' }
  await createAnnouncement(place, { kind: 'maintenance', text, ...times })
  await expectSession(t, 'announcement', [
    'account announcements',
    'account announcements -o json',
    'account announcements --columns when',
  ])
})

test('complaints are listed, shown and answered', async () => {
  const t = await loggedIn()
  const opening = { kind: 'spam', text: 'A mailbox got spam.\nSee the headers.' } as const
  const { complaint_id: id } = await openComplaint(t, t.accountId, { ...opening, deadline_hours: 48 })
  await expectSession(t, 'complaint', [
    'account complaints',
    'account complaints -o json',
    `account complaint ${id}`,
    `account answer-complaint ${id}`,
    `account answer-complaint ${id} --text 'The form is closed.'`,
    `account answer-complaint ${id} --text 'Its plugin is removed.' -o json`,
    `account complaint ${id} -o json`,
    'account complaint 01a1fb45-1ac2-75b7-a056-9ee82769d403',
    'account complaints --closed',
    'account complaints --columns when',
  ])
})

test('a promo code is redeemed, and the remaining credit is listed', async () => {
  const t = await loggedIn()
  const terms = { name: 'Fair', amount_rub: '300', credit_days: 30, max_uses: 10, code: 'WINTER-FAIR-2027' }
  const codes = [terms, { ...terms, code: 'SPRING-FAIR-2027' }]
  for (const code of codes) await createPromoCode(t, { ...code, expires_at: '2060-01-01T00:00:00Z' })
  await expectSession(t, 'credit', [
    'account credits',
    'account redeem WINTER-FAIR-2026',
    'account redeem winter',
    'account redeem winter-fair-2027 -o json',
    'account redeem WINTER-FAIR-2027',
    'account redeem SPRING-FAIR-2027',
    'account credits',
    'account credits -o json',
    'account credits --sort when',
  ])
})
