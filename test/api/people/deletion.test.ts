import pino from 'pino'
import { expect, test } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { codeOf } from '../../../api/people/two-factor/totp.ts'
import { catalogWith } from '../../harness/addresses.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { fromBase32, linkTo, openBrowser, PASSWORD, signUp } from '../harness/browser.ts'
import { make } from '../harness/ordering.ts'

const EMAIL = 'ann@example.com'
const proof = { password: PASSWORD }
const outcome = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]
type Person = Awaited<ReturnType<typeof signUp>>

const deleted = async ({ call }: Pick<Person, 'call'>, body: object = proof) =>
  outcome(await call('POST', '/person/delete', body))

/** Makes somebody a member of another's account. */
async function join(t: TestApp, host: Person, guest: Person, role: string): Promise<string> {
  const { email } = guest.person
  await host.call('POST', '/account/invitations', { email, role })
  const reply = await guest.call('POST', '/invitations/accept', { token: await linkTo(t, email) })
  expect(reply.status).toBe(200)
  const { items } = (await host.call('GET', '/account/members')).body
  return items.find((member: { email: string }) => member.email === email).member_id
}

test('who deletes herself leaves nothing that signs her in; her account is closed, and its audit keeps her id', async () => {
  const lines: string[] = []
  const securityLog = pino({}, { write: (line: string) => void lines.push(line) })
  const t = await testApp({ securityLog })
  const ann = await signUp(t, EMAIL)
  const { person_id, account_id } = ann.person
  const token = await ann.call('POST', '/account/tokens', { name: 'x', scopes: ['read'] })
  const key = { passkey_id: 'x', credential_id: 'x', public_key: 'x', is_synced: 0, counter: 0, name: 'x' }
  await t.db
    .insertInto('passkeys')
    .values({ ...key, person_id, created_at: 0, last_used_at: null })
    .execute()
  const identity = { person_id, issuer: 'https://x.example', subject: 'x', created_at: 0 }
  await t.db.insertInto('identities').values(identity).execute()
  await openBrowser(t).call('POST', '/password-reset', { email: EMAIL })
  const reset = { token: await linkTo(t, EMAIL), password: 'nine green lamps' }
  const reply = await ann.call('POST', '/person/delete', proof)
  expect(reply.status).toBe(204)
  expect(reply.headers['set-cookie']).toMatch(/^berth_session=;.*Max-Age=0/)
  for (const table of [
    'people',
    'members',
    'sessions',
    'passkeys',
    'identities',
    'two_factors',
    'links',
  ] as const)
    expect([table, await t.db.selectFrom(table).selectAll().execute()]).toEqual([table, []])
  const elsewhere = openBrowser(t)
  expect(outcome(await elsewhere.call('POST', '/sign-in', { email: EMAIL, ...proof }))).toEqual([
    401,
    'sign_in_failed',
  ])
  expect(outcome(await elsewhere.call('POST', '/password-reset/complete', reset))).toEqual([
    403,
    'link_invalid',
  ])
  expect(outcome(await t.callAs(token.body.token)('GET', '/account/me'))).toEqual([401, 'token_revoked'])
  const account = t.db.selectFrom('accounts').selectAll().where('account_id', '=', account_id)
  expect(await account.executeTakeFirst()).toMatchObject({
    status: 'closed',
    name: 'Deleted',
    email: `${account_id}@unknown.invalid`,
  })
  const [entry] = await t.db
    .selectFrom('audit')
    .selectAll()
    .where('account_id', '=', account_id)
    .where('action', '=', 'deletePerson')
    .execute()
  expect(entry).toMatchObject({ object_type: 'person', object_id: person_id, person_id })
  await t.app.mails.look()
  expect(t.mails.at(-1)).toMatchObject({ to: EMAIL, subject: 'Your sign-in at localhost was deleted' })
  await t.app.security.stop()
  expect(lines.map((line) => JSON.parse(line).event)).toContain('person_deleted')
})

test('who comes back signs up with the same address, to an account of her own', async () => {
  const t = await testApp()
  const first = await signUp(t, EMAIL)
  expect(await deleted(first)).toEqual([204, undefined])
  const { person } = await signUp(t, EMAIL)
  expect(person.accounts).toMatchObject([{ email: EMAIL, status: 'active', role: 'owner' }])
  expect(person.account_id).not.toBe(first.person.account_id)
})

test('accounts of others stay as they are, without her and the tokens that she created there', async () => {
  const t = await testApp()
  const [ann, bob] = [await signUp(t, EMAIL), await signUp(t, 'bob@example.com')]
  await join(t, bob, ann, 'admin')
  const inBobs = { 'berth-account': bob.person.account_id }
  const { body } = await ann.call('POST', '/account/tokens', { name: 'x', scopes: ['read'] }, inBobs)
  expect(await deleted(ann)).toEqual([204, undefined])
  expect((await bob.call('GET', '/account/members')).body.items).toMatchObject([{ email: 'bob@example.com' }])
  expect(outcome(await t.callAs(body.token)('GET', '/account/me'))).toEqual([401, 'token_revoked'])
  const events = (await bob.call('GET', '/events')).body.items
  expect(events.at(-1)).toMatchObject({ type: 'member.deleted', data: { email: EMAIL } })
  const { items } = (await bob.call('GET', '/account/audit')).body
  expect(items[0]).toMatchObject({ action: 'deletePerson', person_id: ann.person.person_id })
  expect((await bob.call('GET', '/account/me')).body.status).toBe('active')
})

test('the only owner of an account that others are in makes one of them an owner first', async () => {
  const t = await testApp()
  const [ann, bob] = [await signUp(t, EMAIL), await signUp(t, 'bob@example.com')]
  const member = await join(t, ann, bob, 'viewer')
  expect(await deleted(ann)).toEqual([409, 'last_owner'])
  expect((await ann.call('GET', '/person')).status).toBe(200)
  await ann.call('PATCH', `/account/members/${member}`, { role: 'owner' })
  const both = await Promise.all([deleted(ann), deleted(bob)])
  expect(both).toEqual([
    [204, undefined],
    [204, undefined],
  ])
  expect(await t.db.selectFrom('accounts').select('status').where('status', '=', 'active').execute()).toEqual(
    // The operator's log entry.
    [{ status: 'active' }],
  )
})

test('servers, public addresses and debts are dealt with first', async () => {
  const t = await testApp({ catalog: catalogWith('public_ipv4: [203.0.113.0/28]') })
  const ann = await signUp(t, EMAIL)
  const { account_id: accountId } = ann.person
  const book = (amount: number) =>
    post(t.db, t.clock, { accountId, type: 'payment', amount, description: 'x', reference: null })
  await book(10_000_0000)
  const reserved = await ann.call('POST', '/addresses', { zone_slug: 'local-1', family: 'ipv4' })
  expect(reserved.status).toBe(201)
  expect(await deleted(ann)).toEqual([409, 'account_in_use'])
  await ann.call('DELETE', `/addresses/${reserved.body.address_id}`)
  const id = await make({ ...t, call: ann.call })
  expect(await deleted(ann)).toEqual([409, 'account_in_use'])
  await ann.call('DELETE', `/servers/${id}`)
  await t.finish()
  await book(-20_000_0000)
  expect(await deleted(ann)).toEqual([409, 'account_in_use'])
  await book(20_000_0000)
  expect(await deleted(ann)).toEqual([204, undefined])
})

test('it takes the password, and the code of who has one; a token does nothing', async () => {
  const t = await testApp()
  const ann = await signUp(t, EMAIL)
  expect(await deleted(ann, {})).toEqual([422, 'validation_failed'])
  expect(await deleted(ann, { password: 'wrong' })).toEqual([403, 'wrong_password'])
  expect(await deleted(t)).toEqual([403, 'person_required'])
  const { secret } = (await ann.call('POST', '/person/two-factor', proof)).body
  const code = () => {
    t.clock.advance(30_000)
    return codeOf(fromBase32(secret), Math.floor(t.clock.now() / 30_000))
  }
  await ann.call('POST', '/person/two-factor/confirm', { code: code() })
  const other = openBrowser(t)
  const { ticket } = (await other.call('POST', '/sign-in', { email: EMAIL, ...proof })).body
  expect(await deleted(ann)).toEqual([422, 'validation_failed'])
  expect(await deleted(ann, { ...proof, code: '000000' })).toEqual([403, 'wrong_code'])
  expect(await deleted(ann, { ...proof, code: code() })).toEqual([204, undefined])
  const late = await other.call('POST', '/sign-in/two-factor', { ticket, code: code() })
  expect(outcome(late)).toEqual([403, 'ticket_invalid'])
})

test('whatever else she does at the same moment fails as for a session that has ended', async () => {
  const t = await testApp()
  const [ann, bob] = [await signUp(t, EMAIL), await signUp(t, 'bob@example.com')]
  await bob.call('POST', '/account/invitations', { email: EMAIL, role: 'viewer' })
  const token = await linkTo(t, EMAIL)
  const replies = await Promise.all([
    ann.call('POST', '/person/delete', proof),
    ann.call('POST', '/invitations/accept', { token }),
    ann.call('POST', '/person/two-factor', proof),
    ann.call('POST', '/person/password', { current_password: PASSWORD, new_password: 'nine green lamps' }),
    openBrowser(t).call('POST', '/sign-in', { email: EMAIL, ...proof }),
  ])
  expect(replies.map(({ status }) => status).filter((status) => status >= 500)).toEqual([])
  if (replies[0].status === 204)
    for (const table of ['two_factors', 'sessions', 'members'] as const) {
      const rows = t.db.selectFrom(table).selectAll().where('person_id', '=', ann.person.person_id)
      expect([table, await rows.execute()]).toEqual([table, []])
    }
})
