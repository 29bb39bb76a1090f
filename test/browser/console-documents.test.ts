import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chargeHour } from '../harness/invoiced.ts'
import { selling } from '../harness/seller.ts'
import { launch } from './chromium.ts'
import { makeOperator, serveConsole } from './console.ts'
import { faultsOnPhone } from './faults.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

for (const [language, words] of Object.entries({
  en: {
    ...{ account: 'E-mail address or ID of the account', show: 'Show documents', none: 'No such account.' },
    ...{ correct: 'Correct invoice 1', issue: 'Issue the credit note', amount: 'Amount in rubles' },
    ...{ reason: 'Reason', note: 'Credit note to 1', item: 'Item' },
  },
  ru: {
    ...{ account: 'Адрес почты или ID аккаунта', show: 'Показать документы', none: 'Такого аккаунта нет.' },
    ...{ correct: 'Исправить счёт 1', issue: 'Уменьшить счёт', amount: 'Сумма в рублях' },
    ...{ reason: 'Причина', note: 'Корректировка на уменьшение к счёту 1', item: 'Позиция' },
  },
}))
  test(`an operator corrects an invoice, once for two clicks, in ${language}`, async () => {
    const t = await serveConsole(selling())
    const itemId = await chargeHour(t, t.accountId)
    t.clock.advance(Date.parse('2026-12-01T00:00:00Z') - t.clock.now())
    await t.app.billing.look()
    const page = await t.open(browser)
    await makeOperator(t, page)
    await page.evaluate(`localStorage.setItem('berth.locale', '${language}')`)
    await page.goto(`${t.address}/operator/documents`)
    await page.getByLabel(words.account).fill('nobody@example.com')
    await page.getByRole('button', { name: words.show }).click()
    await page.getByText(words.none).waitFor()
    await page.getByLabel(words.account).fill('customer1@example.com')
    await page.getByRole('button', { name: words.show }).click()
    await page.getByRole('button', { name: words.correct }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(words.amount).fill('500')
    await dialog.getByLabel(words.reason).fill('An outage')
    expect(await faultsOnPhone(page)).toEqual([])
    await dialog.getByRole('button', { name: words.issue }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel(words.item).selectOption(itemId)
    await dialog.getByLabel(words.amount).fill('12,50')
    await dialog.getByRole('button', { name: words.issue }).dblclick()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('row').filter({ hasText: words.note }).waitFor()
    expect(await faultsOnPhone(page)).toEqual([])
    const { items } = (await t.call('GET', '/account/documents')).body
    expect(
      items.map(({ type, total_rub }: { type: string; total_rub: string }) => [type, total_rub]),
    ).toEqual([
      ['credit_note', '-12.50'],
      ['invoice', '120.00'],
    ])
    const [{ document_id }] = items
    const { correction } = (await t.call('GET', `/account/documents/${document_id}`)).body
    expect(correction).toMatchObject({ reason: 'An outage', lines: [{ item_id: itemId }] })
  })
