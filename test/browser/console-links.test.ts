// These tests follow links in mails, which open the account that the mail is about.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageOfAccount } from '../../api/people/letters/mails.ts'
import { addMember } from '../../api/people/membership/members.ts'
import { createLink } from '../../api/people/person/links.ts'
import { launch } from './chromium.ts'
import { type Console, serveConsole } from './console.ts'
import { faultsOnPhone } from './faults.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

/** A person in two accounts, who uses the first; and an account of others. */
async function inTwo() {
  const t = await serveConsole()
  const page = await t.open(browser)
  const [second, foreign] = [await t.makeAccount(), await t.makeAccount()]
  const [person] = await t.db.selectFrom('people').selectAll().execute()
  if (!person) throw new Error('nobody signed in')
  await addMember(t.db, t.clock, { accountId: second, personId: person.person_id, role: 'owner' })
  const link = (path: string, account: string) => String(pageOfAccount(t.address, path, account))
  return { t, page, person, second, foreign, link }
}

const account = (page: Page) => page.getByRole('combobox', { name: 'Account' }).first()
const pathOf = (page: Page) => new URL(page.url()).pathname + new URL(page.url()).search

async function signInLink(t: Console, { person_id, email }: { person_id: string; email: string }) {
  const secret = await createLink(t.db, t.clock, { purpose: 'sign_in', email, person_id, language: 'en' })
  return `${t.address}/sign-in#${secret}`
}

test('a link in a mail opens its account, also after signing in, and leaves no trace in the address', async () => {
  const { t, page, person, second, link } = await inTwo()
  await page.goto(link('/billing', second))
  await page.getByRole('heading', { name: 'Billing' }).first().waitFor()
  await expect.poll(() => account(page).inputValue()).toBe(second)
  expect(pathOf(page)).toBe('/billing')
  await page.reload()
  await expect.poll(() => account(page).inputValue()).toBe(second)
  await page.goto(link('/servers', t.accountId))
  await expect.poll(() => account(page).inputValue()).toBe(t.accountId)

  await page.getByRole('button', { name: 'Sign out' }).first().click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.goto(link('/account', second))
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(pathOf(page)).toBe('/sign-in?next=%2Faccount')
  await page.goto(await signInLink(t, person))
  await expect.poll(() => account(page).inputValue()).toBe(second)
})

test('a link to an account of others says that the person is not in it, and opens their own', async () => {
  const { t, page, foreign, link } = await inTwo()
  await page.goto(link('/billing', foreign))
  await page.getByText('The link leads to an account that you are not a member of.').waitFor()
  expect(await account(page).inputValue()).toBe(t.accountId)
  expect(await faultsOnPhone(page)).toEqual([])
  await page.goto(`${t.address}/servers?account=nonsense`)
  await page.getByRole('heading', { name: 'Servers' }).first().waitFor()
  expect(pathOf(page)).toBe('/servers')
  expect(await account(page).inputValue()).toBe(t.accountId)
  expect(await page.getByText('The link leads to an account').count()).toBe(0)
})
