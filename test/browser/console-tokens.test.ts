import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, test } from 'vitest'
import { launch } from './chromium.ts'
import { serveConsole } from './console.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

test("a token for hcloud's tools is created by clicking, and shown as two lines to copy", async () => {
  const t = await serveConsole({ hasHcloud: true })
  const page = await t.open(browser)
  const dialog = page.getByRole('dialog')
  await page.goto(new URL('/account/tokens', page.url()).href)
  await page.getByRole('button', { name: 'New token' }).first().click()
  await dialog.getByLabel('Name', { exact: true }).fill('tools')
  await dialog
    .getByLabel('For', { exact: true })
    .selectOption('Tools that speak the hcloud API, in the default project')
  await dialog.getByRole('button', { name: 'New token' }).click()
  await dialog.getByText(/HCLOUD_ENDPOINT=http:\/\/[^ ]+\/hcloud\/v1\s+export HCLOUD_TOKEN=\w{64}/).waitFor()
})
