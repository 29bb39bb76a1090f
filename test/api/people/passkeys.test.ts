import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { codeOf } from '../../../api/people/two-factor/totp.ts'
import { testApp } from '../../harness/app.ts'
import { fromBase32, openBrowser, PASSWORD, signUp } from '../harness/browser.ts'
import { authenticator, type Faults } from '../harness/passkey.ts'

const EMAIL = 'ann@example.com'
const outcome = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

type Device = ReturnType<typeof authenticator>
type Browser = Pick<ReturnType<typeof openBrowser>, 'call'>

async function add({ call }: Browser, device: Device, faults?: Faults) {
  const { body } = await call('POST', '/person/passkey-challenge', { password: PASSWORD })
  const made = device.make(body.challenge, faults)
  return call('POST', '/person/passkeys', { ticket: body.ticket, name: 'Phone', ...made })
}

async function enter({ call }: Browser, device: Device, faults?: Faults) {
  const { body } = await call('POST', '/sign-in/passkey-challenge')
  return call('POST', '/sign-in/passkey', { ticket: body.ticket, ...device.sign(body.challenge, faults) })
}

test('a passkey uses nothing of Node that is experimental, which would print a warning', async () => {
  const warnings: string[] = []
  const note = ({ message }: Error) => void warnings.push(message)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const t = await testApp()
  const device = authenticator()
  expect((await add(await signUp(t, EMAIL), device)).status).toBe(201)
  expect((await enter(openBrowser(t), device)).status).toBe(200)
  expect(warnings).toEqual([])
})

test('a passkey signs its person in by itself, as both factors; others see and change nothing of it', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  const bob = await signUp(t, 'bob@example.com')
  const device = authenticator()
  const made = await add(ann, device)
  expect(made).toMatchObject({ status: 201, body: { name: 'Phone', is_synced: false, last_used_at: null } })
  const person_id = ann.person.person_id
  await t.db
    .insertInto('two_factors')
    .values({ person_id, secret: '', enabled_at: 1, last_step: 0, created_at: 0 })
    .execute()
  const browser = openBrowser(t)
  expect(await enter(browser, device)).toMatchObject({ status: 200, body: { is_signed_in: true } })
  expect((await browser.call('GET', '/person')).body.email).toBe(EMAIL)
  await t.db.deleteFrom('two_factors').execute()
  const path = `/person/passkeys/${made.body.passkey_id}`
  const remove = ({ call }: Browser, proof: object) => call('POST', `${path}/delete`, proof)
  expect((await bob.call('GET', '/person/passkeys')).body).toEqual({ items: [], total: 0 })
  for (const reply of [
    await bob.call('PATCH', path, { name: 'x' }),
    await remove(bob, { password: PASSWORD }),
  ])
    expect(outcome(reply)).toEqual([404, 'passkey_not_found'])
  expect((await ann.call('PATCH', path, { name: 'Old phone' })).body.name).toBe('Old phone')
  expect(outcome(await remove(ann, {}))).toEqual([422, 'validation_failed'])
  expect(outcome(await remove(ann, { password: 'not this one' }))).toEqual([403, 'wrong_password'])
  expect((await remove(ann, { password: PASSWORD })).status).toBe(204)
  expect(outcome(await browser.call('GET', '/person'))).toEqual([401, 'session_ended'])
  expect(outcome(await enter(browser, device))).toEqual([403, 'passkey_refused'])
  await t.app.mails.look()
  const toAnn = t.mails.filter(({ to }) => to === EMAIL).map(({ subject }) => subject)
  expect(toAnn.slice(1)).toEqual(['A passkey for localhost was added', 'A passkey for localhost was removed'])
})

test('what was signed elsewhere, for something else, without unlocking, or by another key is refused', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  const device = authenticator()
  const wrong: Faults[] = [
    { origin: 'https://evil.example' },
    { origin: 'http://localhost:81' },
    { rpId: 'evil.example' },
    { type: 'webauthn.payment' },
    { isUnverified: true },
    { isFramed: true },
  ]
  for (const faults of wrong)
    expect(outcome(await add(ann, device, faults))).toEqual([403, 'passkey_refused'])
  // Statements about who made a key: their certificates name addresses that would be fetched.
  const vouched = { format: 'packed', attestation: new Map<string, unknown>([['x5c', [randomBytes(9)]]]) }
  for (const faults of [vouched, { format: 'tpm' }, { format: 'apple' }])
    expect(outcome(await add(ann, device, faults))).toEqual([403, 'passkey_refused'])
  expect((await add(ann, device)).status).toBe(201)
  const browser = openBrowser(t)
  for (const faults of wrong)
    expect(outcome(await enter(browser, device, faults))).toEqual([403, 'passkey_refused'])
  const { body } = await browser.call('POST', '/sign-in/passkey-challenge')
  const other = { ...authenticator().sign(body.challenge), credential: device.sign('x').credential }
  const forged = await browser.call('POST', '/sign-in/passkey', { ticket: body.ticket, ...other })
  expect(outcome(forged)).toEqual([403, 'passkey_refused'])
  expect(browser.cookie()).toBe('')
})

test('a challenge is signed once, within ten minutes, and for what it was made for', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  const device = authenticator()
  await add(ann, device)
  const { call } = openBrowser(t)
  const begin = async () => (await call('POST', '/sign-in/passkey-challenge')).body
  const first = await begin()
  const use = { ticket: first.ticket, ...device.sign(first.challenge) }
  const both = await Promise.all([
    call('POST', '/sign-in/passkey', use),
    call('POST', '/sign-in/passkey', use),
  ])
  expect(both.map(outcome).sort()).toEqual([
    [200, undefined],
    [403, 'ticket_invalid'],
  ])
  const second = await begin()
  const mixed = { ticket: second.ticket, ...device.sign(first.challenge) }
  expect(outcome(await call('POST', '/sign-in/passkey', mixed))).toEqual([403, 'passkey_refused'])
  t.clock.advance(10 * 60_000)
  const late = { ticket: second.ticket, ...device.sign(second.challenge) }
  expect(outcome(await call('POST', '/sign-in/passkey', late))).toEqual([403, 'ticket_invalid'])
  const third = await begin()
  const made = { ticket: third.ticket, name: 'x', ...authenticator().make(third.challenge) }
  expect(outcome(await ann.call('POST', '/person/passkeys', made))).toEqual([403, 'ticket_invalid'])
})

test('one is added by who shows her password again, in the session in which she began, and at most ten', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  const bob = await signUp(t, 'bob@example.com')
  expect(outcome(await t.call('POST', '/person/passkey-challenge', {}))).toEqual([403, 'person_required'])
  expect(outcome(await ann.call('POST', '/person/passkey-challenge', {}))).toEqual([422, 'validation_failed'])
  const { body } = await ann.call('POST', '/person/passkey-challenge', { password: PASSWORD })
  const made = { ticket: body.ticket, name: 'x', ...authenticator().make(body.challenge) }
  expect(outcome(await bob.call('POST', '/person/passkeys', made))).toEqual([403, 'passkey_refused'])
  expect(outcome(await ann.call('POST', '/person/passkeys', made))).toEqual([201, undefined])
  const same = authenticator()
  for (let n = 0; n < 8; n += 1) expect((await add(ann, n === 0 ? same : authenticator())).status).toBe(201)
  // One of two simultaneous requests for the last place gets it.
  const last = await Promise.all([add(ann, authenticator()), add(ann, authenticator())])
  expect(last.map(outcome).sort()).toEqual([
    [201, undefined],
    [409, 'passkey_limit_reached'],
  ])
  expect(outcome(await add(bob, same))).toEqual([403, 'passkey_refused'])
})

test('a copy of a key is refused once its device has counted further', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  const device = authenticator()
  await add(ann, device, { counter: 3 })
  const used = async (counter: number) => outcome(await enter(openBrowser(t), device, { counter }))
  expect(await used(4)).toEqual([200, undefined])
  for (const behind of [4, 3, 0]) expect(await used(behind)).toEqual([403, 'passkey_refused'])
  const both = await Promise.all([used(5), used(5)])
  expect(both.sort()).toEqual([
    [200, undefined],
    [403, 'passkey_refused'],
  ])
  // Synchronized keys do not count.
  const synced = authenticator()
  await add(ann, synced)
  for (let n = 0; n < 2; n += 1) expect((await enter(openBrowser(t), synced)).status).toBe(200)
})

test('with two-factor authentication on, a passkey is added and removed with a code', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  const kept = await add(ann, authenticator())
  const begun = await ann.call('POST', '/person/two-factor', { password: PASSWORD })
  const secret = fromBase32(begun.body.secret)
  /** The app's next code. */
  const code = () => {
    t.clock.advance(30_000)
    return codeOf(secret, Math.floor(t.clock.now() / 30_000))
  }
  await ann.call('POST', '/person/two-factor/confirm', { code: code() })
  for (const path of ['/person/passkey-challenge', `/person/passkeys/${kept.body.passkey_id}/delete`]) {
    const given = (proof: object) => ann.call('POST', path, { password: PASSWORD, ...proof })
    expect(outcome(await given({}))).toEqual([422, 'validation_failed'])
    expect(outcome(await given({ code: '000000' }))).toEqual([403, 'wrong_code'])
    const used = code()
    expect((await given({ code: used })).status).toBeLessThan(300)
    expect(outcome(await given({ code: used }))).toEqual([403, 'wrong_code'])
  }
  expect((await ann.call('GET', '/person/passkeys')).body.total).toBe(0)
})

test('where the console has no name, or no TLS, none are offered', async () => {
  const isOffered = async (site: string) => {
    const t = await testApp({ siteUrl: () => site })
    const { call } = openBrowser(t)
    const refused = outcome(await call('POST', '/sign-in/passkey-challenge'))
    const { passkey_origin } = (await call('GET', '/sign-in/options')).body
    expect(refused).toEqual(passkey_origin ? [200, undefined] : [409, 'passkeys_unavailable'])
    return passkey_origin
  }
  expect(await isOffered('https://cloud.example')).toBe('https://cloud.example')
  for (const site of ['http://cloud.example', 'http://127.0.0.1:8080', 'https://192.0.2.7'])
    expect(await isOffered(site)).toBe(null)
})
