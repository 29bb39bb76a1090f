import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launch } from './chromium.ts'
import { makeOperator, serveConsole } from './console.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

test('an operator announces, changes and ends maintenance, a customer sees it, and mutes its mails', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await makeOperator(t, page)
  await page.getByRole('navigation').getByRole('link', { name: 'Announcements' }).click()
  await page.getByRole('button', { name: 'Announce' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Text in English').fill('The switches are replaced.')
  await dialog.getByLabel('Text in Russian').fill('В зоне меняют коммутаторы.')
  await dialog.getByLabel('Zones').fill('mars-1')
  await dialog.getByLabel('Starts').fill('2060-12-01T01:00')
  await dialog.getByLabel('Ends').fill('2060-12-01T03:00')
  await dialog.getByRole('button', { name: 'Announce' }).click()
  await dialog
    .getByText(/no such zone/i)
    .first()
    .waitFor()
  await dialog.getByLabel('Zones').fill('')
  await dialog.getByRole('button', { name: 'Announce' }).click()
  await dialog.waitFor({ state: 'detached' })
  const banner = page.getByRole('status').getByText('The switches are replaced.')
  await banner.waitFor()
  await page
    .getByRole('status')
    .getByText(/2060.* – .*2060/)
    .waitFor()
  const { items } = (await t.call('GET', '/announcements')).body
  expect(items).toMatchObject([{ kind: 'maintenance', zones: [] }])
  expect(Date.parse(items[0].ends_at) - Date.parse(items[0].starts_at)).toBe(2 * 3600_000)

  await page.getByRole('button', { name: 'Actions: Maintenance' }).click()
  await page.getByRole('menuitem', { name: 'Change' }).click()
  expect(await dialog.getByLabel('Ends').inputValue()).toBe('2060-12-01T03:00')
  await dialog.getByLabel('Text in English').fill('The routers are replaced.')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('The routers are replaced.').waitFor()
  await page.getByRole('button', { name: 'Actions: Maintenance' }).click()
  await page.getByRole('menuitem', { name: 'End' }).click()
  await dialog.getByRole('button', { name: 'End the announcement' }).click()
  await page.getByRole('cell', { name: 'Ended' }).waitFor()
  await expect.poll(() => page.getByRole('status').getByText('The routers are replaced.').count()).toBe(0)

  await page.getByRole('navigation').getByRole('link', { name: 'Security' }).click()
  const wanted = page.getByLabel('Maintenance, incidents and news of the operator')
  expect(await wanted.isChecked()).toBe(true)
  await wanted.click()
  await expect.poll(() => wanted.isChecked()).toBe(false)
  const [person] = await t.db.selectFrom('people').select('muted_mails').execute()
  expect(person).toEqual({ muted_mails: 'announcements' })
  const backups = page.getByLabel('Failed backups')
  await backups.click()
  await expect.poll(() => backups.isChecked()).toBe(false)
  await wanted.click()
  await expect.poll(() => wanted.isChecked()).toBe(true)
  expect(await backups.isChecked()).toBe(false)
  expect(await page.getByLabel('Servers that are down').isChecked()).toBe(true)
})
