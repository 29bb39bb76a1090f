import { createLink } from '../../../api/people/person/links.ts'
import { setOperator } from '../../../api/people/person/people.ts'
import { codeOf } from '../../../api/people/two-factor/totp.ts'
import { type Call, type TestApp, testApp } from '../../harness/app.ts'
import { fromBase32, linkTo, openBrowser, PASSWORD, signUp } from '../harness/browser.ts'
import { order } from '../harness/ordering.ts'
import { authenticator } from '../harness/passkey.ts'
import { openProvider } from '../harness/provider.ts'
import type { Meter } from './meter.ts'

const EMAIL = 'ann@example.com'
const proof = { password: PASSWORD }

/** A browser whose requests are noted, at a page where nobody is signed in. */
function visitor(meter: Meter, t: TestApp) {
  return openBrowser({ callAs: (token) => meter.measured(t, t.callAs(token), null) })
}

async function signedIn(meter: Meter, t: TestApp, email: string) {
  const person = await signUp({ ...t, callAs: (token) => meter.measured(t, t.callAs(token), null) }, email)
  return { ...person, call: meter.measured(t, person.call, '/person') }
}

/** Uses the routes by which people sign up and in, and prove who they are. */
export async function walkPeople(meter: Meter): Promise<void> {
  const provider = await openProvider()
  const t = await testApp({ oidc: provider.oidc })
  const ann = await signedIn(meter, t, EMAIL)
  await meter.note('send the mails that are due: none', () => t.app.mails.look())
  const browser = visitor(meter, t)
  await browser.call('GET', '/sign-in/options')
  await browser.call('POST', '/sign-in', { email: EMAIL, ...proof })
  await browser.call('POST', '/sign-out')

  await ann.call('GET', '/person')
  await ann.call('PATCH', '/person', { name: 'Anna' })
  await ann.call('POST', '/person/account', { account_id: ann.person.account_id })
  await walkPasskeys(t, ann.call, browser.call)
  await walkProvider(t, provider, { person: ann.call, stranger: browser.call })

  await ann.call('POST', '/person/email', { email: 'anna@example.com', ...proof })
  await ann.call('POST', '/person/email/confirm', { token: await linkTo(t, 'anna@example.com') })
  await ann.call('POST', '/person/password', { current_password: PASSWORD, new_password: 'nine green lamps' })
  await browser.call('POST', '/password-reset', { email: 'anna@example.com' })
  const token = await linkTo(t, 'anna@example.com')
  await browser.call('POST', '/password-reset/complete', { token, password: PASSWORD })

  const link = { purpose: 'sign_in', email: 'anna@example.com', language: 'en' } as const
  const secret = await createLink(t.db, t.clock, { ...link, person_id: ann.person.person_id })
  await browser.call('POST', '/sign-in/link', { token: secret })
  await walkTwoFactor(t, meter)
  await walkDevices(t, await signedIn(meter, t, 'dora@example.com'), visitor(meter, t).call)
  const last = await signedIn(meter, t, 'eve@example.com')
  await last.call('POST', '/person/delete', proof)
}

async function walkPasskeys(t: TestApp, call: Call, stranger: Call): Promise<void> {
  const device = authenticator()
  const { body } = await call('POST', '/person/passkey-challenge', proof)
  const key = { ticket: body.ticket, name: 'Phone', ...device.make(body.challenge) }
  const { passkey_id } = (await call('POST', '/person/passkeys', key)).body
  const begun = (await stranger('POST', '/sign-in/passkey-challenge')).body
  await stranger('POST', '/sign-in/passkey', { ticket: begun.ticket, ...device.sign(begun.challenge) })
  await call('GET', '/person/passkeys')
  await call('PATCH', `/person/passkeys/${passkey_id}`, { name: 'Old phone' })
  await call('POST', `/person/passkeys/${passkey_id}/delete`, proof)
  await t.app.mails.look()
}

type Provider = Awaited<ReturnType<typeof openProvider>>

async function walkProvider(
  t: TestApp,
  provider: Provider,
  { person, stranger }: { person: Call; stranger: Call },
): Promise<void> {
  provider.people.set('ann', { email: EMAIL, email_verified: true, name: 'Ann' })
  const { url, ticket } = (await stranger('POST', '/sign-in/provider/begin')).body
  const answer = await provider.visit(url, 'ann')
  const { identity_ticket } = (await stranger('POST', '/sign-in/provider', { ticket, answer })).body
  await person('POST', '/person/identity', { identity_ticket })
  await person('POST', '/person/identity/delete', proof)
  await t.app.mails.look()
}

async function walkTwoFactor(t: TestApp, meter: Meter): Promise<void> {
  const email = 'carl@example.com'
  const { call } = await signedIn(meter, t, email)
  const { secret } = (await call('POST', '/person/two-factor', proof)).body
  const code = () => {
    t.clock.advance(30_000)
    return codeOf(fromBase32(secret), Math.floor(t.clock.now() / 30_000))
  }
  await call('POST', '/person/two-factor/confirm', { code: code() })
  await call('POST', '/person/two-factor/recovery-codes', { ...proof, code: code() })
  const browser = visitor(meter, t)
  const { ticket } = (await browser.call('POST', '/sign-in', { email, ...proof })).body
  await browser.call('POST', '/sign-in/two-factor', { ticket, code: code() })
  await call('POST', '/person/two-factor/disable', { ...proof, code: code() })
}

async function walkDevices(
  t: TestApp,
  { call, person }: Awaited<ReturnType<typeof signedIn>>,
  program: Call,
): Promise<void> {
  const start = async () => (await program('POST', '/device', { client_name: 'berth on laptop' })).body
  const denied = await start()
  await call('POST', '/device/look', { user_code: denied.user_code })
  await call('POST', '/device/deny', { user_code: denied.user_code })
  const { user_code, device_code } = await start()
  await call('POST', '/device/approve', { user_code, account_id: person.account_id })
  await program('POST', '/device/token', { device_code })
  await t.app.mails.look()
}

/** Uses the routes of an account's members, and of operators. */
export async function walkMembers(meter: Meter): Promise<void> {
  const t = await testApp()
  const ann = await signedIn(meter, t, EMAIL)
  const invite = async (email: string) => {
    await ann.call('POST', '/account/invitations', { email, role: 'admin' })
    return linkTo(t, email)
  }
  await invite('nobody@example.com')
  const { items } = (await ann.call('GET', '/account/invitations')).body
  await ann.call('DELETE', `/account/invitations/${items[0].invitation_id}`)
  const guests = await Promise.all(['bob@example.com', 'carl@example.com'].map((email) => signUp(t, email)))
  for (const guest of guests) {
    const token = await invite(guest.person.email)
    await meter.measured(t, t.callAs(null), null)('POST', '/invitations/look', { token })
    await meter.measured(t, guest.call, '/person')('POST', '/invitations/accept', { token })
  }
  const members = (await ann.call('GET', '/account/members')).body.items
  const idOf = (email: string) => members.find((one: { email: string }) => one.email === email).member_id
  await ann.call('PATCH', `/account/members/${idOf('bob@example.com')}`, { role: 'viewer' })
  await ann.call('DELETE', `/account/members/${idOf('bob@example.com')}`)
  const leaving = meter.measured(t, guests[1]?.call ?? ann.call, '/person')
  await leaving('POST', '/person/leave', { account_id: ann.person.account_id })
  await openBrowser(t).call('POST', '/sign-in', { email: EMAIL, ...proof })
  const sessions = (await ann.call('GET', '/account/sessions')).body.items
  const other = sessions.find((one: { is_current: boolean }) => !one.is_current)
  await ann.call('DELETE', `/account/sessions/${other.session_id}`)
  await t.app.mails.look()
  await walkOperators(meter, t)
}

async function walkOperators(meter: Meter, t: TestApp): Promise<void> {
  const { call, person } = await signedIn(meter, t, 'olga@example.com')
  await setOperator(t.db, person.person_id, true)
  const { secret } = (await call('POST', '/person/two-factor', proof)).body
  const code = codeOf(fromBase32(secret), Math.floor(t.clock.now() / 30_000))
  await call('POST', '/person/two-factor/confirm', { code })
  const account = `/operator/accounts/${t.accountId}`
  await call('POST', `${account}/suspend`, { reason: 'Sends spam' })
  await call('POST', `${account}/resume`, { reason: 'Mended' })
  await call('POST', `${account}/freeze`, { reason: 'Sends spam' })
  await call('POST', `${account}/resume`, { reason: 'Mended' })
  const credit = { amount: '5.00', type: 'payment', reason: 'Transfer', reference: 'bank-1' }
  await call('POST', `${account}/credit`, credit)
  for (const list of ['abuse', 'accounts', 'capacity', 'images', 'offsite', 'operations'])
    await call('GET', `/operator/${list}`)
  const text = { en: 'News.', ru: 'Новость.' }
  const { body } = await call('POST', '/operator/announcements', { kind: 'notice', text, zones: ['local-1'] })
  await meter.measured(t, t.call, '/account/me')('GET', '/announcements')
  await call('GET', '/operator/announcements')
  await call('GET', `/operator/announcements/${body.announcement_id}`)
  await call('PATCH', `/operator/announcements/${body.announcement_id}`, { kind: 'incident' })
  await call('POST', `/operator/announcements/${body.announcement_id}/end`)
  await walkComplaints(meter, t, call)
  const wanted = { email: 'shop@example.com', name: 'Ann', external_id: 'shop-1' }
  const opened = `/operator/accounts/${(await call('POST', '/operator/accounts', wanted)).body.account_id}`
  await call('GET', opened)
  await call('POST', `${opened}/limits`, {
    limits: {
      members: 50,
      projects: 50,
      ssh_keys: 100,
      tokens: 50,
      servers: 20,
      cpu: 64,
      ram_mb: 262144,
      disk_gb: 4096,
      webhooks: 20,
      ports: 20,
      addresses: 10,
      networks: 10,
      volumes: 20,
      volumes_gb: 4096,
      firewalls: 20,
      snapshots: 20,
      images: 10,
      isos: 10,
      image_files_gb: 200,
    },
    reason: 'Paid by bank transfer',
  })
  const prices = { price_percent: -10, preset_prices_rub: {}, reason: 'A contract' }
  await call('POST', `${opened}/prices`, prices)
  await call('POST', `${opened}/credit_limit`, { credit_limit_rub: '5000.00', reason: 'A contract' })
  await call('POST', `${opened}/login`)
  await call('PATCH', opened, { tags: ['reseller'], notes: 'Calls on Mondays' })
  await call('POST', `${opened}/tokens`, { name: 'shop', scopes: ['read'] })
  await walkOperatedServers(t, call)
  await call('POST', `${opened}/debit`, { ...credit, reference: 'back-1' })
  await call('POST', `${opened}/close`, { reason: 'Asked for it' })
}

/** Uses the operator's routes of servers. */
async function walkOperatedServers(t: TestApp, call: Call): Promise<void> {
  const wanted = await order(t.call, { name: 'web-1' })
  const { body } = await call('POST', `/operator/accounts/${t.accountId}/servers`, wanted)
  const server = `/operator/servers/${body.server_id}`
  const reason = { reason: 'Sends spam' }
  await t.finish()
  await call('GET', '/operator/servers')
  await call('GET', server)
  await call('POST', `${server}/suspend`, reason)
  await t.finish()
  await call('POST', `${server}/resume`, reason)
  for (const action of ['reboot', 'stop', 'start', 'reset_password', 'rescue', 'unrescue']) {
    await t.finish()
    const takesReason = ['reboot', 'stop', 'start'].includes(action)
    await call('POST', `${server}/${action}`, takesReason ? reason : undefined)
  }
  await t.finish()
  await call('POST', `${server}/rebuild`, { template: 'micro' })
  await t.finish()
  await call('PATCH', server, { name: 'web-2' })
  await call('POST', `${server}/stop`, { ...reason, force: true })
  await t.finish()
  await call('POST', `${server}/move`, { ...reason, account_id: await t.makeAccount() })
  await call('POST', `${server}/delete`, reason)
}

/** Uses the routes of complaints, as an operator and as the customer. */
async function walkComplaints(meter: Meter, t: TestApp, call: Call): Promise<void> {
  const customer = meter.measured(t, t.call, '/account/me')
  const opening = { kind: 'spam', text: 'A mailbox got spam.' }
  const { body } = await call('POST', `/operator/accounts/${t.accountId}/complaints`, opening)
  await meter.note('mail about the complaints that are due: one', () => t.app.complaintMails.look())
  const [own, one] = ['/account/complaints', '/operator/complaints'].map(
    (path) => `${path}/${body.complaint_id}`,
  )
  await customer('GET', '/account/complaints')
  await customer('GET', `${own}`)
  await customer('POST', `${own}/answers`, { text: 'Stopped.' })
  await call('GET', '/operator/complaints')
  await call('GET', `${one}`)
  await call('POST', `${one}/replies`, { text: 'Since when?' })
  await call('POST', `${one}/close`, { outcome: 'solved' })
}
