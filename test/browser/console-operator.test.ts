// These tests manage the servers of all accounts and the catalogue in the console, as operators do.
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { make } from '../api/harness/ordering.ts'
import { catalogFile, MASKED, secretText } from '../api/operator/harness/catalog.ts'
import { launch } from './chromium.ts'
import { makeOperator, serveConsole } from './console.ts'
import { faultsOnPhone } from './faults.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

const go = (page: Page, name: string) =>
  page.getByRole('navigation').getByRole('link', { name, exact: true }).click()

/** Chooses an action of the server, in its dialog. */
async function act(page: Page, action: string) {
  await page.getByRole('button', { name: 'Actions: web-1' }).click()
  await page.getByRole('menuitem', { name: action }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('sends spam')
  return dialog
}

test('an operator finds any server, suspends and resumes it with a reason, stops it, and moves it to another account', async () => {
  const t = await serveConsole()
  const id = await make(t, { name: 'web-1' })
  await make(t, { name: 'db-1' })
  const receiver = await t.makeAccount('1000.00')
  const page = await t.open(browser)
  await makeOperator(t, page)
  await go(page, 'All servers')
  await page.getByRole('cell', { name: 'db-1', exact: true }).waitFor()
  const { ipv4 } = (await t.call('GET', `/servers/${id}`)).body
  const search = page.getByLabel('Name, ID or IP address')
  for (const typed of ['WEB', id, ...(ipv4 ? [ipv4] : [])]) {
    await search.fill(typed)
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    await page.getByRole('cell', { name: 'web-1', exact: true }).waitFor()
  }
  await page.getByLabel('Any status').selectOption('Stopped')
  await page.getByText('No servers found').waitFor()
  await page.getByLabel('Any status').selectOption('Any status')
  const suspend = await act(page, 'Suspend')
  expect(await faultsOnPhone(page)).toEqual([])
  await suspend.getByRole('button', { name: 'Suspend' }).click()
  await page.getByText('Suspended: sends spam').waitFor()
  expect(await faultsOnPhone(page)).toEqual([])
  expect((await t.call('GET', `/servers/${id}`)).body.suspension_reason).toBe('sends spam')
  await (await act(page, 'Resume')).getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('cell', { name: 'Running' }).waitFor()
  await (await act(page, 'Stop')).getByRole('button', { name: 'Stop' }).click()
  await page.getByRole('cell', { name: 'Stopped' }).waitFor()
  const move = await act(page, 'Move')
  await move.getByLabel('E-mail address or ID').fill('nobody@example.com')
  await move.getByRole('button', { name: 'Move' }).click()
  await move.getByText('No account has this address').waitFor()
  await move.getByLabel('E-mail address or ID').fill(receiver)
  await move.getByRole('button', { name: 'Move' }).click()
  await expect.poll(async () => (await t.call('GET', `/servers/${id}`)).status).toBe(404)
  await go(page, 'Accounts')
  await page
    .getByRole('link', { name: /: servers of / })
    .first()
    .click()
  await page.getByText('Show all accounts').waitFor()
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
})

test('an operator deletes a protected server only with its name, a reason, and an explicit override', async () => {
  const t = await serveConsole()
  const id = await make(t, { name: 'web-1', delete_protection: true })
  const page = await t.open(browser)
  await makeOperator(t, page)
  await go(page, 'All servers')
  const dialog = await act(page, 'Delete')
  const submit = dialog.getByRole('button', { name: 'Delete' })
  expect(await submit.isDisabled()).toBe(true)
  await dialog.getByLabel('Type web-1').fill('web-1')
  await dialog.getByLabel('although its owner protected it').check()
  expect(await faultsOnPhone(page)).toEqual([])
  await submit.click()
  await page.getByText('No servers found').waitFor()
  expect((await t.call('GET', `/servers/${id}`)).status).toBe(404)
})

test('an operator reads the mistakes of a catalogue, then its changes, and puts it into force', async () => {
  const { opened, file } = await catalogFile(secretText)
  const t = await serveConsole({ catalog: opened.catalog, catalogText: opened })
  const page = await t.open(browser)
  await makeOperator(t, page)
  await go(page, 'Catalogue')
  const area = page.getByLabel('Text (YAML)')
  const text = await area.inputValue()
  expect(text).toContain(MASKED)
  const check = page.getByRole('button', { name: 'Check' })
  await check.click()
  await page.getByText('Nothing differs').waitFor()
  await area.fill(text.replace('title: This machine', 'titel: Elsewhere'))
  await check.click()
  await page.getByText('Mistakes').waitFor()
  expect(await faultsOnPhone(page)).toEqual([])
  await page.getByRole('button', { name: 'Discard changes' }).click()
  // The text in force is read anew first.
  await expect.poll(() => area.inputValue()).toBe(text)
  await area.fill(text.replace('title: This machine', 'title: Elsewhere'))
  await check.click()
  await page.getByText('zone local-1: changed').waitFor()
  expect(await faultsOnPhone(page)).toEqual([])
  await page.getByRole('button', { name: 'Put it into force' }).click()
  await page.getByText('The new catalogue is in force.').waitFor()
  expect((await t.call('GET', '/zones')).body[0].title).toBe('Elsewhere')
  expect(readFileSync(file, 'utf8')).toContain('s3cret')
})
