// Invoices and their corrections are mailed once to those who may pay, also those that a command issued.
import { expect, test } from 'vitest'
import { issueCorrection } from '../../../api/billing/documents/corrections.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { chargeHour, creditInvoice } from '../../harness/invoiced.ts'
import { addReaders, mailedBy } from '../../harness/readers.ts'
import { selling } from '../../harness/seller.ts'

async function until(t: TestApp, iso: string) {
  t.clock.advance(Date.parse(iso) - t.clock.now())
  for (let round = 0; round < 3; round++) await t.app.billing.look()
}

/** Looks for documents to mail, and returns the mails that this sent. */
const mailed = (t: TestApp) => mailedBy(t, t.app.documentMails)

async function withReaders(options: Parameters<typeof selling>[0] = {}) {
  const t = await testApp(selling({ prefix: 'EX-', ...options }))
  await addReaders(t, [
    ['ann@example.com', 'owner', 'en'],
    ['boris@example.com', 'billing', 'ru'],
    ['max@example.com', 'member', 'en'],
  ])
  return t
}

test('an invoice is mailed once to those who may pay, in their language, and a statement is not', async () => {
  const t = await withReaders()
  await until(t, '2026-12-01T00:00:00Z')
  expect((await t.call('GET', '/account/documents')).body.items).toMatchObject([{ type: 'statement' }])
  expect(await mailed(t)).toEqual([])
  await chargeHour(t, t.accountId)
  await until(t, '2027-01-01T00:00:00Z')
  const [english, russian, ...others] = await mailed(t)
  expect(others).toEqual([])
  expect([english?.to, russian?.to]).toEqual(['ann@example.com', 'boris@example.com'])
  expect(english?.subject).toBe('Your invoice for December 2026 at localhost')
  expect(english?.text).toBe(
    `The account customer1@example.com has the invoice EX-2 for December 2026: 120.00 RUB. It was taken from the balance.

You do not need to pay it separately.

Open billing: http://localhost/billing?account=${t.accountId}

You receive this mail because you may pay for this account.
`,
  )
  expect(russian?.subject).toBe('Счёт на localhost: декабрь 2026 г.')
  expect(russian?.text).toContain('выставлен счёт EX-2, декабрь 2026 г.: 120.00 ₽.')
  expect(russian?.link).toBe(`http://localhost/billing?account=${t.accountId}`)
  expect(await mailed(t)).toEqual([])
})

test('credit and debit notes are mailed with the invoice that they correct', async () => {
  const t = await withReaders()
  await chargeHour(t, t.accountId)
  await until(t, '2026-12-01T00:00:00Z')
  await mailed(t)
  const { invoiceId } = await creditInvoice(t, t.accountId)
  const order = {
    type: 'debit_note',
    lines: [{ amount_rub: '5' }],
    reason: 'Secret',
    reference: 'c-2',
  } as const
  await t.db
    .transaction()
    .execute((tx) =>
      issueCorrection(tx, t.clock, { ...order, accountId: t.accountId, documentId: invoiceId }),
    )
  const mails = await mailed(t)
  expect(mails.map(({ to, subject }) => `${to}: ${subject}`).sort()).toEqual([
    'ann@example.com: An invoice at localhost was lowered',
    'ann@example.com: An invoice at localhost was raised',
    'boris@example.com: Счёт на localhost увеличен',
    'boris@example.com: Счёт на localhost уменьшен',
  ])
  const texts = mails.map(({ text }) => text).join('\n')
  const of = 'the invoice EX-1 of the account customer1@example.com'
  expect(texts).toContain(`The credit note EX-2 lowers ${of} by 12.00 RUB.`)
  expect(texts).toContain(`The debit note EX-3 raises ${of} by 5.00 RUB.`)
  expect(texts).toContain('Корректировка EX-2 уменьшает счёт EX-1 аккаунта customer1@example.com на 12.00 ₽.')
  expect(texts).not.toContain('Secret')
})

test('of months that are issued late only the last is mailed', async () => {
  const t = await withReaders()
  await chargeHour(t, t.accountId)
  t.clock.advance(Date.parse('2026-12-15T00:00:00Z') - t.clock.now())
  await chargeHour(t, t.accountId)
  await until(t, '2027-01-02T00:00:00Z')
  expect((await t.call('GET', '/account/documents')).body.items).toHaveLength(2)
  expect((await mailed(t)).map(({ subject }) => subject)).toEqual([
    'Your invoice for December 2026 at localhost',
    'Счёт на localhost: декабрь 2026 г.',
  ])
})

test('documents wait while the queue of mails is full', async () => {
  const t = await withReaders()
  await chargeHour(t, t.accountId)
  await until(t, '2026-12-01T00:00:00Z')
  const row = { content: 'x', attempts: 0, created_at: 0, next_run_at: Number.MAX_SAFE_INTEGER }
  const rows = Array.from({ length: 1000 }, (_, at) => ({ ...row, mail_id: `m-${at}` }))
  for (let from = 0; from < rows.length; from += 100)
    await t.db
      .insertInto('mails')
      .values(rows.slice(from, from + 100))
      .execute()
  expect(await mailed(t)).toEqual([])
  await t.db.deleteFrom('mails').execute()
  expect(await mailed(t)).toHaveLength(2)
})
