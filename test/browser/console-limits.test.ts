import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeQuotas } from '../../api/accounts/accounts.ts'
import { quotas } from '../../api/features.ts'
import { launch } from './chromium.ts'
import { serveConsole } from './console.ts'
import { faultsOnPhone } from './faults.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

test('a customer sees which limits are nearly reached and how to raise them, and hides the notice', async () => {
  const t = await serveConsole()
  const limit = (projects: number) =>
    changeQuotas({ ...t, quotas }, t.accountId, { change: { projects }, reason: 'test' })
  await limit(5)
  const page = await t.open(browser)
  const line = page.getByRole('status').getByText('Limits nearly reached')
  expect(await line.count()).toBe(0)
  for (const name of ['a', 'b', 'c']) await t.call('POST', '/account/projects', { name })
  await page.reload()
  await page.getByText('Limits nearly reached: Projects 4 / 5.').waitFor()
  expect(await faultsOnPhone(page)).toEqual([])
  await page.getByRole('link', { name: 'How to raise them' }).click()
  await page.getByText('Contact the operator to raise them.').waitFor()
  await page.getByRole('button', { name: 'Hide' }).click()
  await expect.poll(() => line.count()).toBe(0)
  await page.reload()
  await page.getByText('Contact the operator to raise them.').waitFor()
  expect(await line.count()).toBe(0)
  await limit(4)
  await page.reload()
  await page.getByRole('heading', { name: 'Limits' }).waitFor()
  expect(await line.count()).toBe(0)
})
