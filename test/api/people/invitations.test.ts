import { expect, test } from 'vitest'
import { type TestApp, testApp } from '../../harness/app.ts'
import { linkTo, openBrowser, PASSWORD, signUp } from '../harness/browser.ts'

const EVE = 'eve@example.com'
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

async function invite(t: TestApp, call: TestApp['call'], email: string, role: string): Promise<string> {
  expect((await call('POST', '/account/invitations', { email, role })).status).toBe(201)
  return linkTo(t, email)
}

const accept = (t: TestApp, token: string) =>
  openBrowser(t).call('POST', '/invitations/accept', { token, name: 'Eve', password: PASSWORD })

/** Ann's account with Bob as an admin, who has invited Eve as an admin. */
async function invitedByBob() {
  const t = await testApp()
  const ann = await signUp(t, 'ann@example.com')
  const bob = await signUp(t, 'bob@example.com')
  const token = await invite(t, ann.call, 'bob@example.com', 'admin')
  expect((await bob.call('POST', '/invitations/accept', { token })).status).toBe(200)
  const link = await invite(t, bob.call, EVE, 'admin')
  const { items } = (await ann.call('GET', '/account/members')).body
  const { member_id } = items.find(({ email }: { email: string }) => email === 'bob@example.com')
  return { t, ann, bob, link, path: `/account/members/${member_id}` }
}

const standing = async ({ call }: { call: TestApp['call'] }) => [
  (await call('GET', '/account/invitations')).body.total,
  (await call('GET', '/account/me')).body.quotas.members.used,
]

test('an invitation ends with the membership of the person who made it', async () => {
  const { t, ann, link, path } = await invitedByBob()
  expect(await standing(ann)).toEqual([1, 3])
  expect((await ann.call('DELETE', path)).status).toBe(204)
  expect(codeOf(await accept(t, link))).toEqual([403, 'link_invalid'])
  expect(await standing(ann)).toEqual([0, 1])
})

test('an invitation ends when the person who made it may no longer give its role', async () => {
  const { t, ann, link, path } = await invitedByBob()
  expect((await ann.call('PATCH', path, { role: 'billing' })).status).toBe(200)
  expect(codeOf(await accept(t, link))).toEqual([403, 'link_invalid'])
  expect(await standing(ann)).toEqual([0, 2])
})

test('an invitation ends with the person who made it, and with the token', async () => {
  const { t, ann, bob, link } = await invitedByBob()
  expect((await bob.call('POST', '/person/delete', { password: PASSWORD })).status).toBe(204)
  expect(codeOf(await accept(t, link))).toEqual([403, 'link_invalid'])

  const made = (await ann.call('POST', '/account/tokens', { name: 'ci', scopes: ['read', 'write'] })).body
  const second = await invite(t, t.callAs(made.token), EVE, 'viewer')
  expect((await openBrowser(t).call('POST', '/invitations/look', { token: second })).status).toBe(200)
  expect((await ann.call('DELETE', `/account/tokens/${made.token_id}`)).status).toBe(204)
  expect(codeOf(await accept(t, second))).toEqual([403, 'link_invalid'])
})

test('an invitation by a token lasts as long as the token is not revoked', async () => {
  const t = await testApp()
  const ann = await signUp(t, 'ann@example.com')
  const made = (await ann.call('POST', '/account/tokens', { name: 'ci', scopes: ['read', 'write'] })).body
  expect((await accept(t, await invite(t, t.callAs(made.token), EVE, 'viewer'))).status).toBe(200)
})

test('a token that expires or is limited to addresses invites nobody, withdraws nothing and changes no member', async () => {
  const { t, ann, path } = await invitedByBob()
  const limits = [{ expires_at: '2026-12-01T00:00:00Z' }, { cidrs: ['127.0.0.1/32'] }]
  for (const [at, limit] of limits.entries()) {
    const body = { name: 'ci', scopes: ['read', 'write'], ...limit }
    const { token } = (await ann.call('POST', '/account/tokens', body)).body
    const call = t.callAs(token)
    expect((await call('GET', '/account/members')).status).toBe(200)
    const refused = [403, 'role_not_allowed']
    const order = { email: `x${at}@example.com`, role: 'viewer' }
    expect(codeOf(await call('POST', '/account/invitations', order))).toEqual(refused)
    expect(codeOf(await call('PATCH', path, { role: 'viewer' }))).toEqual(refused)
    expect(codeOf(await call('DELETE', path))).toEqual(refused)
    const made = await ann.call('POST', '/account/invitations', order)
    const open = `/account/invitations/${made.body.invitation_id}`
    expect(codeOf(await call('DELETE', open))).toEqual(refused)
    expect((await ann.call('DELETE', open)).status).toBe(204)
  }
})

test('the mail of an invitation contains the address of the person who sent it, and no name', async () => {
  const t = await testApp()
  const name = 'Berth billing: suspended, pay https://evil.example/p'
  const ann = await signUp(t, 'ann@example.com', PASSWORD, name)
  const made = (await ann.call('POST', '/account/tokens', { name, scopes: ['read', 'write'] })).body
  for (const call of [ann.call, t.callAs(made.token)])
    for (const language of ['en', 'ru']) {
      const order = { email: EVE, role: 'viewer', language }
      expect((await call('POST', '/account/invitations', order)).status).toBe(201)
      await t.app.mails.look()
      const { subject, text, html, link } = t.mails.at(-1) ?? {}
      expect(text).toContain('ann@example.com')
      expect(`${subject} ${text} ${html}`).not.toMatch(/billing|evil/)
      expect(link).toMatch(/^http:\/\/localhost\/invitation#/)
      t.clock.advance(3600_000)
    }
})
