import pino from 'pino'
import { expect, test } from 'vitest'
import { codeOf } from '../../../api/people/two-factor/totp.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { fromBase32, linkTo, openBrowser, PASSWORD, signUp } from '../harness/browser.ts'
import { openProvider } from '../harness/provider.ts'

const OLD = 'ann@example.com'
const NEW = 'ann@new.example'
const wanted = { email: NEW, password: PASSWORD }
const outcome = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

/** The mails to an address, by subject. */
async function mailsTo(t: TestApp, email: string): Promise<string[]> {
  await t.app.mails.look()
  return t.mails.filter(({ to }) => to === email).map(({ subject }) => subject)
}

const entersAs = async (t: TestApp, email: string) =>
  (await openBrowser(t).call('POST', '/sign-in', { email, password: PASSWORD })).status

test('an address is changed by a link to the new one; the earlier one is told, other sessions end, and the account follows', async () => {
  const lines: string[] = []
  const securityLog = pino({}, { write: (line: string) => void lines.push(line) })
  const t = await testApp({ securityLog })
  const ann = await signUp(t, OLD)
  const elsewhere = openBrowser(t)
  await elsewhere.call('POST', '/sign-in', { email: OLD, password: PASSWORD })
  expect((await ann.call('POST', '/person/email', { ...wanted, email: 'Ann@New.example' })).status).toBe(204)
  expect((await ann.call('GET', '/person')).body.email).toBe(OLD)
  const token = await linkTo(t, NEW)
  expect((await ann.call('POST', '/person/email/confirm', { token })).status).toBe(204)
  expect((await ann.call('GET', '/person')).body).toMatchObject({ email: NEW, accounts: [{ email: NEW }] })
  expect(outcome(await elsewhere.call('GET', '/person'))).toEqual([401, 'session_ended'])
  expect([await entersAs(t, NEW), await entersAs(t, OLD)]).toEqual([200, 401])
  expect(await mailsTo(t, NEW)).toEqual(['Confirm this address for localhost'])
  expect((await mailsTo(t, OLD)).slice(1)).toEqual(['Your e-mail address for localhost was changed'])
  const { items } = (await ann.call('GET', '/account/audit')).body
  expect(items[0]).toMatchObject({ action: 'confirmEmailChange', object_type: 'person', person_email: OLD })
  const events = (await ann.call('GET', '/events')).body.items
  expect(events.at(-1)).toMatchObject({ type: 'member.updated', data: { email: NEW, role: 'owner' } })
  expect(outcome(await ann.call('POST', '/person/email/confirm', { token }))).toEqual([403, 'link_invalid'])
  await t.app.security.stop()
  expect(lines.map((line) => JSON.parse(line).event)).toContain('email_changed')
  expect(lines.join()).not.toContain(token)
})

test('who has left an address signs up with it nobody but herself: it is free, with an account of its own', async () => {
  const t = await testApp()
  const ann = await signUp(t, OLD)
  await ann.call('POST', '/person/email', wanted)
  await ann.call('POST', '/person/email/confirm', { token: await linkTo(t, NEW) })
  const other = await signUp(t, OLD)
  expect(other.person.accounts).toMatchObject([{ email: OLD, role: 'owner' }])
  expect(other.person.account_id).not.toBe(ann.person.account_id)
})

test('an account that the operator opened for the new address becomes theirs, and neither keeps the earlier one', async () => {
  const t = await testApp()
  const ann = await signUp(t, OLD)
  const email = 'customer1@example.com'
  await ann.call('POST', '/person/email', { email, password: PASSWORD })
  await ann.call('POST', '/person/email/confirm', { token: await linkTo(t, email) })
  const { account_id } = ann.person
  const accounts = [{ account_id, email: `${account_id}@unknown.invalid` }, { email }]
  expect((await ann.call('GET', '/person')).body.accounts).toMatchObject(accounts)
  const next = await signUp(t, OLD)
  expect(next.person.accounts).toMatchObject([{ email: OLD, role: 'owner' }])
})

test('an account that its first owner has left is known by the address of an owner who stayed', async () => {
  const t = await testApp()
  const ann = await signUp(t, OLD)
  const { account_id } = ann.person
  await ann.call('POST', '/account/invitations', { email: NEW, role: 'owner' })
  const body = { token: await linkTo(t, NEW), name: 'Bob', password: PASSWORD }
  const bob = openBrowser(t)
  expect((await bob.call('POST', '/invitations/accept', body)).status).toBe(200)
  const { items } = (await ann.call('GET', '/account/members')).body
  const { member_id } = items.find(({ email }: { email: string }) => email === OLD)
  expect((await ann.call('DELETE', `/account/members/${member_id}`)).status).toBe(204)
  expect((await bob.call('GET', '/person')).body.accounts).toMatchObject([{ account_id, email: NEW }])
  expect((await ann.call('POST', '/person/delete', { password: PASSWORD })).status).toBe(204)
  expect((await signUp(t, OLD)).person.accounts).toMatchObject([{ email: OLD, role: 'owner' }])
})

test('who signs up with the address of an account that others keep gets an account of their own', async () => {
  const t = await testApp()
  const ann = await signUp(t, 'bob@example.com')
  const { account_id } = ann.person
  await t.db.updateTable('accounts').set({ email: OLD }).where('account_id', '=', account_id).execute()
  expect((await signUp(t, OLD)).person.accounts).toMatchObject([{ email: OLD, role: 'owner' }])
  const { email } = (await ann.call('GET', '/account/me')).body
  expect(email).toBe(`${account_id}@unknown.invalid`)
})

test('nobody learns whether an address is taken; its reader does, and gets no link', async () => {
  const t = await testApp()
  const ann = await signUp(t, OLD)
  await signUp(t, 'bob@example.com')
  await ann.call('PATCH', '/person', { language: 'ru' })
  const taken = await ann.call('POST', '/person/email', { ...wanted, email: 'bob@example.com' })
  const free = await ann.call('POST', '/person/email', wanted)
  expect([taken.status, taken.body]).toEqual([free.status, free.body])
  expect(await mailsTo(t, NEW)).toEqual(['Подтвердите этот адрес для localhost'])
  expect((await mailsTo(t, 'bob@example.com')).slice(1)).toEqual([
    'У вас уже есть учётная запись на localhost',
  ])
  expect(await linkTo(t, 'bob@example.com')).toBe('')
})

test('of several who want one address the first who confirms has it, also at the same moment', async () => {
  const t = await testApp()
  const ann = await signUp(t, OLD)
  const guest = openBrowser(t)
  await guest.call('POST', '/sign-up', { email: NEW })
  const signUpLink = await linkTo(t, NEW)
  await ann.call('POST', '/person/email', wanted)
  const emailLink = await linkTo(t, NEW)
  const [changed, signedUp] = await Promise.all([
    ann.call('POST', '/person/email/confirm', { token: emailLink }),
    guest.call('POST', '/sign-up/complete', { token: signUpLink, name: 'Ann', password: PASSWORD }),
  ])
  const replies = [outcome(changed), outcome(signedUp)]
  expect(replies).toContainEqual([403, 'link_invalid'])
  expect(replies.filter(([status]) => status !== 403)).toHaveLength(1)
  expect(await t.db.selectFrom('people').selectAll().where('email', '=', NEW).execute()).toHaveLength(1)
})

test('it takes the password, and the code of who has one; a session alone or a token does nothing', async () => {
  const t = await testApp()
  const ann = await signUp(t, OLD)
  const ask = async (body: object) => outcome(await ann.call('POST', '/person/email', body))
  expect(await ask({ email: NEW })).toEqual([422, 'validation_failed'])
  expect(await ask({ email: NEW, password: 'wrong' })).toEqual([403, 'wrong_password'])
  expect(outcome(await t.call('POST', '/person/email', wanted))).toEqual([403, 'person_required'])
  const { secret } = (await ann.call('POST', '/person/two-factor', { password: PASSWORD })).body
  const code = () => {
    t.clock.advance(30_000)
    return codeOf(fromBase32(secret), Math.floor(t.clock.now() / 30_000))
  }
  await ann.call('POST', '/person/two-factor/confirm', { code: code() })
  expect(await ask(wanted)).toEqual([422, 'validation_failed'])
  expect(await ask({ ...wanted, code: '000000' })).toEqual([403, 'wrong_code'])
  expect(await mailsTo(t, NEW)).toEqual([])
  expect(await ask({ ...wanted, code: code().replace(/(...)/, '$1 ') })).toEqual([204, undefined])
})

test('a link is for the person who asked, for an hour; one to a mistyped address opens nothing to its reader', async () => {
  const t = await testApp()
  const ann = await signUp(t, OLD)
  const bob = await signUp(t, 'bob@example.com')
  await ann.call('POST', '/person/email', wanted)
  const token = await linkTo(t, NEW)
  const use = async ({ call }: Pick<TestApp, 'call'>) =>
    outcome(await call('POST', '/person/email/confirm', { token }))
  expect(await use(openBrowser(t))).toEqual([401, 'missing_token'])
  expect(await use(bob)).toEqual([403, 'link_invalid'])
  t.clock.advance(3600_000)
  expect(await use(ann)).toEqual([403, 'link_invalid'])
})

test('what was mailed to the earlier address opens nothing any more', async () => {
  const t = await testApp()
  const ann = await signUp(t, OLD)
  await ann.call('POST', '/password-reset', { email: OLD })
  const reset = { token: await linkTo(t, OLD), password: 'nine green lamps' }
  await ann.call('POST', '/person/email', wanted)
  await ann.call('POST', '/person/email/confirm', { token: await linkTo(t, NEW) })
  const late = await openBrowser(t).call('POST', '/password-reset/complete', reset)
  expect(outcome(late)).toEqual([403, 'link_invalid'])
  expect(await entersAs(t, NEW)).toBe(200)
})

test('a provider that signs her in does so as before, and stands in for the password soon after', async () => {
  const provider = await openProvider()
  const t = await testApp({ oidc: provider.oidc })
  provider.people.set('ann', { email: OLD, email_verified: true, name: 'Ann' })
  const enter = async () => {
    const browser = openBrowser(t)
    const { url, ticket } = (await browser.call('POST', '/sign-in/provider/begin')).body
    const answer = await provider.visit(url, 'ann')
    const { body } = await browser.call('POST', '/sign-in/provider', { ticket, answer })
    return { ...browser, person: body.person }
  }
  const ann = await enter()
  expect((await ann.call('POST', '/person/email', { email: NEW })).status).toBe(204)
  await ann.call('POST', '/person/email/confirm', { token: await linkTo(t, NEW) })
  const again = await enter()
  expect(again.person).toMatchObject({ person_id: ann.person.person_id, email: NEW })
  t.clock.advance(600_000)
  expect(outcome(await again.call('POST', '/person/email', { email: OLD }))).toEqual([403, 'sign_in_again'])
})

test('mails to an address are as few as those of strangers', async () => {
  const t = await testApp()
  const ann = await signUp(t, OLD)
  for (let n = 0; n < 3; n += 1) expect((await ann.call('POST', '/person/email', wanted)).status).toBe(204)
  expect(outcome(await ann.call('POST', '/person/email', wanted))).toEqual([429, 'rate_limited'])
  expect(outcome(await ann.call('POST', '/password-reset', { email: NEW }))).toEqual([429, 'rate_limited'])
})
