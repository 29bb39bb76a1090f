// These tests manage accounts in the console as operators do: they open, describe, limit and close them.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { launch } from './chromium.ts'
import { makeOperator, serveConsole } from './console.ts'
import { faultsOnPhone } from './faults.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

const EMAIL = 'bob@example.com'

test('an operator gives an owner a link that signs them in once', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await makeOperator(t, page)
  const accountId = await t.makeAccount()
  const { email } = await t.db
    .selectFrom('accounts')
    .select('email')
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  await page.getByRole('navigation').getByRole('link', { name: 'Accounts', exact: true }).click()
  await page.getByRole('button', { name: `Account: ${email}` }).click()
  await page.getByRole('menuitem', { name: 'Sign-in link' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Create the link' }).click()
  const url = (await dialog.locator('pre').textContent()) ?? ''
  expect(await faultsOnPhone(page)).toEqual([])
  const context = await browser.newContext({ locale: 'en-US' })
  onTestFinished(() => context.close())
  const other = await context.newPage()
  await other.goto(url)
  await other.getByRole('heading', { name: 'Overview' }).waitFor()
  await other.context().clearCookies()
  await other.goto('about:blank')
  await other.goto(url)
  await other.getByText('invalid').first().waitFor()
})

test('an operator opens an account, describes, limits, debits, closes and resumes it', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await makeOperator(t, page)
  await page.getByRole('navigation').getByRole('link', { name: 'Accounts', exact: true }).click()
  await page.getByRole('button', { name: 'Open an account' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('E-mail address').fill(EMAIL)
  await dialog.getByLabel('Your own ID').fill('shop-7')
  expect(await faultsOnPhone(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Open an account' }).click()
  await dialog.waitFor({ state: 'detached' })
  const row = page.getByRole('row').filter({ hasText: EMAIL })
  await row.getByText('shop-7').waitFor()

  const change = async (action: string, fields: Record<string, string>, submit = action) => {
    await row.getByRole('button', { name: `Account: ${EMAIL}` }).click()
    await page.getByRole('menuitem', { name: action, exact: true }).click()
    for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).first().fill(text)
    expect([action, await faultsOnPhone(page)]).toEqual([action, []])
    await dialog.getByRole('button', { name: submit }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  const reason = { Reason: 'Agreed by phone' }
  await change(
    'Name, tags and notes',
    { Name: 'Bob', Tags: 'vip reseller', Notes: 'Calls on Mondays' },
    'Save',
  )
  await row.getByText('reseller').waitFor()
  await change('Limits', { 'At most': '3', ...reason }, 'Set the limit')
  await change('Credit limit', { 'Credit limit in rubles': '500,00', ...reason }, 'Set the credit limit')
  await change('Debit', { 'Amount in rubles': '12,50', ...reason })
  await row.getByText('12.50').first().waitFor()
  const account = () =>
    t.db.selectFrom('accounts').selectAll().where('email', '=', EMAIL).executeTakeFirstOrThrow()
  expect(await account()).toMatchObject({
    ...{ name: 'Bob', external_id: 'shop-7', notes: 'Calls on Mondays', tags: '["vip","reseller"]' },
    quotas: '{"servers":3}',
  })
  const ledger = t.db
    .selectFrom('ledgers')
    .selectAll()
    .where('account_id', '=', (await account()).account_id)
  expect(await ledger.executeTakeFirst()).toMatchObject({ credit_limit: 5_000_000, balance: -125_000 })

  await change('Close account', { [`Type ${EMAIL}`]: EMAIL, ...reason })
  await row.getByText('Closed').waitFor()
  await change('Resume', reason)
  await row.getByText('Active').waitFor()
})
