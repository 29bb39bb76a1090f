import pino from 'pino'
import { expect, test } from 'vitest'
import { codeOf } from '../../../api/people/two-factor/totp.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { fromBase32, linkTo, openBrowser, PASSWORD, signUp } from '../harness/browser.ts'

const EMAIL = 'ann@example.com'
const entry = { email: EMAIL, password: PASSWORD }
const outcome = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]
const WRONG = '000000'

/** A person whose app shows codes. */
async function withTwoFactor(options: Parameters<typeof testApp>[0] = {}) {
  const t = await testApp(options)
  const ann = await signUp(t, EMAIL)
  const begun = await ann.call('POST', '/person/two-factor', { password: PASSWORD })
  const secret = fromBase32(begun.body.secret)
  /** The app's next code; each further one belongs to the next 30 seconds. */
  const code = () => {
    t.clock.advance(30_000)
    return codeOf(secret, Math.floor(t.clock.now() / 30_000))
  }
  const confirmed = await ann.call('POST', '/person/two-factor/confirm', { code: code() })
  expect(confirmed.status).toBe(200)
  const recoveryCodes: string[] = confirmed.body.recovery_codes
  return { t, ann, secret, code, recoveryCodes, begun: begun.body }
}

async function ticketFor(t: TestApp, browser = openBrowser(t)): Promise<string> {
  const { body } = await browser.call('POST', '/sign-in', entry)
  expect(body).toMatchObject({ is_signed_in: false, person: null, ticket: expect.any(String) })
  return body.ticket
}

test('who has turned it on signs in with password and code, and neither secret nor codes are in the database', async () => {
  const { t, ann, secret, code, recoveryCodes, begun } = await withTwoFactor()
  expect(begun.uri).toContain(`otpauth://totp/localhost:ann%40example.com?secret=${begun.secret}`)
  expect(new Set(recoveryCodes).size).toBe(10)
  expect((await ann.call('GET', '/person')).body.two_factor).toMatchObject({ recovery_codes_left: 10 })
  const browser = openBrowser(t)
  const ticket = await ticketFor(t, browser)
  expect(browser.cookie()).toBe('')
  expect(outcome(await browser.call('GET', '/person'))).toEqual([401, 'missing_token'])
  const grouped = code().replace(/(...)/, '$1 ')
  const reply = await browser.call('POST', '/sign-in/two-factor', { ticket, code: grouped })
  expect(reply).toMatchObject({ status: 200, body: { is_signed_in: true, ticket: null } })
  expect((await browser.call('GET', '/person')).body.email).toBe(EMAIL)
  const rows = JSON.stringify([
    await t.db.selectFrom('two_factors').selectAll().execute(),
    await t.db.selectFrom('recovery_codes').selectAll().execute(),
  ])
  expect(rows).not.toContain(secret.toString('base64'))
  expect(rows).not.toContain(recoveryCodes[0]?.replaceAll('-', ''))
})

test('a code is taken once, also of two at the same moment, and so is a ticket', async () => {
  const { t, code } = await withTwoFactor()
  const { call } = openBrowser(t)
  const shown = code()
  const tickets = [await ticketFor(t), await ticketFor(t)]
  const both = await Promise.all(
    tickets.map((ticket) => call('POST', '/sign-in/two-factor', { ticket, code: shown })),
  )
  expect(both.map(outcome).sort()).toEqual([
    [200, undefined],
    [403, 'wrong_code'],
  ])
  const used = tickets[both.findIndex(({ status }) => status === 200)]
  const again = { ticket: used, code: code() }
  expect(outcome(await call('POST', '/sign-in/two-factor', again))).toEqual([403, 'ticket_invalid'])
})

test('a ticket is for one purpose and ten minutes, ends with a new password, and is nobody else’s to write', async () => {
  const { t, ann, code } = await withTwoFactor()
  const { call } = openBrowser(t)
  const use = async (ticket: string) =>
    outcome(await call('POST', '/sign-in/two-factor', { ticket, code: code() }))
  const late = await ticketFor(t)
  t.clock.advance(10 * 60_000)
  const invalid = [403, 'ticket_invalid']
  expect(await use(late)).toEqual(invalid)
  const ticket = await ticketFor(t)
  const forged = Buffer.from(ticket, 'base64')
  forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1
  expect(await use(forged.toString('base64'))).toEqual(invalid)
  for (const nonsense of ['x', ann.cookie(), 'e30=']) expect(await use(nonsense)).toEqual(invalid)
  const change = { current_password: PASSWORD, new_password: 'nine green lamps', code: code() }
  expect((await ann.call('POST', '/person/password', change)).status).toBe(204)
  expect(await use(ticket)).toEqual(invalid)
})

test('a recovery code signs in once, also of two at the same moment; its owner hears of it', async () => {
  const { t, recoveryCodes } = await withTwoFactor()
  const browsers = [openBrowser(t), openBrowser(t)]
  const tickets = [await ticketFor(t), await ticketFor(t)]
  const both = await Promise.all(
    browsers.map(({ call }, at) =>
      call('POST', '/sign-in/two-factor', { ticket: tickets[at], code: recoveryCodes[0] }),
    ),
  )
  expect(both.map(outcome).sort()).toEqual([
    [200, undefined],
    [403, 'wrong_code'],
  ])
  const first = both.find(({ status }) => status === 200)
  expect(first?.body.person.two_factor.recovery_codes_left).toBe(9)
  await t.app.mails.look()
  expect(t.mails.at(-1)).toMatchObject({ to: EMAIL, subject: 'A recovery code was used at localhost' })
})

test('wrong codes are counted over all tickets and networks; a recovery code still opens', async () => {
  const { t, code, recoveryCodes } = await withTwoFactor({ trustProxy: ['127.0.0.1/32'] })
  const { call } = openBrowser(t)
  const attempt = async (shown: string, n: number) => {
    const from = { 'x-forwarded-for': `198.51.100.${n}` }
    const { body } = await call('POST', '/sign-in', entry, from)
    return call('POST', '/sign-in/two-factor', { ticket: body.ticket, code: shown }, from)
  }
  for (let n = 0; n < 10; n += 1) expect(outcome(await attempt(WRONG, n))).toEqual([403, 'wrong_code'])
  const refused = await attempt(code(), 11)
  expect([...outcome(refused), refused.headers['retry-after']]).toEqual([429, 'rate_limited', '3570'])
  expect((await attempt(recoveryCodes[3] ?? '', 12)).status).toBe(200)
  t.clock.advance(3600_000)
  expect((await attempt(code(), 13)).status).toBe(200)
})

test('the links of the operator and of a reset are one factor: the second one stays', async () => {
  const { t, code } = await withTwoFactor()
  const browser = openBrowser(t)
  await browser.call('POST', '/password-reset', { email: EMAIL })
  const reset = { token: await linkTo(t, EMAIL), password: 'nine green lamps' }
  const reply = await browser.call('POST', '/password-reset/complete', reset)
  expect(reply).toMatchObject({ status: 200, body: { is_signed_in: false, person: null } })
  expect(browser.cookie()).toBe('')
  const { ticket } = reply.body
  expect((await browser.call('POST', '/sign-in/two-factor', { ticket, code: code() })).status).toBe(200)
})

test('it is set up, changed and turned off by who shows the password again, never by a session alone or a token', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  expect(outcome(await t.call('POST', '/person/two-factor', {}))).toEqual([403, 'person_required'])
  expect(outcome(await ann.call('POST', '/person/two-factor', {}))).toEqual([422, 'validation_failed'])
  const wrong = { password: 'wrong' }
  for (let n = 0; n < 20; n += 1) {
    const reply = await ann.call('POST', '/person/two-factor', wrong)
    expect(outcome(reply)).toEqual(n < 19 ? [403, 'wrong_password'] : [429, 'rate_limited'])
  }
})

test('a person without a password sets it up soon after she has signed in', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  await t.db.updateTable('people').set({ password: null }).execute()
  expect((await ann.call('POST', '/person/two-factor', {})).status).toBe(200)
  t.clock.advance(10 * 60_000)
  for (const path of ['/person/two-factor', '/person/password'])
    expect(outcome(await ann.call('POST', path, { new_password: 'nine green lamps' }))).toEqual(
      path === '/person/password' ? [403, 'sign_in_again'] : [422, 'validation_failed'],
    )
  expect(outcome(await ann.call('POST', '/person/two-factor', {}))).toEqual([403, 'sign_in_again'])
})

test('nothing is on before a first code, which comes within an hour; then there is one app and no second', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  const begin = async () => {
    const { body } = await ann.call('POST', '/person/two-factor', { password: PASSWORD })
    return fromBase32(body.secret)
  }
  const confirm = async (secret: Buffer) =>
    outcome(
      await ann.call('POST', '/person/two-factor/confirm', {
        code: codeOf(secret, Math.floor(t.clock.now() / 30_000)),
      }),
    )
  const first = await begin()
  expect((await openBrowser(t).call('POST', '/sign-in', entry)).body.is_signed_in).toBe(true)
  const second = await begin()
  expect(await confirm(first)).toEqual([403, 'wrong_code'])
  t.clock.advance(3600_000)
  expect(await confirm(second)).toEqual([403, 'wrong_code'])
  const third = await begin()
  const both = await Promise.all([confirm(third), confirm(third)])
  expect(both.sort()).toEqual([
    [200, undefined],
    [403, 'wrong_code'],
  ])
  expect(outcome(await ann.call('POST', '/person/two-factor', { password: PASSWORD }))).toEqual([
    409,
    'two_factor_on',
  ])
})

test('each change ends other sessions, is in the audit and the security log, and is mailed in her language', async () => {
  const lines: string[] = []
  const securityLog = pino({}, { write: (line: string) => void lines.push(line) })
  const { t, ann, code, recoveryCodes } = await withTwoFactor({ securityLog })
  const elsewhere = openBrowser(t)
  const ticket = await ticketFor(t)
  await elsewhere.call('POST', '/sign-in/two-factor', { ticket, code: code() })
  await ann.call('PATCH', '/person', { language: 'ru' })
  const fresh = await ann.call('POST', '/person/two-factor/recovery-codes', {
    password: PASSWORD,
    code: code(),
  })
  expect(fresh.body.recovery_codes).toHaveLength(10)
  const off = (shown: string | undefined) =>
    ann.call('POST', '/person/two-factor/disable', { password: PASSWORD, code: shown })
  expect(outcome(await off(recoveryCodes[0]))).toEqual([403, 'wrong_code'])
  expect((await off(fresh.body.recovery_codes[0])).status).toBe(204)
  expect(outcome(await off(fresh.body.recovery_codes[1]))).toEqual([409, 'two_factor_off'])
  expect(outcome(await elsewhere.call('GET', '/person'))).toEqual([401, 'session_ended'])
  expect((await openBrowser(t).call('POST', '/sign-in', entry)).body.is_signed_in).toBe(true)
  await t.app.mails.look()
  expect(t.mails.slice(1).map(({ subject }) => subject)).toEqual([
    'Two-factor authentication is on at localhost',
    'Коды восстановления для localhost заменены',
    'Использован код восстановления на localhost',
    'Двухфакторная аутентификация на localhost отключена',
  ])
  const { items } = (await ann.call('GET', '/account/audit')).body
  expect(items.map(({ action }: { action: string }) => action).slice(0, 3)).toEqual([
    'disableTwoFactor',
    'replaceRecoveryCodes',
    'confirmTwoFactor',
  ])
  expect(items[0]).toMatchObject({ object_type: 'person', person_email: EMAIL })
  await t.app.security.stop()
  const events = lines.map((line) => JSON.parse(line).event)
  for (const event of ['two_factor_on', 'recovery_codes_replaced', 'two_factor_off'])
    expect(events).toContain(event)
  for (const secret of [...recoveryCodes, ...fresh.body.recovery_codes])
    expect(lines.join()).not.toContain(secret)
})

test('used tickets are forgotten when they would not be valid anyway', async () => {
  const { t, code } = await withTwoFactor()
  const { call } = openBrowser(t)
  await call('POST', '/sign-in/two-factor', { ticket: await ticketFor(t), code: code() })
  const count = async () => (await t.db.selectFrom('spent_tickets').selectAll().execute()).length
  await t.app.retention.look()
  expect(await count()).toBe(1)
  t.clock.advance(10 * 60_000)
  await t.app.retention.look()
  expect(await count()).toBe(0)
})

test('a stolen session with the password changes no password without the second factor', async () => {
  const { ann, code, t } = await withTwoFactor()
  const change = { current_password: PASSWORD, new_password: 'nine green lamps' }
  const ask = async (more: object) =>
    outcome(await ann.call('POST', '/person/password', { ...change, ...more }))
  expect(await ask({})).toEqual([422, 'validation_failed'])
  expect(await ask({ code: WRONG })).toEqual([403, 'wrong_code'])
  expect((await openBrowser(t).call('POST', '/sign-in', entry)).status).toBe(200)
  expect(await ask({ code: code() })).toEqual([204, undefined])
  expect(outcome(await openBrowser(t).call('POST', '/sign-in', entry))).toEqual([401, 'sign_in_failed'])
})
