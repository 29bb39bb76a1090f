import { randomUUID } from 'node:crypto'
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

test('an operator opens a complaint, the customer reads the notice and answers, and the operator closes it', async () => {
  const t = await serveConsole()
  const [page, customer] = [await t.open(browser), await t.open(browser)]
  await makeOperator(t, page)
  await page.getByRole('navigation').getByRole('link', { name: 'Complaints' }).click()
  await page.getByText('No open complaints').waitFor()
  await page.getByRole('button', { name: 'Open a complaint' }).click()
  const dialog = page.getByRole('dialog')
  const submit = dialog.getByRole('button', { name: 'Open a complaint' })
  await dialog.getByLabel('E-mail address or ID').fill('nobody@example.com')
  await dialog.getByLabel('Text').fill('A mailbox got spam.\nSee the headers.')
  await submit.click()
  await dialog.getByText('No such account.').waitFor()
  await dialog.getByLabel('E-mail address or ID').fill('customer1@example.com')
  expect(await faultsOnPhone(page)).toEqual([])
  await submit.click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('cell', { name: 'Wait for the answer.' }).waitFor()
  expect(await faultsOnPhone(page)).toEqual([])

  await customer.getByRole('status').getByText('A complaint awaits your answer until').waitFor()
  await customer.getByRole('link', { name: 'Open the complaints' }).click()
  await customer.getByRole('button', { name: 'Read: Spam' }).click()
  const mine = customer.getByRole('dialog')
  await mine.getByText('See the headers.').waitFor()
  expect(await faultsOnPhone(customer)).toEqual([])
  await mine.getByLabel('Your answer').fill('The form is closed.')
  await mine.getByRole('button', { name: 'Answer' }).click()
  await mine.getByRole('article').getByText('The form is closed.').waitFor()
  await expect.poll(() => customer.getByText('A complaint awaits your answer').count()).toBe(0)

  await page.reload()
  await page.getByRole('cell', { name: 'Read the answer, then reply or close the complaint.' }).waitFor()
  await page.getByRole('button', { name: 'Read: Spam, customer1@example.com' }).click()
  await dialog.getByText('The form is closed.').waitFor()
  expect(await faultsOnPhone(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Close the complaint' }).click()
  await dialog.getByText('Solved').first().waitFor()
  const { items } = (await t.call('GET', '/account/complaints?status=closed')).body
  expect(items).toMatchObject([{ outcome: 'solved', kind: 'spam' }])
})

test('an operator freezes an account from a sign of abuse', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await makeOperator(t, page)
  const account_id = await t.makeAccount()
  const now = t.clock.now()
  await t.db
    .insertInto('signs')
    .values({
      ...{ sign_id: randomUUID(), subject: randomUUID(), account_id, figure: 900, peak: 1_200 },
      kind: 'mail_tries',
      ...{ accounts: JSON.stringify([account_id]), since: now, seen_at: now },
    })
    .execute()
  await page.getByRole('navigation').getByRole('link', { name: 'Abuse' }).click()
  await page.getByRole('button', { name: /^Freeze/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('Sends spam')
  expect(await faultsOnPhone(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Freeze', exact: true }).click()
  await page.getByRole('cell').getByText('Frozen').waitFor()
  const { frozen_at } = await t.db
    .selectFrom('accounts')
    .select('frozen_at')
    .where('account_id', '=', account_id)
    .executeTakeFirstOrThrow()
  expect(frozen_at).not.toBe(null)
})
