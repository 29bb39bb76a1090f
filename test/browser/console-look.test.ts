import { randomUUID } from 'node:crypto'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { make } from '../api/harness/ordering.ts'
import { catalogWith } from '../harness/addresses.ts'
import { playedProviders } from '../harness/payment-providers.ts'
import { withBank } from '../harness/seller.ts'
import { launch } from './chromium.ts'
import { type Console, makeOperator, serveConsole } from './console.ts'
import { inaccessible, PHONE, scrollsSideways } from './faults.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

/** The operator's pages other than the first. */
const OPERATED = [
  'servers',
  'catalog',
  'abuse',
  'complaints',
  'payments',
  'documents',
  'promo-codes',
  'operations',
  'announcements',
  'capacity',
  'images',
]

/** Creates one object of each kind. @returns all pages that show them */
async function furnish(t: Console): Promise<string[]> {
  const id = await make(t, { name: 'web-1' })
  const { network_id } = (
    await t.call('POST', '/networks', { name: 'backend', zone_slug: 'local-1', ip_range: '10.1.0.0/24' })
  ).body
  await t.call('POST', `/networks/${network_id}/servers`, { server_id: id })
  const rules = [{ direction: 'in', protocol: 'tcp', ports: '22', cidrs: ['203.0.113.0/24'] }]
  const { firewall_id } = (await t.call('POST', '/firewalls', { name: 'web', rules })).body
  await t.call('POST', `/firewalls/${firewall_id}/servers`, { server_ids: [id] })
  const { volume_id } = (
    await t.call('POST', '/volumes', { name: 'data', zone_slug: 'local-1', size_gb: 20 })
  ).body
  await t.call('POST', `/volumes/${volume_id}/attach`, { server_id: id })
  await t.call('POST', '/account/invitations', { email: 'bob@example.com', role: 'viewer' })
  const saved = { account_id: t.accountId, provider: 'yookassa', provider_id: 'card', customer_id: null }
  const card = { brand: 'MasterCard', last_four: '4477', expires: '2029-04', created_at: 0, removed_at: null }
  await t.db
    .insertInto('payment_methods')
    .values({ method_id: randomUUID(), ...saved, ...card })
    .execute()
  await t.call('POST', '/account/transfers', { amount_rub: '500' })
  const { payment_id } = (await t.call('POST', '/account/payments', { amount_rub: '500' })).body
  return [
    '/',
    '/servers',
    '/servers/new',
    `/servers/${id}`,
    `/servers/${id}/metrics`,
    `/servers/${id}/terminal`,
    `/servers/${id}/screen`,
    `/servers/${id}/network`,
    `/servers/${id}/backups`,
    `/servers/${id}/events`,
    `/servers/${id}/settings`,
    '/networks',
    `/networks/${network_id}`,
    '/firewalls',
    `/firewalls/${firewall_id}`,
    '/addresses',
    '/snapshots',
    '/images',
    '/isos',
    '/volumes',
    '/projects',
    '/ssh-keys',
    '/billing',
    `/billing/payments/${payment_id}`,
    '/account',
    ...['complaints', 'members', 'tokens', 'webhooks', 'security', 'activity'].map(
      (name) => `/account/${name}`,
    ),
    '/device',
    '/operator',
    ...OPERATED.map((name) => `/operator/${name}`),
  ]
}

/** Opens a page as a link of the console does, without a reload. */
async function go(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState({}, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await expect.poll(() => page.locator('.skeleton').count()).toBe(0)
}

/** All pairs of language, theme and width, since no fault needs all three. */
const looks = [
  { language: 'en', theme: 'light', width: 1440 },
  { language: 'ru', theme: 'dark', width: 1440 },
  { language: 'ru', theme: 'light', width: PHONE },
  { language: 'en', theme: 'dark', width: PHONE },
] as const

async function look(page: Page, { language, theme, width }: (typeof looks)[number]): Promise<void> {
  // On a narrow page, the choice is in its menu.
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.getByLabel(/^(Language|Язык)$/).selectOption(language)
  await page.getByLabel(/^(Theme|Тема)$/).selectOption(theme)
  await page.setViewportSize({ width, height: 900 })
}

/** Finds tables that hide a part of themselves. */
/** Finds texts and fields that touch the edge of their card. */
const atEdges = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll('.card :is(p, dt, label, input, button)')]
    .filter((one) => one.offsetWidth > 1
      && one.getBoundingClientRect().left + parseFloat(getComputedStyle(one).paddingLeft)
        - one.closest('.card').getBoundingClientRect().left < 8)
    .map((one) => one.outerHTML.slice(0, 80))`)

const cutTables = (page: Page) =>
  page.evaluate<number>(
    `[...document.querySelectorAll('.table-scroll')].filter((one) => one.scrollWidth > one.clientWidth).length`,
  )

async function seriousOn(page: Page): Promise<string[]> {
  const found = await inaccessible(page)
  if (await scrollsSideways(page)) found.push('scrolls sideways')
  if ((await cutTables(page)) > 0 && PHONE === (page.viewportSize()?.width ?? 0))
    found.push('cuts a table off')
  return found
}

test('axe finds no serious fault on any page, in both themes and languages, wide and narrow, nor is anything lost at 200 % zoom', async () => {
  const t = await serveConsole({
    catalog: withBank(catalogWith('public_ipv4: [203.0.113.0/28]')),
    ...(await playedProviders()).urls,
  })
  const pages = await furnish(t)
  const page = await t.open(browser)
  await makeOperator(t, page)
  const found: string[] = []
  for (const path of pages) {
    await go(page, path)
    for (const one of looks) {
      await look(page, one)
      const serious = await seriousOn(page)
      found.push(...serious.map((line) => `${path} ${Object.values(one).join(' ')}: ${line}`))
    }
    found.push(...(await atEdges(page)).map((line) => `${path} at the edge of its card: ${line}`))
    // At 200 %, a window of 1440 px shows this width.
    await page.setViewportSize({ width: 720, height: 450 })
    if (await scrollsSideways(page)) found.push(`${path} scrolls sideways at 200 %`)
  }
  expect(found).toEqual([])
})

test('an operator finds, credits, suspends and resumes an account by clicking; other people have no such page', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  expect(await page.getByRole('link', { name: 'Capacity' }).count()).toBe(0)
  await go(page, '/operator')
  await page.getByRole('alert').getByText('operator_required').waitFor()
  await makeOperator(t, page)
  const [{ email = '' } = {}] = await t.db.selectFrom('accounts').select('email').execute()
  await page.getByLabel('E-mail address, name or ID').fill(email.toUpperCase())
  const row = page.getByRole('row').filter({ hasText: email })
  await row.getByText('Active').waitFor()
  await expect.poll(() => page.url()).toContain('q=')
  const change = async (action: string, fields: Record<string, string>) => {
    await row.getByRole('button', { name: `Account: ${email}` }).click()
    await page.getByRole('menuitem', { name: action, exact: true }).click()
    const dialog = page.getByRole('dialog')
    for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).fill(text)
    await dialog.getByRole('button', { name: action }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  await change('Credit', { 'Amount in rubles': '250,50', Reason: 'Bank transfer' })
  await row.getByText('10,250.50').first().waitFor()
  await change('Suspend', { Reason: 'Sends spam' })
  await row.getByText('Suspended').waitFor()
  await change('Resume', { Reason: 'Mended' })
  await row.getByText('Active').waitFor()
})

test('the menu of a row opens above its table, stays within the window, and scrolls nothing', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await t.call('POST', '/account/tokens', { name: 'deploy', scopes: ['servers:read'] })
  await go(page, '/account/tokens')
  const button = page.getByRole('row', { name: 'deploy' }).getByRole('button', { name: 'Actions for deploy' })
  const item = page.getByRole('menuitem').last()
  const { y = 0, height = 0 } = (await button.boundingBox()) ?? {}
  // The second window ends right below the button.
  for (const window of [900, Math.ceil(y + height) + 10]) {
    await page.setViewportSize({ width: 1440, height: window })
    await button.click()
    await item.waitFor()
    const found = await page.evaluate(`(() => {
      const item = [...document.querySelectorAll('[role=menuitem]')].at(-1)
      const { left, top, bottom, width, height } = item.getBoundingClientRect()
      return {
        isHit: document.elementFromPoint(left + width / 2, top + height / 2) === item,
        isInSight: top >= 0 && bottom <= innerHeight,
        scrolled: [...document.querySelectorAll('.table-scroll')].map((one) => one.scrollTop),
      }
    })()`)
    expect(found).toEqual({ isHit: true, isInSight: true, scrolled: [0] })
    await page.keyboard.press('Escape')
    await item.waitFor({ state: 'detached' })
    expect(await button.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true)
  }
  await button.click()
  await item.waitFor()
  await page.mouse.move(700, 60)
  await page.mouse.wheel(0, 200)
  await item.waitFor({ state: 'detached' })
})
