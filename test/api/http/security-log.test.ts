import pino from 'pino'
import { expect, test } from 'vitest'
import { Telemetry } from '../../../api/telemetry.ts'
import type { AppOptions } from '../../../api/wiring/options.ts'
import { testApp } from '../../harness/app.ts'
import { openBrowser, PASSWORD, signUp } from '../harness/browser.ts'
import { make, NOBODY } from '../harness/ordering.ts'

type Line = Record<string, unknown>

/** The service with what it writes to the security log, and all of its text. */
async function watched(options: Partial<AppOptions> = {}) {
  const text: string[] = []
  const securityLog = pino({ base: null }, { write: (line) => void text.push(line) })
  const t = await testApp({ securityLog, trustProxy: ['127.0.0.1/32'], ...options })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  /** The lines written since the last look. */
  const lines = (): Line[] => {
    const found = text.splice(0).map((line): Line => JSON.parse(line))
    for (const { log, level, time } of found)
      expect([log, level, typeof time]).toEqual(['security', 30, 'number'])
    return found
  }
  return { ...t, from, lines, text }
}

async function mint(t: Awaited<ReturnType<typeof watched>>, more: object = {}) {
  const body = { name: 'x', scopes: ['account:read', 'account:write'], ...more }
  const made = (await t.call('POST', '/account/tokens', body)).body
  t.lines()
  return made
}

test('each sign-in that fails is a line: which token of whom, from where, and the id that its reply has', async () => {
  const t = await watched()
  const revoked = await mint(t)
  const office = await mint(t, { cidrs: ['203.0.113.0/24'] })
  const expired = await mint(t, { expires_at: new Date(t.clock.now() + 1).toISOString() })
  await t.call('DELETE', `/account/tokens/${revoked.token_id}`)
  t.clock.advance(1)
  t.lines()
  const tries = [
    { token: 'berth_guess', code: 'invalid_token', token_id: null, account_id: null },
    { token: revoked.token, code: 'token_revoked', token_id: revoked.token_id, account_id: t.accountId },
    { token: expired.token, code: 'token_expired', token_id: expired.token_id, account_id: t.accountId },
    { token: office.token, code: 'address_not_allowed', token_id: office.token_id, account_id: t.accountId },
  ]
  for (const { token, ...said } of tries) {
    const { headers } = await t.callAs(token)('GET', '/servers', undefined, t.from('192.0.2.1'))
    const where = { action: 'listServers', address: '192.0.2.1', request_id: headers['x-request-id'] }
    expect(t.lines()).toMatchObject([{ event: 'sign_in_failed', ...said, ...where }])
  }
  await t.callAs('berth_guess')('GET', '/nowhere')
  expect(t.lines()).toMatchObject([{ event: 'sign_in_failed', code: 'invalid_token', action: 'none' }])
  // A request without a token is no failed attempt, and a successful sign-in is not logged.
  await t.callAs(null)('GET', '/servers')
  await t.call('GET', '/servers')
  expect(t.lines()).toEqual([])
})

test('refusals are lines: what a token or account may not do, and too many requests', async () => {
  const t = await watched({ rateLimits: { reads: 1e9, writes: 2, anonymous: 1 } })
  const reader = await t.makeToken(['account:read'])
  const write = async (token: string) =>
    (await t.callAs(token)('POST', '/account/projects', { name: 'x' }, t.from('192.0.2.1'))).body
  const { request_id } = await write(reader)
  const who = { account_id: t.accountId, address: '192.0.2.1', action: 'createProject' }
  expect(t.lines()).toMatchObject([
    { event: 'request_refused', code: 'insufficient_scope', request_id, ...who },
  ])
  await write(t.token)
  await write(t.token)
  expect(t.lines()).toEqual([])
  await write(t.token)
  expect(t.lines()).toMatchObject([{ event: 'request_refused', code: 'rate_limited', ...who }])
  t.clock.advance(60_000)
  await t.db.updateTable('accounts').set({ status: 'closed' }).execute()
  await write(t.token)
  expect(t.lines()).toMatchObject([{ code: 'account_suspended', ...who }])
  await t.callAs(null)('GET', '/nowhere', undefined, t.from('198.51.100.1'))
  await t.callAs(null)('GET', '/nowhere', undefined, t.from('198.51.100.1'))
  expect(t.lines()).toMatchObject([
    { event: 'request_refused', code: 'rate_limited', action: 'none', account_id: null, token_id: null },
  ])
})

test('secrets that are shown, also again to a repeat, and tokens that come and go are lines', async () => {
  const t = await watched()
  const id = await make(t)
  await t.call('GET', `/servers/${id}`)
  expect(t.lines()).toEqual([])
  const { ssh } = (await t.call('GET', `/servers/${id}/details`)).body
  expect(ssh.password).toMatch(/\S/)
  const shown = { event: 'secret_shown', code: null, account_id: t.accountId }
  expect(t.lines()).toMatchObject([{ ...shown, action: 'getServerDetails', object_id: id }])
  const reader = await t.makeToken(['servers:read'])
  await t.callAs(reader)('GET', `/servers/${id}/details`)
  expect(t.lines()).toEqual([])
  const body = { name: 'x', url: 'https://93.184.216.34/', event_types: ['*'] }
  const key = { 'idempotency-key': 'one' }
  const first = await t.call('POST', '/webhooks', body, key)
  const again = await t.call('POST', '/webhooks', body, key)
  expect(again.body.secret).toBe(first.body.secret)
  const ofWebhook = { ...shown, action: 'createWebhook', object_id: first.body.webhook_id }
  expect(t.lines()).toMatchObject([ofWebhook, ofWebhook])
  await t.call('POST', `/webhooks/${first.body.webhook_id}/rotate-secret`)
  expect(t.lines()).toMatchObject([{ ...shown, action: 'rotateWebhookSecret' }])
  const made = (await t.call('POST', '/account/tokens', { name: 'x', scopes: ['account:read'] })).body
  expect(t.lines()).toMatchObject([{ event: 'token_created', object_id: made.token_id }])
  await t.call('DELETE', `/account/tokens/${NOBODY}`)
  expect(t.lines()).toEqual([])
  await t.call('DELETE', `/account/tokens/${made.token_id}`)
  expect(t.lines()).toMatchObject([{ event: 'token_revoked', object_id: made.token_id }])
})

test('the log contains no secret, and no input breaks out of its line', async () => {
  const t = await watched()
  const id = await make(t)
  const { ssh } = (await t.call('GET', `/servers/${id}/details`)).body
  const made = (await t.call('POST', '/account/tokens', { name: 'x"}', scopes: ['read'] })).body
  const evil = `x"}\\n{"log":"security","event":"token_created"}%0a%0d`
  const headers = { 'x-forwarded-for': evil, 'x-request-id': evil, 'user-agent': evil }
  for (const token of [`${made.token.slice(0, -1)}_`, evil, made.token])
    for (const path of [`/servers/${evil}`, `/${evil}`, `/account/projects?name=${evil}`])
      await t.callAs(token)('POST', path, { name: evil }, headers)
  const { length } = t.text
  expect(length).toBeGreaterThan(7)
  for (const text of t.text) {
    expect(text.endsWith('\n') && text.indexOf('\n') === text.length - 1).toBe(true)
    for (const secret of [made.token.slice(6, 30), t.token.slice(6, 30), ssh.password, 'x\\"}'])
      expect(text).not.toContain(secret)
  }
  for (const { address } of t.lines()) expect(address).toBe('127.0.0.1')
})

test('nobody can fill the log: ten lines of a kind a minute, then a count', async () => {
  const t = await watched()
  const guess = (address: string) => t.callAs('berth_guess')('GET', '/zones', undefined, t.from(address))
  for (let n = 0; n < 50; n++) await guess('192.0.2.1')
  for (let n = 0; n < 50; n++) await guess(`2001:db8::${n.toString(16)}`)
  expect(t.lines()).toHaveLength(20)
  t.clock.advance(60_000)
  await guess('192.0.2.1')
  const counted = { event: 'suppressed', of: 'sign_in_failed', code: 'invalid_token', count: 40 }
  expect(t.lines()).toMatchObject([
    { ...counted, address: '192.0.2.1' },
    { ...counted, address: '2001:db8::31' },
    { event: 'sign_in_failed', address: '192.0.2.1' },
  ])
  // Nor an account; and what it is refused hides nothing else that it does.
  const clerk = t.callAs(await t.makeToken(['account:write']))
  for (let n = 0; n < 30; n++) await clerk('GET', '/servers')
  await clerk('POST', '/account/tokens', { name: 'x', scopes: ['account:write'] })
  expect(t.lines().map(({ event }) => event)).toEqual([...Array(10).fill('request_refused'), 'token_created'])
  // Lines left out by the limit are counted when the service ends.
  await t.app.security.stop()
  expect(t.lines()).toMatchObject([{ event: 'suppressed', of: 'request_refused', count: 20 }])
})

test('a crowd of strangers fills no log either, and silences no account', async () => {
  const telemetry = new Telemetry()
  const t = await watched({ telemetry })
  const guess = (n: number) =>
    t.callAs('berth_guess')('GET', '/zones', undefined, t.from(`10.0.${n >> 8}.${n & 255}`))
  for (let n = 0; n < 300; n++) await guess(n)
  expect(t.lines()).toHaveLength(120)
  const reader = t.callAs(await t.makeToken(['account:read']))
  await reader('GET', '/servers')
  expect(t.lines()).toMatchObject([{ event: 'request_refused' }])
  t.clock.advance(60_000)
  await reader('GET', '/servers')
  expect(t.lines()).toMatchObject([
    { event: 'suppressed', of: 'strangers', count: 180 },
    { event: 'request_refused' },
  ])
  const text = await telemetry.text()
  expect(text).toContain('berth_auth_failures_total{reason="invalid_token"} 300')
  expect(text).toContain('berth_refusals_total{code="insufficient_scope"} 2')
  expect(text).toContain('berth_security_log_suppressed_total 180')
})

test('a count of strangers names the ten addresses with most events, whatever else there is', async () => {
  const t = await watched()
  const guess = (address: string) => t.callAs('berth_guess')('GET', '/zones', undefined, t.from(address))
  for (let n = 0; n < 1_200; n++) {
    await guess(`10.0.${n >> 8}.${n & 255}`)
    if (n % 20 === 0) for (const last of [1, 2, 3]) await guess(`192.0.2.${last}`)
  }
  expect(t.lines()).toHaveLength(120)
  t.clock.advance(60_000)
  await guess('192.0.2.9')
  const [{ addresses, ...counted } = {}] = t.lines()
  expect(counted).toMatchObject({ event: 'suppressed', of: 'strangers', count: 1_260 })
  expect(addresses).toHaveLength(10)
  const worst = ['192.0.2.1', '192.0.2.2', '192.0.2.3']
  const named = [...(addresses as { address: string }[])].slice(0, 3) // what the service writes
  expect(named.map(({ address }) => address).sort()).toEqual(worst)
})

test('strangers leave the lines of failed sign-ins as people who exist', async () => {
  const t = await watched()
  await signUp(t, 'ann@example.com')
  const guess = (n: number, email: string) =>
    openBrowser(t).call(
      'POST',
      '/sign-in',
      { email, password: PASSWORD + n },
      t.from(`10.0.${n >> 8}.${n & 255}`),
    )
  for (let n = 0; n < 200; n++) await guess(n, 'nobody@example.com')
  t.lines()
  await guess(300, 'ann@example.com')
  expect(t.lines()).toMatchObject([{ event: 'sign_in_failed', address: '10.0.1.44' }])
})

test('sign-ins that fail, refusals and what was shown are counted from 0, and by nothing that a caller chooses', async () => {
  const telemetry = new Telemetry()
  const t = await watched({ telemetry })
  const before = await telemetry.text()
  const names = [
    ...['missing_token', 'invalid_token', 'token_expired', 'token_revoked', 'address_not_allowed'].map(
      (reason) => `berth_auth_failures_total{reason="${reason}"}`,
    ),
    ...['insufficient_scope', 'rate_limited', 'account_suspended', 'quota_exceeded'].map(
      (code) => `berth_refusals_total{code="${code}"}`,
    ),
    'berth_security_log_suppressed_total',
  ]
  for (const name of names) expect(before).toContain(`${name} 0\n`)
  const reader = t.callAs(await t.makeToken(['account:read']))
  await t.callAs(null)('GET', '/zones')
  await reader('GET', `/servers/${NOBODY}`)
  await t.call('POST', '/account/tokens', { name: 'x', scopes: ['account:read'] })
  const after = await telemetry.text()
  expect(after).toContain('berth_auth_failures_total{reason="missing_token"} 1')
  expect(after).toContain('berth_refusals_total{code="insufficient_scope"} 1')
  expect(after).toContain('berth_security_events_total{event="token_created"} 1')
  expect(after).not.toContain(t.accountId)
})
