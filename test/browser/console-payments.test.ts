import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { playedProviders } from '../harness/payment-providers.ts'
import { launch } from './chromium.ts'
import { serveConsole } from './console.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

test('a customer tops up at the provider, comes back, and the page waits until the money is there', async () => {
  const played = await playedProviders()
  const t = await serveConsole({ ...played.urls, balance: '0' })
  const page = await t.open(browser, {}, t.site)
  await page.getByRole('link', { name: 'Billing' }).click()
  await page.getByLabel('Amount in rubles').fill('750,50')
  await page.getByLabel('Pay through').selectOption('Stripe')
  await page.getByRole('button', { name: 'Continue to payment' }).click()
  await page.getByRole('button', { name: 'Pay', exact: true }).click()
  // Back from the provider, whose API has not been asked yet.
  await page.getByText('This page updates by itself').waitFor()
  const looking = setInterval(() => void t.app.payments.look().catch(() => {}), 200)
  onTestFinished(() => clearInterval(looking))
  await page.getByText('The amount has been added to your balance').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Billing' }).click()
  await page.getByRole('row').filter({ hasText: 'Paid' }).first().waitFor()
  await page.getByText('+₽750.50').waitFor()
  expect((await t.call('GET', '/account/balance')).body.balance).toBe('750.50')
}, 60_000)
