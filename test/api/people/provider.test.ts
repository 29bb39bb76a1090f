import { expect, test } from 'vitest'
import { testApp } from '../../harness/app.ts'
import { openBrowser, PASSWORD, signUp } from '../harness/browser.ts'
import { answering, openProvider } from '../harness/provider.ts'

const EMAIL = 'ann@example.com'
const ANN = { email: 'Ann@Example.com', email_verified: true, name: 'Ann' }
const outcome = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

type Browser = Pick<ReturnType<typeof openBrowser>, 'call'>

async function opened(more: Parameters<typeof testApp>[0] = {}) {
  const provider = await openProvider()
  const t = await testApp({ oidc: provider.oidc, ...more })
  provider.people.set('ann', ANN)
  const begin = async ({ call }: Browser) => (await call('POST', '/sign-in/provider/begin')).body
  /** All of it, by one browser. */
  const enter = async (browser: Browser, subject = 'ann') => {
    const { url, ticket } = await begin(browser)
    const answer = await provider.visit(url, subject)
    return browser.call('POST', '/sign-in/provider', { ticket, answer, language: 'ru' })
  }
  return { t, provider, begin, enter }
}

test('who is new signs up by the provider, and is known by its name for her, whatever her address becomes', async () => {
  const { t, provider, enter } = await opened()
  const browser = openBrowser(t)
  expect((await browser.call('GET', '/sign-in/options')).body.provider).toEqual({
    name: '127.0.0.1',
    origin: 'http://localhost',
  })
  const reply = await enter(browser)
  expect(reply).toMatchObject({ status: 200, body: { is_signed_in: true, identity_ticket: null } })
  const { person } = reply.body
  expect(person).toMatchObject({
    ...{ email: EMAIL, name: 'Ann', language: 'ru', has_password: false, identity_provider: '127.0.0.1' },
    accounts: [{ role: 'owner' }],
  })
  expect((await browser.call('GET', '/account/me')).status).toBe(200)
  provider.people.set('ann', { email: 'else@example.com', email_verified: false })
  const again = await enter(openBrowser(t))
  expect(again.body.person).toMatchObject({ person_id: person.person_id, email: EMAIL })
  // A later owner of the address at the provider is not this person.
  provider.people.set('bob', ANN)
  const other = await enter(openBrowser(t), 'bob')
  expect(other.body).toMatchObject({ is_signed_in: false, person: null, ticket: null })
})

test('an address opens nothing that is there: its person signs in as usual once, and connects both', async () => {
  const { t, enter } = await opened()
  const ann = await signUp(t, EMAIL)
  const bob = await signUp(t, 'bob@example.com')
  const browser = openBrowser(t)
  const { body } = await enter(browser)
  expect(body).toMatchObject({ is_signed_in: false, person: null, ticket: null })
  const { identity_ticket } = body
  const add = ({ call }: Browser) => call('POST', '/person/identity', { identity_ticket })
  expect(outcome(await add(browser))).toEqual([401, 'missing_token'])
  expect(outcome(await add(bob))).toEqual([409, 'identity_for_another'])
  await browser.call('POST', '/sign-in', { email: EMAIL, password: PASSWORD })
  t.clock.advance(1)
  const both = await Promise.all([add(browser), add(browser)])
  expect(both.map(outcome).sort()).toEqual([
    [204, undefined],
    [403, 'ticket_invalid'],
  ])
  expect((await enter(openBrowser(t))).body.person.person_id).toBe(ann.person.person_id)
  // The second factor is required regardless of how the first was proven.
  const { person_id } = ann.person
  const factor = { person_id, secret: '', enabled_at: 1, last_step: 0, created_at: 0 }
  await t.db.insertInto('two_factors').values(factor).execute()
  const half = await enter(openBrowser(t))
  expect(half.body).toMatchObject({ is_signed_in: false, ticket: expect.any(String), identity_ticket: null })
  const remove = (proof: object) => browser.call('POST', '/person/identity/delete', proof)
  expect(outcome(await remove({ password: PASSWORD }))).toEqual([422, 'validation_failed'])
  expect(outcome(await remove({ password: PASSWORD, code: 'a-recovery-code' }))).toEqual([403, 'wrong_code'])
  await t.db.deleteFrom('two_factors').execute()
  expect(outcome(await remove({}))).toEqual([422, 'validation_failed'])
  expect((await remove({ password: PASSWORD })).status).toBe(204)
  expect(outcome(await remove({ password: PASSWORD }))).toEqual([404, 'identity_not_found'])
  expect(outcome(await ann.call('GET', '/person'))).toEqual([401, 'session_ended'])
  expect((await enter(openBrowser(t))).body.identity_ticket).not.toBe(null)
  await t.app.mails.look()
  const toAnn = t.mails.filter(({ to }) => to === EMAIL).map(({ subject }) => subject)
  expect(toAnn.slice(1).sort()).toEqual([
    'You can no longer sign in to localhost with 127.0.0.1',
    'You can sign in to localhost with 127.0.0.1',
  ])
})

test('a connection takes a recent sign-in, and its ticket ten minutes', async () => {
  const { t, enter } = await opened()
  const ann = await signUp(t, EMAIL)
  t.clock.advance(10 * 60_000)
  const { identity_ticket } = (await enter(openBrowser(t))).body
  const add = () => ann.call('POST', '/person/identity', { identity_ticket })
  expect(outcome(await add())).toEqual([403, 'sign_in_again'])
  await ann.call('POST', '/sign-in', { email: EMAIL, password: PASSWORD })
  t.clock.advance(10 * 60_000)
  expect(outcome(await add())).toEqual([403, 'ticket_invalid'])
})

test('an answer is of use to the browser that began, once, within ten minutes, and as it was asked for', async () => {
  const { t, provider, begin } = await opened()
  const browser = openBrowser(t)
  const use = (ticket: string, answer: string) =>
    browser.call('POST', '/sign-in/provider', { ticket, answer })
  const [mine, theirs] = [await begin(browser), await begin(openBrowser(t))]
  // Somebody's own sign-in, slipped to another browser.
  const slipped = await provider.visit(theirs.url, 'ann')
  expect(outcome(await use(mine.ticket, slipped))).toEqual([403, 'provider_refused'])
  expect(outcome(await use('none', slipped))).toEqual([403, 'ticket_invalid'])
  const state = { state: new URL(theirs.url).searchParams.get('state') ?? '' }
  for (const answer of [{ ...state, error: 'access_denied' }, { ...state, code: 'guessed' }, { code: 'x' }]) {
    const { ticket, url } = await begin(browser)
    const own = 'state' in answer ? { state: new URL(url).searchParams.get('state') ?? '' } : {}
    const query = new URLSearchParams({ ...answer, ...own }).toString()
    expect(outcome(await use(ticket, query))).toEqual([403, 'provider_refused'])
  }
  // Tokens for another nonce, proof key or client than the ticket's.
  for (const [name, value] of Object.entries({
    nonce: 'x',
    code_challenge: 'x'.repeat(43),
    client_id: 'other',
  })) {
    const { ticket, url } = await begin(browser)
    const bent = new URL(url)
    bent.searchParams.set(name, value)
    const answer = await provider.visit(bent.href, 'ann')
    expect([name, ...outcome(await use(ticket, answer))]).toEqual([name, 403, 'provider_refused'])
  }
  t.clock.advance(60 * 60_000)
  const good = await begin(browser)
  const answer = await provider.visit(good.url, 'ann')
  const both = await Promise.all([use(good.ticket, answer), use(good.ticket, answer)])
  expect(both.map(outcome).sort()).toEqual([
    [200, undefined],
    [403, 'ticket_invalid'],
  ])
  const late = await begin(browser)
  const lateAnswer = await provider.visit(late.url, 'ann')
  t.clock.advance(10 * 60_000)
  expect(outcome(await use(late.ticket, lateAnswer))).toEqual([403, 'ticket_invalid'])
  expect((await t.db.selectFrom('people').selectAll().execute()).length).toBe(1)
})

test('nobody signs up with an address that the provider does not vouch for, or where the operator lets nobody', async () => {
  const { t, provider, enter } = await opened()
  for (const claims of [
    { email: EMAIL },
    { email: EMAIL, email_verified: 'true' },
    { email_verified: true },
  ]) {
    provider.people.set('eve', claims)
    expect(outcome(await enter(openBrowser(t), 'eve'))).toEqual([403, 'email_unverified'])
  }
  for (const signUpPolicy of ['closed', 'invitation'] as const) {
    const other = await opened({ signUp: signUpPolicy })
    expect(outcome(await other.enter(openBrowser(other.t)))).toEqual([403, 'sign_up_closed'])
  }
})

test('an address counts as verified only if the document that contains it says so', async () => {
  const provider = await openProvider(undefined, true)
  const t = await testApp({ oidc: provider.oidc })
  const browser = openBrowser(t)
  const enter = async () => {
    const { url, ticket } = (await browser.call('POST', '/sign-in/provider/begin')).body
    return browser.call('POST', '/sign-in/provider', { ticket, answer: await provider.visit(url, 'eve') })
  }
  provider.people.set('eve in id_token', { email_verified: true })
  provider.people.set('eve in userinfo', { email: EMAIL, email_verified: false })
  expect(outcome(await enter())).toEqual([403, 'email_unverified'])
  provider.people.set('eve in id_token', { email_verified: false })
  provider.people.set('eve in userinfo', { email: EMAIL, email_verified: true })
  expect((await enter()).body.person).toMatchObject({ email: EMAIL })
})

test('a provider that is down, or sends without end, is a 503, until it is there', async () => {
  const { t, provider, begin, enter } = await opened()
  const browser = openBrowser(t)
  provider.stop()
  expect(outcome(await browser.call('POST', '/sign-in/provider/begin'))).toEqual([503, 'backend_unavailable'])
  expect((await browser.call('GET', '/sign-in/options')).status).toBe(200)
  provider.start()
  const { ticket, url } = await begin(browser)
  const answer = await provider.visit(url, 'ann')
  provider.stop()
  const during = await browser.call('POST', '/sign-in/provider', { ticket, answer })
  expect(outcome(during)).toEqual([503, 'backend_unavailable'])
  provider.start()
  expect(await enter(browser)).toMatchObject({ status: 200, body: { is_signed_in: true } })
  const endless = await answering()
  endless.set((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = () => {
      while (!response.destroyed && response.write(' '.repeat(65_536)));
    }
    response.on('drain', more)
    more()
  })
  const other = openBrowser(await testApp({ oidc: endless.oidc }))
  expect(outcome(await other.call('POST', '/sign-in/provider/begin'))).toEqual([503, 'backend_unavailable'])
  const none = openBrowser(await testApp())
  expect((await none.call('GET', '/sign-in/options')).body.provider).toBe(null)
  expect(outcome(await none.call('POST', '/sign-in/provider/begin'))).toEqual([409, 'no_provider'])
})
