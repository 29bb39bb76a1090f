import { expect, test } from 'vitest'
import { Passwords } from '../../../api/people/guard/passwords.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { linkTo, openBrowser, PASSWORD, signUp } from '../harness/browser.ts'
import { NOBODY } from '../harness/ordering.ts'

const EMAIL = 'ann@example.com'
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

test('who opens the link of the mail chooses a password, owns an account and is signed in', async () => {
  const t = await testApp()
  const { call, cookie, person } = await signUp(t, EMAIL)
  expect(t.mails).toMatchObject([{ to: EMAIL, html: expect.stringContaining('http://localhost/sign-up#') }])
  expect(person).toMatchObject({ email: EMAIL, name: 'Ann', has_password: true, is_operator: false })
  expect(person.accounts).toMatchObject([{ account_id: person.account_id, role: 'owner', status: 'active' }])
  expect((await call('GET', '/account/me')).body).toMatchObject({
    account_id: person.account_id,
    token: null,
    person: { person_id: person.person_id, email: EMAIL, role: 'owner' },
    scopes: ['account:read', 'account:write', 'servers:read', 'servers:write'],
  })
  expect((await call('GET', '/account/audit')).body.items).toMatchObject([
    { action: 'completeSignUp', person_id: person.person_id, person_email: EMAIL },
  ])
  // Neither the session nor the password is in the database.
  const rows = JSON.stringify([
    await t.db.selectFrom('sessions').selectAll().execute(),
    await t.db.selectFrom('people').selectAll().execute(),
    await t.db.selectFrom('links').selectAll().execute(),
  ])
  expect(rows).not.toContain(cookie().split('=')[1])
  expect(rows).not.toContain(PASSWORD)
})

test('a link works once, and not after a day; a later one ends it', async () => {
  const t = await testApp()
  const { call } = openBrowser(t)
  const complete = (token: string) =>
    call('POST', '/sign-up/complete', { token, name: 'Ann', password: PASSWORD })
  await call('POST', '/sign-up', { email: EMAIL })
  const first = await linkTo(t, EMAIL)
  await call('POST', '/sign-up', { email: EMAIL.toUpperCase() })
  const second = await linkTo(t, EMAIL)
  expect(codeOf(await complete(first))).toEqual([403, 'link_invalid'])
  t.clock.advance(24 * 3600_000)
  expect(codeOf(await complete(second))).toEqual([403, 'link_invalid'])
  await call('POST', '/sign-up', { email: EMAIL })
  const third = await linkTo(t, EMAIL)
  const both = await Promise.all([complete(third), complete(third)])
  expect(both.map(({ status }) => status).sort()).toEqual([200, 403])
})

test('nobody learns from a reply whether an address is known; its reader does, in her language', async () => {
  const t = await testApp()
  await signUp(t, EMAIL)
  const { call } = openBrowser(t)
  for (const path of ['/sign-up', '/password-reset'])
    for (const email of [EMAIL, 'bob@example.com'])
      expect(await call('POST', path, { email, language: 'ru' })).toMatchObject({ status: 204, body: '' })
  await t.app.mails.look()
  expect(t.mails.slice(1).map(({ to, subject }) => [to, subject])).toEqual([
    [EMAIL, 'You have an account at localhost'],
    ['bob@example.com', 'Завершите регистрацию на localhost'],
    [EMAIL, 'A new password for localhost'],
    ['bob@example.com', 'На localhost нет такой учётной записи'],
  ])
  const tries = [
    await call('POST', '/sign-in', { email: EMAIL, password: 'wrong' }),
    await call('POST', '/sign-in', { email: 'nobody@example.com', password: 'wrong' }),
  ]
  const [known, unknown] = tries.map(({ status, body }) => ({ status, ...body, request_id: '' }))
  expect(known).toEqual(unknown)
  expect(known).toMatchObject({ status: 401, code: 'sign_in_failed' })
})

test('one signs in with an address in any letters, and out; what the cookie opened ends', async () => {
  const t = await testApp()
  await signUp(t, EMAIL)
  const { call } = openBrowser(t)
  expect(codeOf(await call('GET', '/person'))).toEqual([401, 'missing_token'])
  const reply = await call('POST', '/sign-in', { email: 'ANN@Example.com', password: PASSWORD })
  expect(reply.headers['set-cookie']).toMatch(
    /^berth_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=7776000$/,
  )
  expect((await call('GET', '/servers')).status).toBe(200)
  expect((await call('POST', '/sign-out')).status).toBe(204)
  expect(codeOf(await call('GET', '/servers'))).toEqual([401, 'missing_token'])
})

test('by TLS the cookie is for this host alone, and never sent without', async () => {
  const t = await testApp({ publicUrl: 'https://cloud.example/v1' })
  await signUp(t, EMAIL)
  const { call } = openBrowser(t)
  const here = { host: 'cloud.example', origin: 'https://cloud.example' }
  const reply = await call('POST', '/sign-in', { email: EMAIL, password: PASSWORD }, here)
  expect(reply.headers['set-cookie']).toMatch(/^__Host-berth_session=.*; Path=\/; .*; Secure$/)
  expect((await call('GET', '/person', undefined, here)).status).toBe(200)
})

test('wrong passwords are counted for the person and for the network, and right ones are not', async () => {
  const t = await testApp({ trustProxy: ['127.0.0.1/32'] })
  await signUp(t, EMAIL)
  const { call } = openBrowser(t)
  const attempt = (email: string, password: string, address: string) =>
    call('POST', '/sign-in', { email, password }, { 'x-forwarded-for': address })
  for (let n = 0; n < 10; n += 1) expect((await attempt(EMAIL, 'wrong', '192.0.2.1')).status).toBe(401)
  const refused = await attempt(EMAIL, PASSWORD, '192.0.2.1')
  expect([...codeOf(refused), refused.headers['retry-after']]).toEqual([429, 'rate_limited', '180'])
  // Guessing locks out nobody but the guesser, unless they have many networks.
  expect((await attempt(EMAIL, PASSWORD, '192.0.2.99')).status).toBe(200)
  for (let n = 0; n < 40; n += 1) await attempt(EMAIL, 'wrong', `198.51.100.${n}`)
  expect(codeOf(await attempt(EMAIL, PASSWORD, '192.0.2.98'))).toEqual([429, 'rate_limited'])
  // Nobody can lock a person out of a network where they were signed in before, not even by guessing from there.
  for (let n = 0; n < 9; n += 1) expect((await attempt(EMAIL, 'wrong', '192.0.2.99')).status).toBe(401)
  expect((await attempt(EMAIL, PASSWORD, '192.0.2.99')).status).toBe(200)
  expect((await attempt(EMAIL, 'wrong', '192.0.2.99')).status).toBe(401)
  expect(codeOf(await attempt(EMAIL, PASSWORD, '192.0.2.99'))).toEqual([429, 'rate_limited'])
  t.clock.advance(180_000)
  for (let n = 0; n < 3; n += 1) expect((await attempt(EMAIL, PASSWORD, '192.0.2.98')).status).toBe(200)
  for (let n = 0; n < 20; n += 1) await attempt(`${n}@example.com`, 'wrong', '2001:db8::1')
  expect(codeOf(await attempt(EMAIL, PASSWORD, '2001:db8::2'))).toEqual([429, 'rate_limited'])
})

test('strangers from 60 networks keep nobody from signing in, neither where they are known nor elsewhere', async () => {
  const t = await testApp({
    trustProxy: ['127.0.0.1/32'],
    passwords: new Passwords({ logN: 11, r: 8, p: 1 }),
  })
  await signUp(t, EMAIL)
  const attempt = async (email: string, password: string, address?: string) =>
    (
      await openBrowser(t).call(
        'POST',
        '/sign-in',
        { email, password },
        address ? { 'x-forwarded-for': address } : {},
      )
    ).status
  const attack = Array.from({ length: 180 }, (_, n) =>
    attempt(`${n}@example.com`, 'wrong', `198.51.100.${n % 60}`),
  )
  await Promise.race(attack)
  expect(await Promise.all([attempt(EMAIL, PASSWORD), attempt(EMAIL, PASSWORD, '192.0.2.1')])).toEqual([
    200, 200,
  ])
  expect((await Promise.all(attack)).filter((status) => status !== 401 && status !== 429)).toEqual([])
})

test('mails to an address and from a network are so many and no more', async () => {
  const t = await testApp({ trustProxy: ['127.0.0.1/32'] })
  const { call } = openBrowser(t)
  for (let n = 0; n < 3; n += 1) await call('POST', '/password-reset', { email: EMAIL })
  expect(codeOf(await call('POST', '/password-reset', { email: EMAIL }))).toEqual([429, 'rate_limited'])
  // The stranger has used up their own mails; the person still gets theirs from elsewhere.
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const ask = (address: string) => call('POST', '/password-reset', { email: EMAIL }, from(address))
  expect((await ask('192.0.2.7')).status).toBe(204)
  for (let n = 0; n < 8; n += 1) expect((await ask(`198.51.100.${n}`)).status).toBe(204)
  expect(codeOf(await ask('192.0.2.8'))).toEqual([429, 'rate_limited'])
  for (let n = 0; n < 6; n += 1) await call('POST', '/sign-up', { email: `${n}@example.com` })
  expect(codeOf(await call('POST', '/sign-up', { email: 'x@example.com' }))).toEqual([429, 'rate_limited'])
})

test('a person gets the mail of a reset where she was signed in before, whatever strangers have asked for', async () => {
  const t = await testApp({ trustProxy: ['127.0.0.1/32'] })
  const { call } = await signUp(t, EMAIL)
  await call('POST', '/sign-out')
  await t.app.mails.look()
  const stranger = openBrowser(t)
  const ask = (address: string, email = EMAIL) =>
    stranger.call('POST', '/password-reset', { email }, { 'x-forwarded-for': address })
  for (let n = 0; n < 12; n += 1) await ask(`198.51.100.${n}`)
  for (let n = 0; n < 12; n += 1) await ask(`198.51.100.${n}`, 'nobody@example.com')
  // Elsewhere no reply tells whether an address is known.
  for (const email of [EMAIL, 'nobody@example.com'])
    expect(codeOf(await ask('192.0.2.8', email))).toEqual([429, 'rate_limited'])
  // One was the mail to sign up with.
  for (let n = 0; n < 2; n += 1)
    expect((await openBrowser(t).call('POST', '/password-reset', { email: EMAIL })).status).toBe(204)
  expect(codeOf(await call('POST', '/password-reset', { email: EMAIL }))).toEqual([429, 'rate_limited'])
  await t.app.mails.look()
  const body = { token: await linkTo(t, EMAIL), password: 'nine green trains' }
  expect((await call('POST', '/password-reset/complete', body)).status).toBe(200)
})

test('a new password ends all other sessions, and what a link of the mail set is the password', async () => {
  const t = await testApp()
  const here = await signUp(t, EMAIL)
  const elsewhere = openBrowser(t)
  await elsewhere.call('POST', '/sign-in', { email: EMAIL, password: PASSWORD })
  const change = { current_password: 'wrong', new_password: 'nine green lamps' }
  expect(codeOf(await here.call('POST', '/person/password', change))).toEqual([403, 'wrong_password'])
  change.current_password = PASSWORD
  expect((await here.call('POST', '/person/password', change)).status).toBe(204)
  expect((await here.call('GET', '/person')).status).toBe(200)
  expect(codeOf(await elsewhere.call('GET', '/person'))).toEqual([401, 'session_ended'])
  await elsewhere.call('POST', '/password-reset', { email: EMAIL })
  const token = await linkTo(t, EMAIL)
  const reset = { token, password: PASSWORD }
  expect((await elsewhere.call('POST', '/password-reset/complete', reset)).status).toBe(200)
  expect(codeOf(await here.call('GET', '/person'))).toEqual([401, 'session_ended'])
  expect(codeOf(await here.call('POST', '/password-reset/complete', reset))).toEqual([403, 'link_invalid'])
})

test.each(['short', 'qwertyuiop', 'Password123', 'ann@example.com', 'abcabcabcabc'])(
  'the password %s is refused, and says why',
  async (password) => {
    const t = await testApp()
    const { call } = openBrowser(t)
    await call('POST', '/sign-up', { email: EMAIL })
    const token = await linkTo(t, EMAIL)
    const { status, body } = await call('POST', '/sign-up/complete', { token, name: 'Ann', password })
    expect([status, body.errors?.[0].code]).toEqual([
      422,
      password === 'short' ? 'too_short' : 'password_too_common',
    ])
    // The link is still good.
    const again = await call('POST', '/sign-up/complete', { token, name: 'Ann', password: PASSWORD })
    expect(again.status).toBe(200)
  },
)

test('where sign-up is not open, nobody gets a mail', async () => {
  for (const signUp of ['closed', 'invitation'] as const) {
    const t = await testApp({ signUp })
    const { call } = openBrowser(t)
    expect((await call('GET', '/sign-in/options')).body).toMatchObject({ sign_up: signUp })
    expect(codeOf(await call('POST', '/sign-up', { email: EMAIL }))).toEqual([403, 'sign_up_closed'])
    await t.app.mails.look()
    expect(t.mails).toEqual([])
  }
})

test('a person sees her sessions, each with its browser, and ends them; those of others are not there', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  const bob = await signUp(t, 'bob@example.com')
  const phone = openBrowser(t)
  t.clock.advance(1_000)
  await phone.call('POST', '/sign-in', { email: EMAIL, password: PASSWORD }, { 'user-agent': 'Phone' })
  const { items, total } = (await ann.call('GET', '/account/sessions')).body
  expect([total, items.map((session: object) => session)]).toMatchObject([
    2,
    [
      { user_agent: 'Phone', is_current: false, address: '127.0.0.1' },
      { is_current: true, session_id: ann.person.session_id },
    ],
  ])
  const path = `/account/sessions/${items[0].session_id}`
  for (const [call, url] of [[bob.call, path] as const, [ann.call, `/account/sessions/${NOBODY}`] as const])
    expect(codeOf(await call('DELETE', url))).toEqual([404, 'session_not_found'])
  expect((await ann.call('DELETE', path)).status).toBe(204)
  expect(codeOf(await phone.call('GET', '/person'))).toEqual([401, 'session_ended'])
})

test('a session ends when nobody uses it for two weeks, and after 90 days in any case', async () => {
  const DAY = 24 * 3600_000
  const t = await testApp()
  const idle = await signUp(t, EMAIL)
  t.clock.advance(14 * DAY)
  expect(codeOf(await idle.call('GET', '/person'))).toEqual([401, 'session_ended'])
  const used = openBrowser(t)
  await used.call('POST', '/sign-in', { email: EMAIL, password: PASSWORD })
  for (let day = 0; day < 84; day += 12) {
    t.clock.advance(12 * DAY)
    expect((await used.call('GET', '/person')).status).toBe(200)
  }
  t.clock.advance(6 * DAY)
  expect(codeOf(await used.call('GET', '/person'))).toEqual([401, 'session_ended'])
  await t.app.retention.look()
  expect(await t.db.selectFrom('sessions').selectAll().execute()).toEqual([])
})

test('a person has at most 20 sessions: the one that was used least recently ends for the next', async () => {
  const t = await testApp()
  const first = await signUp(t, EMAIL)
  const [row] = await t.db.selectFrom('sessions').selectAll().execute()
  if (!row) throw new Error('nobody is signed in')
  const copies = Array.from({ length: 19 }, (_, n) => ({
    ...row,
    session_id: `${n}`,
    hash: `${n}`,
    last_used_at: row.last_used_at + 1,
  }))
  await t.db.insertInto('sessions').values(copies).execute()
  t.clock.advance(1_000)
  await openBrowser(t).call('POST', '/sign-in', { email: EMAIL, password: PASSWORD })
  expect(await t.db.selectFrom('sessions').selectAll().execute()).toHaveLength(20)
  expect(codeOf(await first.call('GET', '/person'))).toEqual([401, 'session_ended'])
})

test('a page of another origin can do nothing with a cookie, and sign nobody in', async () => {
  const t = await testApp()
  const { call } = await signUp(t, EMAIL)
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:81' },
  ]
  const body = { name: 'a' }
  for (const headers of foreign) {
    expect(codeOf(await call('POST', '/account/projects', body, headers))).toEqual([
      403,
      'origin_not_allowed',
    ])
    expect(codeOf(await call('GET', '/servers', undefined, headers))).toEqual([403, 'origin_not_allowed'])
    const entry = { email: EMAIL, password: PASSWORD }
    expect(codeOf(await call('POST', '/sign-in', entry, headers))).toEqual([403, 'origin_not_allowed'])
  }
  expect((await call('POST', '/account/projects', body)).status).toBe(201)
})

test('a page of a name that a stranger lets resolve to this service can sign nobody in or up', async () => {
  const outcomeFor = async (t: TestApp, origin: string) => {
    const headers = { host: new URL(origin).host, origin }
    const body = { email: 'eve@example.com', password: PASSWORD }
    return codeOf(await openBrowser(t).call('POST', '/sign-in', body, headers))
  }
  const t = await testApp()
  const isAnswered = [401, 'sign_in_failed']
  expect(await outcomeFor(t, 'http://rebound.example:8080')).toEqual([403, 'origin_not_allowed'])
  for (const origin of ['http://192.0.2.1:8080', 'http://[2001:db8::1]', 'http://host', 'http://host.local'])
    expect([origin, await outcomeFor(t, origin)]).toEqual([origin, isAnswered])
  // The stranger has no certificate of this service's proxy.
  expect(await outcomeFor(t, 'https://alias.example')).toEqual(isAnswered)
  const named = await testApp({ publicUrl: 'http://cloud.example:8080/v1' })
  expect(await outcomeFor(named, 'http://cloud.example:8080')).toEqual(isAnswered)
})

test('a browser that says where from by Sec-Fetch-Site alone is believed; one that says nothing may read', async () => {
  const t = await testApp()
  const { cookie } = await signUp(t, EMAIL)
  const ask = async (method: 'GET' | 'POST', site?: string) => {
    const headers = { cookie: cookie(), ...(site ? { 'sec-fetch-site': site } : {}) }
    const reply = await t.callAs(null)(
      method,
      '/account/projects',
      method === 'GET' ? undefined : { name: 'a' },
      headers,
    )
    return reply.status
  }
  expect(await ask('POST', 'same-origin')).toBe(201)
  expect([await ask('POST', 'cross-site'), await ask('POST', 'same-site'), await ask('POST')]).toEqual([
    403, 403, 403,
  ])
  expect([await ask('GET', 'cross-site'), await ask('GET')]).toEqual([403, 200])
})

test('what comes by a cookie goes through the limits, the account status and the audit of the account', async () => {
  const t = await testApp({ rateLimits: { reads: 100, writes: 2, anonymous: 100 } })
  const { call, person } = await signUp(t, EMAIL)
  const made = await call('POST', '/account/projects', { name: 'a' })
  expect(made.status).toBe(201)
  expect((await call('GET', '/account/audit')).body.items[0]).toMatchObject({
    action: 'createProject',
    token_id: null,
    person_id: person.person_id,
    person_email: EMAIL,
    address: '127.0.0.1',
  })
  await call('POST', '/account/projects', { name: 'b' })
  const third = await call('POST', '/account/projects', { name: 'c' })
  expect([third.status, third.headers['ratelimit-policy']]).toEqual([429, '"writes";q=2;w=60'])
  await t.db
    .updateTable('accounts')
    .set({ status: 'suspended' })
    .where('account_id', '=', person.account_id)
    .execute()
  t.clock.advance(60_000)
  expect(codeOf(await call('POST', '/account/projects', { name: 'd' }))).toEqual([403, 'account_suspended'])
})

test('a token that a person creates has no more than her role, and is hers in the list', async () => {
  const t = await testApp()
  const { call, person } = await signUp(t, EMAIL)
  const made = await call('POST', '/account/tokens', { name: 'ci', scopes: ['servers:read'] })
  expect(made).toMatchObject({ status: 201, body: { person_id: person.person_id, parent_token_id: null } })
  await t.db.updateTable('members').set({ role: 'billing' }).execute()
  const more = await call('POST', '/account/tokens', { name: 'ci', scopes: ['servers:read'] })
  expect(codeOf(more)).toEqual([403, 'insufficient_scope'])
  expect((await call('GET', '/servers')).body).toMatchObject({
    code: 'insufficient_scope',
    detail: expect.stringContaining('billing'),
  })
})

test('what is for people is not for tokens, and a person without an account can still see herself', async () => {
  const t = await testApp()
  expect(codeOf(await t.call('GET', '/person'))).toEqual([403, 'person_required'])
  const { call, person } = await signUp(t, EMAIL)
  const other = { 'berth-account': t.accountId }
  expect(codeOf(await call('GET', '/servers', undefined, other))).toEqual([403, 'not_a_member'])
  expect((await call('GET', '/servers', undefined, { 'berth-account': person.account_id })).status).toBe(200)
  const choice = await call('POST', '/person/account', { account_id: t.accountId })
  expect(codeOf(choice)).toEqual([403, 'not_a_member'])
  await t.db.deleteFrom('members').execute()
  await t.db.updateTable('sessions').set({ account_id: null }).execute()
  expect(codeOf(await call('GET', '/servers'))).toEqual([403, 'no_account'])
  expect((await call('GET', '/person')).body).toMatchObject({ account_id: null, accounts: [] })
})

/** Passwords whose comparison ends when the test lets it. */
function heldPasswords() {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isHeld = false
  class Held extends Passwords {
    override async matches(...given: Parameters<Passwords['matches']>) {
      const isRight = await super.matches(...given)
      if (isHeld) {
        asked.resolve()
        await answer.promise
      }
      return isRight
    }
  }
  return {
    passwords: new Held({ logN: 4, r: 8, p: 1 }),
    hold: () => {
      isHeld = true
    },
    asked: asked.promise,
    answer: () => answer.resolve(),
  }
}

test.each([
  ['sign in', '/sign-in', { email: EMAIL, password: PASSWORD }, [401, 'sign_in_failed']],
  [
    'change the password',
    '/person/password',
    { current_password: PASSWORD, new_password: 'six yellow doors' },
    [401, 'session_ended'],
  ],
])(
  'who is about to %s with the old password when another is chosen does not',
  async (_, path, body, refusal) => {
    const { passwords, hold, asked, answer } = heldPasswords()
    const t = await testApp({ passwords })
    const ann = await signUp(t, EMAIL)
    const thief = path === '/sign-in' ? openBrowser(t) : ann
    await ann.call('POST', '/password-reset', { email: EMAIL })
    const token = await linkTo(t, EMAIL)
    hold()
    const late = thief.call('POST', path, body)
    await asked
    const home = openBrowser(t)
    await home.call('POST', '/password-reset/complete', { token, password: 'nine green lamps' })
    answer()
    expect(codeOf(await late)).toEqual(refusal)
    expect((await home.call('GET', '/account/sessions')).body.total).toBe(1)
    const entry = { email: EMAIL, password: 'nine green lamps' }
    expect((await openBrowser(t).call('POST', '/sign-in', entry)).status).toBe(200)
  },
)
