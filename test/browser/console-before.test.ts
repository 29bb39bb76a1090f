import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { make } from '../api/harness/ordering.ts'
import { SITE } from '../harness/app.ts'
import { launch } from './chromium.ts'
import { serveConsole } from './console.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

test('if no zone has networks or firewalls, their pages say so and offer no form', async () => {
  const t = await serveConsole({ simulator: { host: { features: ['published_ports'] } } })
  const page = await t.open(browser)
  await page.getByRole('link', { name: 'Networks' }).click()
  await page.getByText('No zone supports private networks.').waitFor()
  expect(await page.getByRole('button', { name: 'New network' }).count()).toBe(0)
  await page.getByRole('link', { name: 'Firewalls' }).click()
  await page.getByText('No zone supports firewalls.').waitFor()
  expect(await page.getByRole('button', { name: 'New firewall' }).count()).toBe(0)
})

test('an operator without a second factor is led to the page that turns it on', async () => {
  const t = await serveConsole()
  await t.open(browser)
  const page = await t.open(browser)
  await t.db.updateTable('people').set({ is_operator: 1 }).execute()
  await page.goto(`${t.address}/operator`)
  await page.getByText('need two-factor authentication').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  await page.getByRole('link', { name: 'Go to Security' }).click()
  await page.getByRole('heading', { name: 'Two-factor authentication' }).waitFor()
})

test('a person without a password is told in advance that a recent sign-in is needed, and returns after it', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await page.goto(`${t.address}/account`)
  await page.getByRole('link', { name: 'Change e-mail or password' }).click()
  await page.getByRole('button', { name: 'Choose a password' }).waitFor()
  await page.getByRole('button', { name: 'Change address' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('a sign-in within the last 10 minutes').waitFor()
  await dialog.getByRole('button', { name: 'Sign in again' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(new URL(page.url()).searchParams.get('next')).toBe('/account/security')
})

test('a person who must wait before another password attempt is shown the other ways to sign in', async () => {
  const t = await serveConsole()
  const page = await (await browser.newContext({ locale: 'en-US' })).newPage()
  onTestFinished(() => page.context().close())
  const entry = { email: 'bob@example.com', password: 'wrong' }
  for (let n = 0; n < 10; n += 1) await t.callAs(null)('POST', '/sign-in', entry, { origin: SITE })
  await page.goto(`${t.site}/sign-in`)
  await page.getByLabel('E-mail').fill(entry.email)
  await page.getByLabel('Password', { exact: true }).fill(entry.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('Too many attempts').waitFor()
  await page.getByText('you may not have to wait').waitFor()
})

test('a wrong name is marked at its field, and the price stays', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await page.goto(`${t.address}/servers/new`)
  const price = page.locator('.summary .total')
  const before = await price.textContent()
  const name = page.getByRole('region', { name: 'Name and options' }).getByLabel('Name')
  await name.fill('web-')
  await page.getByText('Use letters, digits and dashes').waitFor()
  expect(await name.getAttribute('aria-invalid')).toBe('true')
  expect(await price.textContent()).toBe(before)
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Create server' }).isDisabled()).toBe(true)
  await name.fill('web-1')
  await expect.poll(() => page.getByRole('button', { name: 'Create server' }).isEnabled()).toBe(true)
})

test('a plan that does not fit shows which resource is short', async () => {
  const t = await serveConsole({ simulator: { host: { ramMb: 3_000 } } })
  const page = await t.open(browser)
  await page.goto(`${t.address}/servers/new`)
  await page.getByText('Not enough now: memory').first().waitFor()
  expect(await page.getByRole('radio', { name: /^medium / }).isDisabled()).toBe(true)
})

test('the page for a wrong address has the menu', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await page.goto(`${t.address}/nowhere/at/all`)
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Servers' }).click()
  await page.getByRole('heading', { name: 'Servers' }).waitFor()
})

test('the lines of the terminal fit into its box', async () => {
  const t = await serveConsole()
  const id = await make(t, { name: 'web-1' })
  const page = await t.open(browser)
  await page.goto(`${t.address}/servers/${id}/terminal`)
  await page.getByText('Connected to the serial console').waitFor()
  const left = await page.evaluate<number>(`(() => {
    const bottom = (selector) => document.querySelector(selector).getBoundingClientRect().bottom
    return bottom('.serial') - bottom('.xterm')
  })()`)
  expect(left).toBeGreaterThanOrEqual(0)
})
