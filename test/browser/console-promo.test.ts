import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch } from './chromium.ts'
import { makeOperator, serveConsole } from './console.ts'
import { faultsOnPhone } from './faults.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

test('an operator creates a promo code, which is shown only once, and revokes it', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await makeOperator(t, page)
  await page.getByRole('navigation').getByRole('link', { name: 'Promo codes' }).click()
  await page.getByText('No promo codes').waitFor()
  await page.getByRole('button', { name: 'Create a promo code' }).click()
  const dialog = page.getByRole('dialog')
  const submit = dialog.getByRole('button', { name: 'Create a promo code' })
  await dialog.getByLabel('Name').fill('Fair')
  await dialog.getByLabel('Credit in rubles').fill('300,50')
  await dialog.getByLabel('Most uses').fill('2')
  await dialog.getByLabel('Valid until').fill('2060-12-01T00:00')
  expect(await faultsOnPhone(page)).toEqual([])
  await submit.click()
  const code = (await dialog.locator('code').textContent()) ?? ''
  expect(code).toMatch(/^[\w-]{19}$/)
  expect(await faultsOnPhone(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name: '0 of 2' }).waitFor()
  expect((await t.call('POST', '/account/credits', { code })).status).toBe(201)
  await page.reload()
  await page.getByRole('cell', { name: '1 of 2' }).waitFor()
  expect(await page.getByText(code).count()).toBe(0)
  expect(await faultsOnPhone(page)).toEqual([])
  await page.getByRole('button', { name: 'Revoke Fair' }).click()
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('cell', { name: 'Revoked' }).waitFor()
})
