// Freezing an account: it is cut off at once, and its evidence is kept.
import { expect, test } from 'vitest'
import { setOperator } from '../../../api/people/person/people.ts'
import { codeOf as shownBy } from '../../../api/people/two-factor/totp.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { fromBase32, PASSWORD, signUp } from '../harness/browser.ts'
import { make } from '../harness/ordering.ts'

const DAY = 24 * 3600_000
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]
const FROZEN = [403, 'account_frozen']
const reason = { reason: 'A complaint' }

async function withOperator(options: Parameters<typeof testApp>[0] = {}) {
  const t = await testApp(options)
  const { person, call } = await signUp(t, 'olga@example.com')
  await setOperator(t.db, person.person_id, true)
  const { secret } = (await call('POST', '/person/two-factor', { password: PASSWORD })).body
  const code = shownBy(fromBase32(secret), Math.floor(t.clock.now() / 30_000))
  await call('POST', '/person/two-factor/confirm', { code })
  const change = (verb: string, id = t.accountId) => call('POST', `/operator/accounts/${id}/${verb}`, reason)
  return { t, call, change }
}

async function look(t: TestApp): Promise<void> {
  await t.app.billing.look()
  await t.finish()
}

test('a frozen account loses its network at once and its power within one check; only its tokens are refused', async () => {
  const { t, change, call } = await withOperator()
  const [on, off] = [await make(t), await make(t, { start_on_create: false })]
  await t.finish()
  const frozen = await change('freeze')
  expect(frozen.body).toMatchObject({ status: 'suspended', is_frozen: true, status_reason: 'A complaint' })
  await t.app.connectivity.settled()
  expect(t.driver.networkOf(on)).toMatchObject({ isCut: true })
  const refused = await t.call('GET', '/servers')
  expect(codeOf(refused)).toEqual(FROZEN)
  expect(refused.body.detail).toContain('A complaint')
  for (const id of [on, off]) expect(codeOf(await t.call('DELETE', `/servers/${id}`))).toEqual(FROZEN)
  expect(codeOf(await t.call('POST', '/account/payments', { amount: '100' }))).toEqual(FROZEN)
  expect((await call('GET', '/servers')).status).toBe(200)

  await t.app.billing.look()
  const stops = await t.db.selectFrom('operations').select('data').where('type', '=', 'stop').execute()
  expect(stops.map(({ data }) => JSON.parse(data))).toMatchObject([{ force: true }])
  await t.finish()
  expect(await t.driver.inspect(on)).toMatchObject({ power: 'stopped' })

  // As if the service was killed before it replied.
  expect((await change('freeze')).body).toMatchObject({
    is_frozen: true,
    status_since: frozen.body.status_since,
  })
  expect(codeOf(await change('suspend'))).toEqual([409, 'account_status_conflict'])
  expect(codeOf(await change('close'))).toEqual([409, 'account_status_conflict'])

  expect((await change('resume')).body).toMatchObject({ status: 'active', is_frozen: false })
  await look(t)
  expect((await t.call('GET', `/servers/${on}`)).body.status).toBe('running')
  expect((await t.call('GET', `/servers/${off}`)).body.status).toBe('stopped')
  expect(t.driver.networkOf(on)).toMatchObject({ isCut: false })
})

test('an account that is resumed before a server stops gets its network back', async () => {
  const { t, change } = await withOperator()
  const id = await make(t)
  await t.finish()
  await change('freeze')
  await change('resume')
  await t.app.connectivity.settled()
  expect(t.driver.networkOf(id)).toMatchObject({ isCut: false })
  expect((await t.call('GET', `/servers/${id}`)).body.status).toBe('running')
})

test('members of a frozen account are refused with the reason, still sign in, and cannot delete themselves', async () => {
  const { t, change } = await withOperator()
  const ann = await signUp(t, 'ann@example.com')
  await change('freeze', ann.person.account_id)
  expect(codeOf(await ann.call('GET', '/servers'))).toEqual(FROZEN)
  expect((await ann.call('GET', '/account/me')).body.detail).toContain('A complaint')
  expect((await ann.call('GET', '/person')).status).toBe(200)
  await look(t)
  for (let round = 0; round < 5; round++) await t.app.mails.look()
  const { subject, text } = t.mails.at(-1) ?? {}
  expect([subject, text]).toEqual([
    'Your account at localhost is frozen',
    expect.stringContaining('A complaint'),
  ])
  expect(text).not.toContain('delete servers')
  const left = await ann.call('POST', '/person/leave', { account_id: ann.person.account_id })
  expect(codeOf(left)).toEqual(FROZEN)
  const deleted = await ann.call('POST', '/person/delete', { password: PASSWORD })
  expect(codeOf(deleted)).toEqual([409, 'account_in_use'])
  await change('resume', ann.person.account_id)
  expect((await ann.call('GET', '/servers')).status).toBe(200)
})

test('a server of a frozen account is kept past the time of its deletion, also of one that was closed', async () => {
  for (const before of ['suspend', 'close']) {
    const { t, change } = await withOperator({ keepSuspendedMs: 10 * DAY })
    const id = await make(t)
    await t.finish()
    await change(before)
    await look(t)
    await look(t)
    await change('freeze')
    t.clock.advance(12 * DAY)
    await look(t)
    await look(t)
    expect(await t.driver.inspect(id)).toMatchObject({ power: 'stopped' })
    await change('resume')
    expect((await t.call('GET', `/servers/${id}`)).body).toMatchObject({ delete_at: null })
  }
})
