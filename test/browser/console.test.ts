import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { post } from '../../api/billing/ledger.ts'
import { parseMoney } from '../../api/money.ts'
import { addMember } from '../../api/people/membership/members.ts'
import { hashSecret } from '../../api/people/person/links.ts'
import { codeOf } from '../../api/people/two-factor/totp.ts'
import { fromBase32, linkTo, openBrowser } from '../api/harness/browser.ts'
import { make } from '../api/harness/ordering.ts'
import { openProvider } from '../api/harness/provider.ts'
import { screenOf } from '../cli/harness/screen.ts'
import { catalogWith } from '../harness/addresses.ts'
import { launch } from './chromium.ts'
import { type Console, serveConsole } from './console.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launch()
})
afterAll(() => browser?.close())

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9iQ9m0a1bVJt5y5Z3m0Zk0qkq2u3v4w5x6y7z8a9b0 ann@laptop'
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const status = (page: Page, text: string) =>
  page
    .locator('header')
    .filter({ has: page.getByRole('heading', { level: 1 }) })
    .getByText(text)

const PASSWORD = 'a long enough passphrase'

/** Opens the link in the last mail to a person, in a page of theirs. */
async function openMail(t: Console, place: string, email: string): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-US' })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.goto(`${t.address}${place}#${await linkTo(t, email)}`)
  await page.getByLabel('Your name').fill(email.split('@')[0] ?? '')
  await page.getByLabel('New password').fill(PASSWORD)
  return page
}

test('a new customer signs up, adds a key, and creates, uses, resizes, rebuilds and deletes a server by clicking', async () => {
  const t = await serveConsole()
  const stranger = await browser.newPage({ locale: 'en-US' })
  await stranger.goto(`${t.address}/sign-up`)
  await stranger.getByLabel('E-mail').fill('ann@example.com')
  await button(stranger, 'Send the link').click()
  await stranger.getByText('an e-mail is on its way').waitFor()
  await stranger.close()
  const page = await openMail(t, '/sign-up', 'ann@example.com')
  const wrong: string[] = []
  page.on('console', (line) => line.type() === 'error' && wrong.push(line.text()))
  page.on('request', (request) => {
    if (!request.url().startsWith(t.address)) wrong.push(request.url())
  })
  await button(page, 'Finish signing up').click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const { account_id: accountId } = await t.db
    .selectFrom('members')
    .select('account_id')
    .executeTakeFirstOrThrow()
  const payment = { amount: parseMoney('5000'), description: 'test', reference: null }
  await post(t.db, t.clock, { accountId, type: 'payment', ...payment })

  await page.getByLabel('Public key').fill(KEY)
  await button(page, 'Add key').click()
  await page.getByText('Your key ann@laptop has been added.').waitFor()
  await page.getByRole('link', { name: 'New server' }).first().click()
  await page.getByRole('radio', { name: /^micro / }).check({ force: true })
  await page.getByText('₽420.00').nth(1).waitFor()
  await page.getByLabel('Name', { exact: true }).fill('web-1')
  await button(page, 'Create server').click()
  await page.getByRole('heading', { name: 'web-1' }).waitFor()
  await status(page, 'Running').waitFor()
  await page.getByText(/^ssh -p \d+ \w+@127\.0\.0\.1$/).waitFor()

  await page.getByRole('link', { name: 'Metrics' }).click()
  await page.getByRole('img', { name: /^CPU: / }).waitFor()
  await page.getByText('24 h').click()
  await expect.poll(() => page.url()).toContain('range=24h')
  await page.getByRole('link', { name: 'Terminal' }).click()
  await page.getByText('Connected to the serial console').waitFor()
  await page.keyboard.type('echo typed $((1+1))\n')
  await page.locator('.xterm-rows').getByText('typed', { exact: false }).nth(1).waitFor()

  await button(page, 'Stop').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click()
  await status(page, 'Stopped').waitFor()
  await page.getByRole('link', { name: 'Settings' }).click()
  await resizeAndRebuild(page)
  await resetPassword(page)
  await button(page, 'Delete server').click()
  const last = page.getByRole('dialog')
  expect(await last.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true)
  await last.getByLabel('Type web-1 to confirm').fill('web-1')
  await last.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No servers yet').waitFor()
  expect(wrong).toEqual([])
})

/** Resets the password of the running server on its page of settings, and comes back to it. */
async function resetPassword(page: Page): Promise<void> {
  await button(page, 'Reset password').click()
  await page.getByRole('link', { name: 'Events' }).click()
  // The page of settings, which stays until that of events is loaded, has these words twice.
  await page.getByRole('heading', { name: 'Reset password' }).waitFor({ state: 'detached' })
  await page.getByRole('cell', { name: 'Reset password' }).waitFor()
  await status(page, 'Running').waitFor()
  await page.getByRole('link', { name: 'Settings' }).click()
}

/** Changes the plan and the system of the server web-1 on its page of settings. */
async function resizeAndRebuild(page: Page): Promise<void> {
  await page.getByRole('radio', { name: /^small / }).check({ force: true })
  await button(page, 'Resize for ₽840.00 a month').click()
  await page.getByText('2 CPU · 2 GiB · 40 GB · Micro Linux').waitFor()

  await page.getByLabel('Image').selectOption('Debian 13 (trixie)')
  await button(page, 'Rebuild').click()
  const asked = page.getByRole('dialog')
  await asked.getByLabel('Type web-1 to confirm').fill('web-1')
  await asked.getByRole('button', { name: 'Rebuild' }).click()
  await page.getByText('2 CPU · 2 GiB · 40 GB · Debian 13 (trixie)').waitFor()
  await status(page, 'Running').waitFor()
}

test('changes made elsewhere are shown at once, and a lost connection is reported and restored', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await page.getByRole('link', { name: 'Projects' }).click()
  await page.getByText('Default').first().waitFor()
  await t.call('POST', '/account/projects', { name: 'made elsewhere' })
  await page.getByRole('link', { name: 'made elsewhere' }).waitFor()
  const { port } = new URL(t.address)
  const listener = t.app.http.server
  const closed = new Promise((resolve) => listener.close(resolve))
  listener.closeAllConnections()
  await closed
  await page.getByText('Connection lost at').waitFor()
  await t.call('POST', '/account/projects', { name: 'made meanwhile' })
  await new Promise<void>((resolve) => void listener.listen(Number(port), '127.0.0.1', resolve))
  await page.getByRole('link', { name: 'made meanwhile' }).waitFor()
  await expect.poll(() => page.getByText('Connection lost at').count()).toBe(0)
  // Only the visible part of a long list is drawn, and the rest as it scrolls near.
  for (let at = 0; at < 46; at += 1) await t.call('POST', '/account/projects', { name: `shop-${at}` })
  await page.getByRole('link', { name: 'shop-45' }).waitFor()
  expect(await page.getByRole('link', { name: 'Default' }).count()).toBe(0)
  // Rows that are drawn during the scroll may make the list longer.
  const atEnd = async () => {
    await page.keyboard.press('End')
    return page.getByRole('link', { name: 'Default' }).count()
  }
  await expect.poll(atEnd).toBe(1)
})

test('a snapshot that is made elsewhere appears, and renames no server on the page', async () => {
  const t = await serveConsole()
  const server_id = await make(t, { name: 'web-1' })
  const page = await t.open(browser)
  await page.getByRole('link', { name: 'Servers' }).click()
  await page.getByRole('link', { name: 'web-1' }).waitFor()
  expect((await t.call('POST', '/snapshots', { server_id, name: 'before' })).status).toBe(202)
  await t.finish()
  await page.getByRole('link', { name: 'Snapshots' }).click()
  await page.getByText('before').first().waitFor()
  await t.call('POST', '/snapshots', { server_id, name: 'second' })
  await t.finish()
  await page.getByText('second').first().waitFor()
  await page.getByRole('link', { name: 'Servers' }).click()
  await page.getByRole('link', { name: 'web-1' }).waitFor()
})

/** Sets up two-factor authentication by clicking. @returns a function for the app's code, never the same twice */
async function setUpTwoFactor(t: Console, page: Page): Promise<() => string> {
  await button(page, 'Set up').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Current password').fill(PASSWORD)
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByRole('img', { name: 'QR code for the app' }).waitFor()
  const key = String(await dialog.locator('.setup .copy').textContent()).replaceAll(/\s/g, '')
  const code = () => {
    t.clock.advance(30_000)
    return codeOf(fromBase32(key), Math.floor(t.clock.now() / 30_000))
  }
  await dialog.getByLabel('Code from the app').fill(code())
  await dialog.getByRole('button', { name: 'Turn on' }).click()
  expect(String(await dialog.locator('pre').textContent()).split('\n')).toHaveLength(10)
  await dialog.getByRole('button', { name: 'I have saved the codes' }).click()
  await page.getByText('10 recovery codes left').waitFor()
  return code
}

test('a page whose session was ended elsewhere asks for password and code, and keeps all typed text', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await page.goto(`${t.address}/account/security`)
  await page.getByLabel('New password').fill(PASSWORD)
  await button(page, 'Choose a password').click()
  await page.getByText('Your password has been changed.').waitFor()
  const code = await setUpTwoFactor(t, page)
  const email = (await page.locator('.who').getAttribute('title')) ?? ''
  await page.getByRole('link', { name: 'Projects' }).click()
  await button(page, 'New project').click()
  await page.getByLabel('Name', { exact: true }).fill('shop')
  const other = openBrowser(t)
  const { ticket } = (await other.call('POST', '/sign-in', { email, password: PASSWORD })).body
  await other.call('POST', '/sign-in/two-factor', { ticket, code: code() })
  const { items } = (await other.call('GET', '/account/sessions')).body
  const first = items.find(({ is_current }: { is_current: boolean }) => !is_current)
  await other.call('DELETE', `/account/sessions/${first.session_id}`)
  await page.getByRole('dialog').getByRole('button', { name: 'New project' }).click()
  const again = page.getByRole('dialog', { name: 'Your session has ended' })
  await again.getByLabel('Password').fill(PASSWORD)
  await again.getByLabel('E-mail').fill(email)
  await again.getByRole('button', { name: 'Sign in' }).click()
  await again.getByLabel('Code').fill(code())
  await again.getByRole('button', { name: 'Sign in' }).click()
  await again.waitFor({ state: 'detached' })
  await page.getByRole('dialog').getByRole('button', { name: 'New project' }).click()
  await page.getByRole('link', { name: 'shop' }).waitFor()
})

test('berth on a terminal logs in once its code is typed into the page and approved', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  const home = mkdtempSync(path.join(tmpdir(), 'berth-browser-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const berth = screenOf(`login ${t.address}`, { HOME: home, XDG_CONFIG_HOME: home })
  await berth.shows('Waiting for your approval')
  const [, code = ''] = /enter the code (\S+)/.exec(berth.text()) ?? []
  await page.goto(`${t.address}/device`)
  await page.getByLabel('Code').fill(code.toLowerCase())
  await button(page, 'Next').click()
  await page.getByText('127.0.0.1 (your current network)').waitFor()
  await page.getByText('Everything that your role (owner) allows').waitFor()
  await page.getByText('Approve only a login that you started yourself').waitFor()
  await button(page, 'Approve').click()
  await page.getByRole('heading', { name: 'Approved' }).waitFor()
  await berth.shows('Logged in as customer1@example.com.')
  expect(await berth.ended()).toBe(0)
})

test('a passkey is added by clicking, replaces password and code at sign-in, and is removed', async () => {
  const t = await serveConsole()
  const page = await t.open(browser, {}, t.site)
  const device = await page.context().newCDPSession(page)
  await device.send('WebAuthn.enable')
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  } as const
  await device.send('WebAuthn.addVirtualAuthenticator', { options })
  await page.goto(`${t.site}/account/security`)
  await button(page, 'Add a passkey').click()
  await page.getByRole('dialog').getByLabel('Name').fill('Phone')
  await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click()
  await page.getByText('on one device').waitFor()
  // The code replaces both factors.
  const [passkey] = await t.db.selectFrom('passkeys').selectAll().execute()
  const factor = { person_id: passkey?.person_id ?? '', secret: '', last_step: 0, created_at: 0 }
  await t.db
    .insertInto('two_factors')
    .values({ ...factor, enabled_at: 1 })
    .execute()
  const spare = { person_id: factor.person_id, hash: hashSecret('spare') }
  await t.db.insertInto('recovery_codes').values(spare).execute()
  await page.locator('.signed-in').getByRole('button', { name: 'Sign out' }).click()
  await button(page, 'Sign in with a passkey').click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.goto(`${t.site}/account/security`)
  await button(page, /Phone/).click()
  await page.getByRole('menuitem', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByLabel('Code').fill('spare')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('A passkey signs you in with the fingerprint').waitFor()
})

/** Opens a page of a person who has signed in with a provider. */
async function byProvider() {
  const provider = await openProvider(() => t.site)
  const t = await serveConsole({ oidc: provider.oidc })
  provider.be('ann')
  provider.people.set('ann', { email: 'ann@example.com', email_verified: true, name: 'Ann' })
  const page = await t.open(browser, {}, t.site)
  await page.locator('.signed-in').getByRole('button', { name: 'Sign out' }).click()
  await button(page, 'Continue with 127.0.0.1').click()
  return { t, page }
}

test('a person signs in with a provider by a single click, and can disconnect it', async () => {
  const { t, page } = await byProvider()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByTitle('ann@example.com').waitFor()
  await page.goto(`${t.site}/account/security`)
  await button(page, 'Disconnect').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click()
  // Until it closes, the dialog has a button of the same name.
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await button(page, 'Disconnect').waitFor({ state: 'detached' })
  // From here on, a person with this address has signed up.
  await page.locator('.signed-in').getByRole('button', { name: 'Sign out' }).click()
  await button(page, 'Continue with 127.0.0.1').click()
  await page.getByText('Sign in as usual once').waitFor()
  await page.goto(`${t.site}/sign-in/provider?code=slipped&state=x`)
  await page.getByText('This sign-in was not started in this tab').waitFor()
})

test('a person whose session has ended signs in with the provider in another tab, and loses nothing they typed', async () => {
  const { t, page } = await byProvider()
  await page.getByRole('link', { name: 'Projects' }).click()
  await button(page, 'New project').click()
  await page.getByLabel('Name', { exact: true }).fill('shop')
  await t.db.deleteFrom('sessions').execute()
  await page.getByRole('dialog').getByRole('button', { name: 'New project' }).click()
  const opened = page.context().waitForEvent('page')
  await page.getByRole('link', { name: 'Sign in with 127.0.0.1 in another tab' }).click()
  const other = await opened
  await button(other, 'Continue with 127.0.0.1').click()
  await other.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.bringToFront()
  // A window of a test is never hidden, so the page's event is sent by hand.
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ state: 'detached' })
  await page.getByRole('dialog').getByRole('button', { name: 'New project' }).click()
  await page.getByRole('link', { name: 'shop' }).waitFor()
})

test('a dialog has the focus in its field as soon as it opens, and Enter submits it', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await page.getByRole('link', { name: 'Projects' }).click()
  await button(page, 'New project').click()
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('shop')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'shop' }).waitFor()
})

test('a person changes their address by a link in a mail, and deletes their account, by clicking', async () => {
  const t = await serveConsole()
  const page = await t.open(browser)
  await page.goto(`${t.address}/account/security`)
  const dialog = page.getByRole('dialog')
  await button(page, 'Change address').click()
  await dialog.getByLabel('New address').fill('ann@new.example')
  await dialog.getByRole('button', { name: 'Send the link' }).click()
  await dialog.getByText('An e-mail is on its way to ann@new.example').waitFor()
  const token = await linkTo(t, 'ann@new.example')
  // A person who is not signed in signs in first.
  const elsewhere = await page.context().browser()?.newPage()
  await elsewhere?.goto(`${t.address}/email#${token}`)
  await elsewhere?.getByText('Sign in with your current address first.').waitFor()
  await elsewhere?.close()
  await page.goto(`${t.address}/email#${token}`)
  await button(page, 'Confirm the address').click()
  await page.getByText('Your address has been changed.').waitFor()
  await page.getByRole('link', { name: 'Security' }).click()
  await page.getByTitle('ann@new.example').waitFor()
  await button(page, 'Delete your profile').click()
  await dialog.getByLabel('Type ann@new.example to confirm').fill('ann@new.example')
  await dialog.getByRole('button', { name: 'Delete your profile' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(await t.db.selectFrom('people').selectAll().execute()).toEqual([])
})

test('a viewer invited by mail sees the servers but cannot start them; once removed, they can sign out', async () => {
  const t = await serveConsole()
  const id = await make(t, { name: 'web-1' })
  await t.call('POST', `/servers/${id}/stop`)
  const owner = await t.open(browser)
  await owner.getByRole('link', { name: 'Members' }).click()
  await button(owner, 'Invite member').click()
  const form = owner.getByRole('dialog')
  await form.getByLabel('E-mail').fill('bob@example.com')
  await form.getByLabel('Role').selectOption('viewer')
  await form.getByRole('button', { name: 'Invite member' }).click()
  await owner.getByText('bob@example.com').waitFor()

  const page = await openMail(t, '/invitation', 'bob@example.com')
  await page.getByText(/^bob@example.com is invited to ./).waitFor()
  await button(page, 'Accept the invitation').click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByTitle('bob@example.com').waitFor()
  await page.getByRole('link', { name: 'Servers', exact: true }).click()
  await page.getByRole('link', { name: 'web-1' }).click()
  await status(page, 'Stopped').waitFor()
  await status(page, 'View only').waitFor()
  expect(await button(page, /Start|Reboot|Delete/).count()).toBe(0)
  await page.getByRole('link', { name: 'Settings' }).click()
  expect(await button(page, 'Delete server').isDisabled()).toBe(true)
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Search pages, servers and actions').fill('start')
  await page.getByText('Nothing found').waitFor()
  const refused = await page.evaluate(async (path) => {
    const reply = await fetch(path, { method: 'POST' })
    return `${reply.status} ${JSON.parse(await reply.text()).code}`
  }, `/v1/servers/${id}/start`)
  expect(refused).toBe('403 insufficient_scope')

  await owner.getByRole('button', { name: 'bob', exact: true }).click()
  await owner.getByRole('menuitem', { name: 'Change the role' }).click()
  await owner.getByRole('dialog').getByLabel('Role').selectOption('member')
  await owner.getByRole('dialog').getByRole('button', { name: 'Change the role' }).click()
  await page.goto(`${t.address}/servers/${id}`)
  await button(page, 'Start').click()
  await status(page, 'Running').waitFor()

  await owner.getByRole('button', { name: 'bob', exact: true }).click()
  await owner.getByRole('menuitem', { name: 'Remove' }).click()
  await owner.getByRole('dialog').getByRole('textbox').fill('bob@example.com')
  await owner.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await owner.getByRole('cell', { name: 'bob@example.com' }).waitFor({ state: 'detached' })
  // The page redirects by itself once a request is refused.
  await page.getByText('You are signed in, but are not a member of any account').waitFor()
  await button(page, 'Sign out').click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
})

test('two tabs can be in two accounts at once, and neither shows data of the other', async () => {
  const t = await serveConsole()
  const id = await make(t, { name: 'web-1' })
  const one = await t.open(browser)
  const { person_id: personId } = await t.db.selectFrom('people').selectAll().executeTakeFirstOrThrow()
  const accountId = await t.makeAccount()
  await addMember(t.db, t.clock, { accountId, personId, role: 'owner' })
  const two = await one.context().newPage()
  await two.goto(t.address)
  await two.getByLabel('Account', { exact: true }).selectOption('Customer 2')
  await expect.poll(() => two.getByLabel('Account', { exact: true }).inputValue()).toBe(accountId)
  await two.getByRole('link', { name: 'Projects' }).click()
  await one.getByRole('link', { name: 'Projects' }).click()
  for (const [page, name] of [
    [one, 'of one'],
    [two, 'of two'],
  ] as const) {
    await button(page, 'New project').click()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByRole('dialog').getByRole('button', { name: 'New project' }).click()
    await page.getByRole('link', { name }).waitFor()
  }
  await one.reload()
  await one.getByRole('link', { name: 'of one' }).waitFor()
  expect(await one.getByText('of two').count()).toBe(0)
  expect(await two.getByText('of one').count()).toBe(0)
  const names = (await t.call('GET', '/account/projects')).body.items.map(
    ({ name }: { name: string }) => name,
  )
  expect(names).toEqual(['of one', 'Default'])
  await two.goto(`${t.address}/servers/${id}/network`)
  await two.getByText('This server has been deleted.').waitFor()
  expect(await two.getByText('web-1').count()).toBe(0)
})

test('networks, firewalls and addresses are created, attached to a server and detached by clicking', async () => {
  const t = await serveConsole({ catalog: catalogWith('public_ipv4: [203.0.113.0/28]') })
  await make(t, { name: 'web-1', enable_ipv4: false })
  const page = await t.open(browser)
  const dialog = page.getByRole('dialog')
  await page.getByRole('link', { name: 'Networks' }).click()
  await button(page, 'New network').click()
  await dialog.getByLabel('Name', { exact: true }).fill('backend')
  await dialog.getByRole('button', { name: 'New network' }).click()
  await page.getByRole('link', { name: 'backend' }).click()
  await page.getByLabel('Attach a server').selectOption('web-1')
  await button(page, 'Attach').click()
  await page.getByText('10.1.0.2').waitFor()
  await button(page, 'Detach').click()
  await dialog.getByRole('button', { name: 'Detach' }).click()
  await page.getByText('No servers here yet.').waitFor()

  await page.getByRole('link', { name: 'Firewalls' }).click()
  await button(page, 'New firewall').click()
  await dialog.getByLabel('Name', { exact: true }).fill('web')
  await dialog.getByRole('button', { name: 'New firewall' }).click()
  await page.getByText('2 rules').waitFor()
  await button(page, 'Add a rule').click()
  await page.getByLabel('Ports of rule 3').fill('99999')
  await button(page, 'Save rules').click()
  await page.getByText(/must be from 1 to 65535/).waitFor()
  await page.getByLabel('Ports of rule 3').fill('8000-9000')
  await page.getByLabel('From or to of rule 3').fill('203.0.113.7')
  await button(page, 'Save rules').click()
  await page.getByText('3 rules').waitFor()
  expect(await page.getByLabel('From or to of rule 3').inputValue()).toBe('203.0.113.7/32')
  await page.getByLabel('Attach a server').selectOption('web-1')
  await button(page, 'Attach').click()
  await page.getByRole('link', { name: 'web-1' }).click()
  await page.getByRole('region', { name: 'Firewalls' }).getByRole('link', { name: 'web' }).first().waitFor()

  await page.getByRole('link', { name: 'Addresses' }).click()
  await button(page, 'Reserve an address').click()
  await dialog.getByRole('button', { name: 'Reserve an address' }).click()
  await page.getByText('No server').waitFor()
  const chosen = async (name: string) => {
    await button(page, /^Actions for 203/).click()
    await page.getByRole('menuitem', { name }).click()
  }
  await chosen('Move to a server')
  await dialog.getByLabel('Server').selectOption('web-1')
  await dialog.getByRole('button', { name: 'Move to a server' }).click()
  await page.getByRole('link', { name: 'web-1' }).waitFor()
  await chosen('Reverse DNS')
  await dialog.getByLabel('Reverse DNS').fill('web.example.com')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('web.example.com').waitFor()
  await chosen('Unassign')
  await page.getByText('No server').waitFor()
  await chosen('Release')
  const [{ address }] = (await t.call('GET', '/addresses')).body.items
  await dialog.getByLabel(/^Type/).fill(address)
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No addresses').waitFor()
})

/** Attacks that a foreign page tries on the console of a signed-in visitor. */
const HOSTILE = (berth: string, id: string, ticket: string) => `<title>Hostile</title>
<iframe name="reply"></iframe><iframe name="frame" src="${berth}/servers/${id}"></iframe>
<form method="post" action="${berth}/v1/servers/${id}/stop" enctype="text/plain" target="reply">
  <input name='{"force":true,"x":"' value='"}'>
</form>
<script type="module">
  const tried = []
  const note = (name) => (value) => tried.push(name + ': ' + value)
  document.forms[0].submit()
  const stop = '${berth}/v1/servers/${id}/stop'
  const options = { method: 'POST', credentials: 'include' }
  await fetch(stop, { ...options, mode: 'no-cors' }).then((reply) => note('blind')(reply.type), () => note('blind')('failed'))
  const json = { 'content-type': 'application/json' }
  await fetch(stop, { ...options, headers: json, body: '{"force":true}' }).then(() => note('json')('answered'), () => note('json')('failed'))
  await fetch('${berth}/v1/servers', { credentials: 'include' }).then(() => note('read')('answered'), () => note('read')('failed'))
  await new Promise((resolve) => {
    const socket = new WebSocket('${berth.replace('http', 'ws')}/v1/console', ['berth.console.v1', '${ticket}'])
    socket.onopen = () => resolve(note('socket')('opened'))
    socket.onerror = () => resolve(note('socket')('failed'))
  })
  globalThis.tried = tried
</script>`

test('a page of another origin cannot misuse the session of a signed-in visitor', async () => {
  const t = await serveConsole()
  const id = await make(t, { name: 'web-1' })
  const page = await t.open(browser)
  const ticket: string = await page.evaluate(async (path) => {
    const reply = await fetch(path, { method: 'POST' })
    return JSON.parse(await reply.text()).ticket
  }, `/v1/servers/${id}/console`)
  const evil = createServer((_request, reply) =>
    reply.setHeader('content-type', 'text/html').end(HOSTILE(t.address, id, ticket)),
  )
  await new Promise<void>((resolve) => void evil.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void evil.close())
  const { port } = evil.address() as AddressInfo // it listens on a port
  const visited = await page.context().newPage()
  // One attacker is on the same site, to which browsers send even SameSite cookies; the other is not.
  for (const host of ['127.0.0.1', 'localhost']) {
    await visited.goto(`http://${host}:${port}/`)
    await visited.waitForFunction('globalThis.tried')
    const tried = await visited.evaluate('globalThis.tried')
    expect(tried).toEqual(['blind: opaque', 'json: failed', 'read: failed', 'socket: failed'])
    // The browser replaces a page that may not be framed with its own error page.
    const framed = visited.frames().map((frame) => frame.url())
    expect(framed.filter((url) => url.includes('/servers/') && !url.includes('/v1/'))).toEqual([])
  }
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('running')
  const { items } = (await t.call('GET', `/servers/${id}/operations`)).body
  expect(items.map(({ type }: { type: string }) => type)).toEqual(['create'])
})
