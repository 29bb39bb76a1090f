import { expect, test } from 'vitest'
import { type TestApp, testApp } from '../../harness/app.ts'
import { linkTo, openBrowser, PASSWORD, signUp } from '../harness/browser.ts'

const DAY = 24 * 3600_000
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

/** Ann, signed in, and a program on a machine without a browser. */
async function both(options: Parameters<typeof testApp>[0] = {}) {
  const t = await testApp(options)
  const ann = await signUp(t, 'ann@example.com')
  return { t, ann, account_id: ann.person.account_id, ...program(t) }
}

function program(t: TestApp) {
  const nobody = t.callAs(null)
  const start = async (body: object = {}) =>
    (await nobody('POST', '/device', { client_name: 'berth on laptop', ...body })).body
  const redeem = (device_code: string) => nobody('POST', '/device/token', { device_code })
  return { nobody, start, redeem }
}

test('a program shows a code, a person approves it, and the program has a token of her account', async () => {
  const { t, ann, account_id, start, redeem } = await both()
  const { device_code, user_code, ...rest } = await start()
  expect(user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  expect(rest).toEqual({
    verification_uri: 'http://localhost/device',
    verification_uri_complete: `http://localhost/device#${user_code}`,
    expires_in: 600,
    interval: 5,
  })
  expect(codeOf(await redeem(device_code))).toEqual([400, 'authorization_pending'])
  const typed = { user_code: user_code.toLowerCase().replace('-', ' ') }
  expect((await ann.call('POST', '/device/look', typed)).body).toEqual({
    client_name: 'berth on laptop',
    address: '127.0.0.1',
    is_from_here: true,
    scopes: null,
    created_at: '2026-11-20T12:00:00.000Z',
    expires_at: '2026-11-20T12:10:00.000Z',
  })
  expect((await ann.call('POST', '/device/approve', { ...typed, account_id })).status).toBe(204)
  const { status, body } = await redeem(device_code)
  expect([status, body]).toMatchObject([
    200,
    {
      name: 'berth on laptop',
      scopes: ['account:read', 'account:write', 'servers:read', 'servers:write'],
      person_id: ann.person.person_id,
      parent_token_id: null,
      expires_at: new Date(t.clock.now() + 90 * DAY).toISOString(),
    },
  ])
  expect((await t.callAs(body.token)('GET', '/account/me')).body.account_id).toBe(account_id)
  const { items } = (await ann.call('GET', '/account/audit')).body
  expect(items[0]).toMatchObject({ action: 'redeemDeviceLogin', person_email: 'ann@example.com' })
  expect(codeOf(await redeem(device_code))).toEqual([400, 'expired_token'])
  expect(codeOf(await ann.call('POST', '/device/approve', { ...typed, account_id }))).toEqual([
    404,
    'user_code_not_found',
  ])
})

test('neither code is in the database, and a code lives for ten minutes', async () => {
  const { t, ann, account_id, start, redeem } = await both()
  const { device_code, user_code } = await start()
  const rows = JSON.stringify(await t.db.selectFrom('device_logins').selectAll().execute())
  expect(rows).not.toContain(device_code)
  expect(rows).not.toContain(user_code.replace('-', ''))
  t.clock.advance(600_000)
  const late = await ann.call('POST', '/device/approve', { user_code, account_id })
  expect(codeOf(late)).toEqual([404, 'user_code_not_found'])
  expect(codeOf(await redeem(device_code))).toEqual([400, 'expired_token'])
  await t.app.retention.look()
  expect(await t.db.selectFrom('device_logins').selectAll().execute()).toEqual([])
})

test('a program that asks before the interval is over waits longer from there on', async () => {
  const { t, start, redeem } = await both()
  const { device_code } = await start()
  const ask = async (afterMs: number) => {
    t.clock.advance(afterMs)
    const { body } = await redeem(device_code)
    return [body.code, body.interval]
  }
  expect(await ask(0)).toEqual(['authorization_pending', undefined])
  expect(await ask(4_000)).toEqual(['slow_down', 10])
  expect(await ask(5_000)).toEqual(['slow_down', 15])
  expect(await ask(15_000)).toEqual(['authorization_pending', undefined])
})

test('who denies a login ends it; of an approval and a refusal at once one counts', async () => {
  const { ann, account_id, start, redeem } = await both()
  const { device_code, user_code } = await start()
  const decisions = await Promise.all([
    ann.call('POST', '/device/deny', { user_code }),
    ann.call('POST', '/device/approve', { user_code, account_id }),
  ])
  expect(decisions.map(({ status }) => status).sort()).toEqual([204, 404])
  const isDenied = decisions[0]?.status === 204
  expect((await redeem(device_code)).body.code).toBe(isDenied ? 'access_denied' : undefined)
  const other = await start()
  await ann.call('POST', '/device/deny', { user_code: other.user_code })
  expect(codeOf(await redeem(other.device_code))).toEqual([400, 'access_denied'])
})

test('of two that ask for the token at once one gets it', async () => {
  const { ann, account_id, start, redeem } = await both()
  const { device_code, user_code } = await start()
  await ann.call('POST', '/device/approve', { user_code, account_id })
  const replies = await Promise.all([redeem(device_code), redeem(device_code)])
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 400])
  expect((await ann.call('GET', '/account/tokens')).body.total).toBe(1)
})

test('nobody gives a program more than her role has, nor a token of an account that she is not in', async () => {
  const { t, ann, account_id, start, redeem } = await both()
  await ann.call('POST', '/account/invitations', { email: 'bob@example.com', role: 'viewer' })
  const bob = openBrowser(t)
  const token = await linkTo(t, 'bob@example.com')
  await bob.call('POST', '/invitations/accept', { token, name: 'Bob', password: PASSWORD })
  const greedy = await start({ scopes: ['read', 'servers:write'] })
  const approve = ({ user_code }: { user_code: string }, account = account_id) =>
    bob.call('POST', '/device/approve', { user_code, account_id: account })
  expect(await approve(greedy)).toMatchObject({
    status: 403,
    body: { code: 'insufficient_scope', required_scope: 'servers:write' },
  })
  expect(codeOf(await approve(greedy, t.accountId))).toEqual([403, 'not_a_member'])
  const [modest, early] = [await start(), await start()]
  expect((await approve(modest)).status).toBe(204)
  expect((await redeem(modest.device_code)).body.scopes).toEqual(['account:read', 'servers:read'])
  // The person is removed before the program asks.
  await approve(early)
  await bob.call('POST', '/person/leave', { account_id })
  expect(codeOf(await redeem(early.device_code))).toEqual([400, 'access_denied'])
})

test('an account that is suspended lets no program in', async () => {
  const { t, ann, account_id, start, redeem } = await both()
  const [before, after] = [await start(), await start()]
  const approve = ({ user_code }: { user_code: string }) =>
    ann.call('POST', '/device/approve', { user_code, account_id })
  await approve(before)
  await t.db.updateTable('accounts').set({ status: 'suspended' }).execute()
  expect(codeOf(await redeem(before.device_code))).toEqual([403, 'account_suspended'])
  expect(codeOf(await approve(after))).toEqual([403, 'account_suspended'])
})

test('a token approves nothing, and a page of another origin neither', async () => {
  const { t, ann, account_id, start } = await both()
  const { user_code } = await start()
  const approval = { user_code, account_id }
  expect(codeOf(await t.call('POST', '/device/approve', approval))).toEqual([403, 'person_required'])
  const foreign = { origin: 'https://evil.example' }
  expect(codeOf(await ann.call('POST', '/device/approve', approval, foreign))).toEqual([
    403,
    'origin_not_allowed',
  ])
})

test('codes are guessed so often and no more, and logins started', async () => {
  const { t, ann, account_id, start, nobody } = await both()
  const { user_code } = await start()
  const guess = () => ann.call('POST', '/device/look', { user_code: 'BBBB-BBBB' })
  for (let n = 0; n < 10; n += 1) expect((await guess()).status).toBe(404)
  expect(codeOf(await guess())).toEqual([429, 'rate_limited'])
  expect(codeOf(await ann.call('POST', '/device/approve', { user_code, account_id }))[0]).toBe(429)
  t.clock.advance(60_000)
  expect((await ann.call('POST', '/device/look', { user_code })).status).toBe(200)
  const begin = () => nobody('POST', '/device', { client_name: 'x' })
  for (let n = 0; n < 10; n += 1) expect((await begin()).status).toBe(200)
  expect(codeOf(await begin())).toEqual([429, 'rate_limited'])
})

test('without the console no program is sent to a page that is not there', async () => {
  const { nobody } = await both({ hasConsole: false })
  expect(codeOf(await nobody('POST', '/device', { client_name: 'berth' }))).toEqual([409, 'no_console'])
})

test('who has all networks of a /48 does not fill the place of all logins', async () => {
  const t = await testApp({ trustProxy: ['127.0.0.1/32'] })
  const begin = (address: string) =>
    t.callAs(null)('POST', '/device', { client_name: 'x' }, { 'x-forwarded-for': address })
  const statuses = new Map<number, number>()
  for (let network = 0; network < 120; network += 1) {
    const { status } = await begin(`2001:db8:7:${network.toString(16)}::1`)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  expect([...statuses]).toEqual([
    [200, 80],
    [429, 40],
  ])
  expect((await begin('2001:db8:8::1')).status).toBe(200)
  expect((await begin('192.0.2.1')).status).toBe(200)
})
