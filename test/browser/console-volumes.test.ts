import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, test } from 'vitest'
import { make } from '../api/harness/ordering.ts'
import { launch } from './chromium.ts'
import { serveConsole } from './console.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

test('a volume is created, attached, grown, detached and deleted by clicking', async () => {
  const t = await serveConsole()
  await make(t, { name: 'web-1' })
  const page = await t.open(browser)
  const dialog = page.getByRole('dialog')
  const chosen = async (name: string) => {
    await page.getByRole('button', { name: 'Actions for data' }).click()
    await page.getByRole('menuitem', { name }).click()
  }
  await page.getByRole('link', { name: 'Volumes' }).click()
  await page.getByRole('button', { name: 'New volume' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('data')
  await dialog.getByLabel('Size in GB').fill('100')
  await dialog.getByText('₽600.00 per month').waitFor()
  await dialog.getByRole('button', { name: 'New volume' }).click()
  await page.getByText('Available').waitFor()
  await chosen('Attach')
  await dialog.getByLabel('Server').selectOption('web-1')
  await dialog.getByRole('button', { name: 'Attach' }).click()
  await page.getByText('Attached').waitFor()
  await page.getByText(/BERTH_Volume_/).waitFor()
  await page.getByRole('link', { name: 'web-1' }).waitFor()
  await chosen('Grow')
  await dialog.getByLabel('Size in GB').fill('200')
  await dialog.getByRole('button', { name: 'Grow' }).click()
  await page.getByText('200 GB').waitFor()
  await chosen('Detach')
  await dialog.getByRole('button', { name: 'Detach' }).click()
  await page.getByText('Available').waitFor()
  await chosen('Delete')
  await dialog.getByLabel('Type data to confirm').fill('data')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No volumes').waitFor()
})
