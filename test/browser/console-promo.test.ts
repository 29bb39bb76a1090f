import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch } from './chromium.ts'
import { makeOperator, serveConsole } from './console.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const PHONE = 375

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

/** Faults of accessibility, and whether a phone has to scroll sideways. */
async function faultsOn(page: Page): Promise<string[]> {
  await page.setViewportSize({ width: PHONE, height: 800 })
  await page.evaluate(axe)
  const found = await page.evaluate(async () => {
    const { violations }: import('axe-core').AxeResults = await Reflect.get(globalThis, 'axe').run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ; ')}`)
  })
  const width = await page.evaluate<number>('document.documentElement.scrollWidth')
  await page.setViewportSize({ width: 1440, height: 900 })
  return width > PHONE ? [...found, `${width} px wide`] : found
}

test('an operator creates a promo code, reads it once, and revokes it', async () => {
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
  expect(await faultsOn(page)).toEqual([])
  await submit.click()
  const code = (await dialog.locator('code').textContent()) ?? ''
  expect(code).toMatch(/^[\w-]{19}$/)
  expect(await faultsOn(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name: '0 of 2' }).waitFor()
  expect((await t.call('POST', '/account/credits', { code })).status).toBe(201)
  await page.reload()
  await page.getByRole('cell', { name: '1 of 2' }).waitFor()
  expect(await page.getByText(code).count()).toBe(0)
  expect(await faultsOn(page)).toEqual([])
  await page.getByRole('button', { name: 'Revoke Fair' }).click()
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('cell', { name: 'Revoked' }).waitFor()
})
