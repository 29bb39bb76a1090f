import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createPromoCode } from '../../api/credits/codes.ts'
import { addMember } from '../../api/people/membership/members.ts'
import { createPerson } from '../../api/people/person/people.ts'
import { chargeHour, creditInvoice } from '../harness/invoiced.ts'
import { playedProviders } from '../harness/payment-providers.ts'
import { pdfText } from '../harness/pdf-text.ts'
import { chargingEuros, withEuros } from '../harness/second-currency.ts'
import { BANK, selling } from '../harness/seller.ts'
import { launch } from './chromium.ts'
import { makeOperator, serveConsole } from './console.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

test('a customer pays on the provider’s page and returns, and the page waits until the money is booked', async () => {
  const played = await playedProviders()
  const t = await serveConsole({ ...played.urls, balance: '0' })
  const page = await t.open(browser, {}, t.site)
  await page.getByRole('link', { name: 'Billing' }).click()
  await page.getByLabel('Amount in rubles').fill('750,50')
  await page.getByLabel('Pay through').selectOption('Stripe')
  await page.getByRole('button', { name: 'Continue to payment' }).click()
  await page.getByRole('button', { name: 'Pay', exact: true }).click()
  // The customer has returned from the provider, but its API was not queried yet.
  await page.getByText('This page updates by itself').waitFor()
  const looking = setInterval(() => void t.app.payments.look().catch(() => {}), 200)
  onTestFinished(() => clearInterval(looking))
  await page.getByText('The amount has been added to your balance').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Billing' }).click()
  await page.getByRole('row').filter({ hasText: 'Paid' }).first().waitFor()
  await page.getByText('+₽750.50').waitFor()
  expect((await t.call('GET', '/account/balance')).body.balance).toBe('750.50')
})

for (const [language, words] of Object.entries({
  en: { card: 'Bank transfer', amount: 'Amount of the invoice in rubles', ask: 'Get an invoice' },
  ru: { card: 'Банковский перевод', amount: 'Сумма счёта в рублях', ask: 'Получить счёт' },
}))
  test(`a customer requests an invoice and sees the details for the bank, in ${language}`, async () => {
    const t = await serveConsole({ ...selling({ bank: BANK }), balance: '0' })
    const page = await t.open(browser, { locale: language })
    await page.setViewportSize({ width: 375, height: 800 })
    await page.goto(`${t.address}/billing`)
    const card = page.getByRole('region', { name: words.card, exact: true })
    await card.getByLabel(words.amount).fill('0')
    await card.getByRole('button', { name: words.ask }).click()
    await card.getByRole('alert').first().waitFor()
    await card.getByLabel(words.amount).fill('5000,50')
    await card.getByRole('button', { name: words.ask }).click()
    await card.getByText('40702810900000000001').waitFor()
    const [made] = (await t.call('GET', '/account/transfers')).body.items
    expect(made.amount_rub).toBe('5000.50')
    await card.getByText(made.reference).waitFor()
    const downloading = page.waitForEvent('download')
    await card.getByRole('link', { name: made.reference }).click()
    expect((await downloading).suggestedFilename()).toBe(`invoice-${made.reference}.pdf`)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(375)
  })

for (const [language, words] of Object.entries({
  en: {
    ...{ balance: '≈ €10.00', typed: /≈ €20\.00 · approximate, at ₽98\.50 for 1 EUR/ },
    ...{ amount: 'Amount in rubles', about: /your balance is kept in rubles/ },
  },
  ru: {
    ...{ balance: /≈ 10,00\s€/, typed: /≈ 20,00\s€ · приблизительно, по курсу 98,50\s₽ за 1 EUR/ },
    ...{ amount: 'Сумма в рублях', about: /баланс ведётся в рублях/ },
  },
}))
  test(`sums are shown in a second currency as approximate, before a customer decides, in ${language}`, async () => {
    const played = await playedProviders()
    const t = await serveConsole({ ...played.urls, ...withEuros(), balance: '985' })
    const page = await t.open(browser, { locale: language })
    await page.setViewportSize({ width: 375, height: 800 })
    await page.goto(`${t.address}/billing`)
    await page.getByText(words.balance).first().waitFor()
    await page.getByTitle(words.about).first().waitFor()
    await page.getByLabel(words.amount).first().fill('1970,00')
    await page.getByText(words.typed).waitFor()
    await page.getByLabel(words.amount).first().fill('a lot')
    await page.getByText(words.typed).waitFor({ state: 'detached' })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(375)
    await page.goto(`${t.address}/servers/new`)
    // Presets and the quote: nano costs 300.00 rubles a month.
    await page.locator('.total').waitFor()
    expect(await page.getByText(/≈ (€3\.05|3,05\s€)/).count()).toBeGreaterThanOrEqual(2)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(375)
  })

for (const [language, words] of Object.entries({
  en: {
    ...{ currency: 'Currency', amount: 'Amount in EUR', next: 'Continue to payment' },
    ...{ about: /gets those that arrive/, booked: 'The amount has been added', charged: /€12\.34/ },
  },
  ru: {
    ...{ currency: 'Валюта', amount: 'Сумма в EUR', next: 'Перейти к оплате' },
    ...{ about: /сколько пришло по курсу/, booked: /на баланс/, charged: /12,34\s€/ },
  },
}))
  test(`a customer pays in euros, and sees the rubles that arrived, in ${language}`, async () => {
    const played = await playedProviders()
    const t = await serveConsole({ ...played.urls, ...chargingEuros(), balance: '0' })
    const page = await t.open(browser, { locale: language })
    await page.setViewportSize({ width: 375, height: 800 })
    await page.goto(`${t.address}/billing`)
    await page.getByLabel(words.currency).selectOption('EUR')
    await page.getByText(words.about).waitFor()
    await page.getByLabel(words.amount).fill('12,34')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(375)
    await page.getByRole('button', { name: words.next }).click()
    await page.waitForURL(/\/pay\//)
    Object.assign(played.last, {
      ...{ status: 'succeeded', settled: { minor: 119_999, currency: 'RUB', exchangeRate: 97.244 } },
    })
    const looking = setInterval(() => void t.app.payments.look().catch(() => {}), 200)
    onTestFinished(() => clearInterval(looking))
    const [{ payment_id }] = (await t.call('GET', '/account/payments')).body.items
    await page.goto(`${t.address}/billing/payments/${payment_id}`)
    await page.getByText(words.booked).first().waitFor()
    await page.getByText(words.charged).waitFor()
    expect((await t.call('GET', '/account/balance')).body.balance).toBe('1199.99')
  })

/** Serves the console for an account that has saved a card by a payment of 500 rubles. */
async function withSavedCard() {
  const played = await playedProviders()
  const t = await serveConsole({ ...played.urls, balance: '0' })
  await t.call('POST', '/account/payments', { amount_rub: '500', save_method: true })
  played.last.status = 'succeeded'
  const looking = setInterval(() => void t.app.payments.look().catch(() => {}), 200)
  onTestFinished(() => clearInterval(looking))
  await expect.poll(async () => (await t.call('GET', '/account/payment_methods')).body.total).toBe(1)
  return t
}

test('a customer saves a card, pays with it without the provider’s page, and deletes it', async () => {
  const t = await withSavedCard()
  const page = await t.open(browser, {}, t.site)
  await page.getByRole('link', { name: 'Billing' }).click()
  await page.getByLabel('Amount in rubles').fill('300')
  await page.getByLabel('Pay with').selectOption('MasterCard 4477')
  await page.getByRole('button', { name: 'Pay', exact: true }).click()
  await page.getByText('The amount has been added to your balance').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Billing' }).click()
  await page.getByRole('button', { name: 'Actions for MasterCard 4477' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill('MasterCard 4477')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('Saved payment methods').waitFor({ state: 'detached' })
  expect((await t.call('GET', '/account/balance')).body.balance).toBe('800.00')
})

for (const [language, words] of Object.entries({
  en: {
    ...{ card: 'Automatic top-up', below: 'When the balance falls below', on: 'Turn on', off: 'Turn off' },
    ...{
      is: /^When the balance falls below .*600\.00, .*1,000\.00 is charged/,
      about: /A saved card or wallet/,
    },
  },
  ru: {
    ...{ card: 'Автопополнение', below: 'Когда баланс ниже', on: 'Включить', off: 'Выключить' },
    ...{ is: /^Когда баланс опустится ниже 600,00.*1.000,00.*/, about: /Сохранённая карта или кошелёк/ },
  },
}))
  test(`a customer turns automatic top-up on, is topped up, and turns it off, in ${language}`, async () => {
    const t = await withSavedCard()
    const page = await t.open(browser, { locale: language })
    await page.setViewportSize({ width: 375, height: 800 })
    await page.goto(`${t.address}/billing`)
    const card = page.getByRole('region', { name: words.card })
    await card.getByText(words.about).waitFor()
    await card.getByLabel(words.below).fill('600')
    await card.getByRole('button', { name: words.on }).click()
    await card.getByText(words.is).waitFor()
    await expect.poll(async () => (await t.call('GET', '/account/balance')).body.balance).toBe('1500.00')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(375)
    await card.getByRole('button', { name: words.off }).click()
    await card.getByText(words.about).waitFor()
    expect((await t.call('GET', '/account/auto_top_up')).body.is_on).toBe(false)
  })

for (const [language, words] of Object.entries({
  en: { code: 'Promo code', redeem: 'Redeem', wrong: /No such code/, left: /^Charges use it/ },
  ru: { code: 'Промокод', redeem: 'Применить', wrong: /Промокод не действует/, left: /^Начисления сначала/ },
}))
  test(`a customer redeems a promo code, after a wrong one, in ${language}`, async () => {
    const t = await serveConsole({ balance: '0' })
    const terms = { name: 'Fair', amount_rub: '300', credit_days: 30, max_uses: 1, code: 'WINTER-FAIR-2027' }
    await createPromoCode(t, { ...terms, expires_at: '2060-01-01T00:00:00Z' })
    const page = await t.open(browser, { locale: language })
    await page.setViewportSize({ width: 375, height: 800 })
    await page.goto(`${t.address}/billing`)
    const card = page.getByRole('region', { name: words.code })
    const send = async (code: string) => {
      await card.getByLabel(words.code).fill(code)
      await card.getByRole('button', { name: words.redeem }).click()
    }
    await send('WINTER-FAIR-2026')
    await card.getByText(words.wrong).waitFor()
    await send('winter-fair-2027')
    await card.getByText(words.left).waitFor()
    expect((await t.call('GET', '/account/balance')).body.balance).toBe('300.00')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(375)
  })

test('an operator sees why a payment was not booked, and refunds it, by clicking', async () => {
  const played = await playedProviders()
  const t = await serveConsole({ ...played.urls, balance: '0' })
  const page = await t.open(browser)
  await makeOperator(t, page)
  await t.call('POST', '/account/payments', { amount_rub: '500' })
  Object.assign(played.last, { status: 'succeeded', kopecks: 40_000 })
  const looking = setInterval(() => void t.app.payments.look().catch(() => {}), 200)
  onTestFinished(() => clearInterval(looking))
  await page.getByRole('link', { name: 'Payments' }).click()
  await page.getByText('the provider received 400.00, not 500.00').waitFor()
  await page.getByRole('button', { name: /^Payment / }).click()
  await page.getByRole('menuitem', { name: 'Refund' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Amount in rubles').fill('400')
  await dialog.getByLabel('Reason').fill('Another amount arrived')
  await dialog.getByRole('button', { name: 'Refund' }).click()
  await page.getByText('₽400.00').first().waitFor()
  expect((await t.call('GET', '/account/balance')).body.balance).toBe('0.00')
})

for (const [language, words] of Object.entries({
  en: {
    ...{ card: 'Invoices and statements', row: 'November 2026', file: 'Download document 1 as PDF' },
    ...{ note: 'Credit note to 1', noteFile: 'Download document 2 as PDF' },
  },
  ru: {
    ...{ card: 'Счета и выписки', row: 'ноябрь 2026 г.', file: 'Скачать документ 1 в формате PDF' },
    ...{ note: 'Корректировка на уменьшение к счёту 1', noteFile: 'Скачать документ 2 в формате PDF' },
  },
}))
  test(`a customer downloads the documents of past months, in ${language}`, async () => {
    const t = await serveConsole(selling())
    const owner = await createPerson(t.db, t.clock, {
      ...{ email: 'owner@example.com', name: 'Olga', password: null },
      language: language === 'ru' ? 'ru' : 'en',
    })
    const personId = owner?.person_id ?? ''
    await addMember(t.db, t.clock, { accountId: t.accountId, personId, role: 'owner' })
    await chargeHour(t, t.accountId)
    t.clock.advance(Date.parse('2026-12-01T00:00:00Z') - t.clock.now())
    await t.app.billing.look()
    await creditInvoice(t, t.accountId)
    const page = await t.open(browser, { locale: language })
    await page.goto(`${t.address}/billing`)
    const documents = page.getByRole('region', { name: words.card }).first()
    await documents.getByRole('row').filter({ hasText: words.row }).first().waitFor()
    await documents.getByRole('row').filter({ hasText: words.note }).waitFor()
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: words.file }).click()
    const file = await downloading
    expect(file.suggestedFilename()).toBe('invoice-2026-11.pdf')
    const text = pdfText(readFileSync(await file.path()))
    expect(text).toContain(language === 'ru' ? 'Счёт № 1' : 'Invoice No. 1')
    const next = page.waitForEvent('download')
    await page.getByRole('link', { name: words.noteFile }).click()
    expect((await next).suggestedFilename()).toBe('credit_note-2026-11-2.pdf')
  })
