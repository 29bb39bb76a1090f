import { expect, test } from 'vitest'
import { SqliteShortcut } from '../../../api/database/sqlite.ts'
import { CredentialAccess } from '../../../api/people/access.ts'
import { type TestApp, testApp } from '../../harness/app.ts'
import { linkTo, openBrowser, PASSWORD, signUp } from '../harness/browser.ts'

const BOB = 'bob@example.com'
const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

/** An account with an owner, Ann, and Bob, whom Ann has invited. */
async function team(role: string, t?: TestApp) {
  const app = t ?? (await testApp())
  const ann = await signUp(app, 'ann@example.com')
  expect((await ann.call('POST', '/account/invitations', { email: BOB, role })).status).toBe(201)
  const bob = openBrowser(app)
  const token = await linkTo(app, BOB)
  const accepted = await bob.call('POST', '/invitations/accept', { token, name: 'Bob', password: PASSWORD })
  expect(accepted).toMatchObject({ status: 200, body: { is_signed_in: true } })
  return { t: app, ann, bob: { ...bob, person: accepted.body.person } }
}

const memberOf = async (call: TestApp['call'], email: string) =>
  (await call('GET', '/account/members')).body.items.find(
    (member: { email: string }) => member.email === email,
  )

test('who is invited signs up by the link, is in that account alone, and does what her role allows', async () => {
  const { ann, bob } = await team('viewer')
  expect(bob.person).toMatchObject({ email: BOB, account_id: ann.person.account_id })
  expect(bob.person.accounts).toMatchObject([{ account_id: ann.person.account_id, role: 'viewer' }])
  expect((await bob.call('GET', '/servers')).status).toBe(200)
  expect(codeOf(await bob.call('POST', '/servers', {}))).toEqual([403, 'insufficient_scope'])
  expect((await bob.call('GET', '/account/me')).body.scopes).toEqual(['account:read', 'servers:read'])
  const body = { email: 'x@example.com', role: 'viewer' }
  expect(codeOf(await bob.call('POST', '/account/invitations', body))).toEqual([403, 'insufficient_scope'])
  const { items } = (await ann.call('GET', '/account/audit')).body
  expect(items[0]).toMatchObject({ action: 'acceptInvitation', person_email: BOB })
  expect((await ann.call('GET', '/account/invitations')).body.total).toBe(0)
})

test('an invitation says what it is for, works once, and only for its address', async () => {
  const t = await testApp()
  const ann = await signUp(t, 'ann@example.com')
  const bob = await signUp(t, BOB)
  const eve = await signUp(t, 'eve@example.com')
  await ann.call('POST', '/account/invitations', { email: BOB.toUpperCase(), role: 'member', language: 'ru' })
  const token = await linkTo(t, BOB)
  const stranger = openBrowser(t)
  expect((await stranger.call('POST', '/invitations/look', { token })).body).toEqual({
    account_name: 'Ann',
    email: BOB,
    role: 'member',
    expires_at: '2026-11-27T12:00:00.000Z',
    has_person: true,
  })
  const accept = (call: TestApp['call']) => call('POST', '/invitations/accept', { token })
  expect(codeOf(await accept(stranger.call))).toEqual([401, 'missing_token'])
  expect(codeOf(await accept(eve.call))).toEqual([409, 'invitation_for_another'])
  const { person } = (await accept(bob.call)).body
  expect(person.account_id).toBe(ann.person.account_id)
  expect(person.accounts.map(({ role }: { role: string }) => role)).toEqual(['owner', 'member'])
  expect(codeOf(await accept(bob.call))).toEqual([403, 'link_invalid'])
  const again = await ann.call('POST', '/account/invitations', { email: BOB, role: 'viewer' })
  expect(codeOf(again)).toEqual([409, 'already_member'])
  // Bob continues in his own account, for one request or for good.
  const own = { 'berth-account': bob.person.account_id }
  expect((await bob.call('GET', '/account/me', undefined, own)).body.account_id).toBe(bob.person.account_id)
  await bob.call('POST', '/person/account', { account_id: bob.person.account_id })
  expect((await bob.call('GET', '/account/me')).body.person.role).toBe('owner')
})

test('an invitation ends when it is withdrawn, replaced, or a week old', async () => {
  const t = await testApp()
  const ann = await signUp(t, 'ann@example.com')
  const invite = async () => {
    const { body } = await ann.call('POST', '/account/invitations', { email: BOB, role: 'admin' })
    return { id: body.invitation_id, token: await linkTo(t, BOB) }
  }
  const look = async (token: string) =>
    (await openBrowser(t).call('POST', '/invitations/look', { token })).status
  const first = await invite()
  const second = await invite()
  expect([await look(first.token), await look(second.token)]).toEqual([403, 200])
  expect((await ann.call('DELETE', `/account/invitations/${second.id}`)).status).toBe(204)
  expect(await look(second.token)).toBe(403)
  const third = await invite()
  t.clock.advance(7 * 24 * 3600_000)
  expect(await look(third.token)).toBe(403)
  await t.app.retention.look()
  expect(await t.db.selectFrom('invitations').selectAll().execute()).toEqual([])
})

test('nobody gives or takes a role beyond her own, and owners are for owners who have signed in', async () => {
  const { t, ann, bob } = await team('billing')
  const owner = await memberOf(ann.call, 'ann@example.com')
  const invite = (call: TestApp['call'], role: string) =>
    call('POST', '/account/invitations', { email: `${role}@example.com`, role })
  for (const role of ['owner', 'admin', 'member', 'viewer'])
    expect([role, ...codeOf(await invite(bob.call, role))]).toEqual([role, 403, 'role_not_allowed'])
  expect((await invite(bob.call, 'billing')).status).toBe(201)
  const self = await memberOf(ann.call, BOB)
  for (const [id, role] of [
    [self.member_id, 'admin'],
    [owner.member_id, 'viewer'],
  ])
    expect(codeOf(await bob.call('PATCH', `/account/members/${id}`, { role }))).toEqual([
      403,
      'role_not_allowed',
    ])
  expect(codeOf(await bob.call('DELETE', `/account/members/${owner.member_id}`))).toEqual([
    403,
    'role_not_allowed',
  ])
  const token = t.callAs(await t.makeToken(['read', 'write'], { accountId: ann.person.account_id }))
  expect(codeOf(await invite(token, 'owner'))).toEqual([403, 'role_not_allowed'])
  expect((await invite(token, 'admin')).body.invited_by).toBeNull()
})

test('an account keeps an owner: the last one neither leaves, nor goes, nor becomes less', async () => {
  const { ann, bob } = await team('admin')
  const owner = await memberOf(ann.call, 'ann@example.com')
  const other = await memberOf(ann.call, BOB)
  const account = { account_id: ann.person.account_id }
  const path = `/account/members/${owner.member_id}`
  expect(codeOf(await ann.call('POST', '/person/leave', account))).toEqual([409, 'last_owner'])
  expect(codeOf(await ann.call('DELETE', path))).toEqual([409, 'last_owner'])
  expect(codeOf(await ann.call('PATCH', path, { role: 'admin' }))).toEqual([409, 'last_owner'])
  await ann.call('PATCH', `/account/members/${other.member_id}`, { role: 'owner' })
  // If two owners leave at once, one stays.
  const both = await Promise.all([ann, bob].map(({ call }) => call('POST', '/person/leave', account)))
  expect(both.map(({ status }) => status).sort()).toEqual([204, 409])
})

test('who is removed is out at once, with the tokens that she created and what she has open', async () => {
  const { t, ann, bob } = await team('admin')
  const made = async (name: string) =>
    (await bob.call('POST', '/account/tokens', { name, scopes: ['servers:read', 'account:write'] })).body
  const token = await made('ci')
  const child = await t.callAs(token.token)('POST', '/account/tokens', {
    name: 'x',
    scopes: ['servers:read'],
  })
  const member = await memberOf(ann.call, BOB)
  expect((await ann.call('DELETE', `/account/members/${member.member_id}`)).status).toBe(204)
  for (const value of [token.token, child.body.token])
    expect(codeOf(await t.callAs(value)('GET', '/servers'))).toEqual([401, 'token_revoked'])
  expect(codeOf(await bob.call('GET', '/servers'))).toEqual([403, 'no_account'])
  const named = { 'berth-account': ann.person.account_id }
  expect(codeOf(await bob.call('GET', '/servers', undefined, named))).toEqual([403, 'not_a_member'])
  expect((await bob.call('GET', '/person')).body.accounts).toEqual([])
})

test('a rotation leaves a person who is removed no token, and one whose role shrinks none beyond it', async () => {
  for (const lose of ['remove', 'demote']) {
    const { t, ann, bob } = await team('admin')
    const wanted = { name: 'ci', scopes: ['servers:write', 'account:write'] }
    const first = (await bob.call('POST', '/account/tokens', wanted)).body
    const second = (await t.callAs(first.token)('POST', '/account/tokens', wanted)).body
    const third = (await t.callAs(second.token)('POST', '/account/tokens', wanted)).body
    const rotated = [
      [first.token_id, second],
      [second.token_id, third],
    ] as const
    for (const [old, next] of rotated)
      expect((await t.callAs(next.token)('DELETE', `/account/tokens/${old}?keep_children=true`)).status).toBe(
        204,
      )
    const kept = (await ann.call('GET', `/account/tokens/${third.token_id}`)).body
    expect(kept).toMatchObject({ parent_token_id: null, person_id: bob.person.person_id })
    const path = `/account/members/${(await memberOf(ann.call, BOB)).member_id}`
    const lost = lose === 'remove' ? ann.call('DELETE', path) : ann.call('PATCH', path, { role: 'viewer' })
    expect((await lost).status).toBeLessThan(300)
    expect(codeOf(await t.callAs(third.token)('GET', '/servers'))).toEqual([401, 'token_revoked'])
  }
})

test('a stream of events ends with the session that opened it, and with the role', async () => {
  const { t, ann, bob } = await team('viewer')
  const member = await memberOf(ann.call, BOB)
  for (const end of [
    () => ann.call('PATCH', `/account/members/${member.member_id}`, { role: 'member' }),
    () => bob.call('POST', '/sign-out'),
  ]) {
    let ended: number | null = null
    void bob.call('GET', '/events/stream').then(({ status }) => (ended = status))
    // This reply comes after the invitation was accepted, so the account is open.
    for (let turn = 0; turn < 3; turn++) await bob.call('GET', '/events')
    await t.app.events.look()
    expect(ended).toBe(null)
    await end()
    await expect
      .poll(async () => {
        t.clock.advance(1_000)
        await t.app.events.look()
        return ended
      })
      .toBe(200)
  }
})

test('the look at who may still listen costs as many statements for many people as for one', async () => {
  let statements = 0
  const count = () => {
    statements += 1
  }
  const t = await testApp({ afterStatement: count })
  const { adapter } = t.db.getExecutor()
  // Prepared statements take a shortcut on SQLite, past the harness.
  if (adapter instanceof SqliteShortcut) {
    const run = adapter.run.bind(adapter)
    adapter.run = (query) => {
      count()
      return run(query)
    }
  }
  for (const name of ['ann', 'bob', 'cid', 'dan']) await signUp(t, `${name}@example.com`)
  const rows = await t.db
    .selectFrom('sessions')
    .innerJoin('members', 'members.person_id', 'sessions.person_id')
    .select(['session_id', 'sessions.person_id', 'members.account_id', 'member_id', 'role'])
    .execute()
  const all = rows.map(({ session_id, person_id, account_id: accountId, member_id, role }) => ({
    ...{ accountId, tokenId: null },
    person: { sessionId: session_id, personId: person_id, email: '', accountId, memberId: member_id, role },
  }))
  const access = new CredentialAccess(t.db, t.clock)
  const cost = async (some: typeof all) => {
    statements = 0
    expect(await access.stillValid(some)).toEqual(new Set(some))
    return statements
  }
  expect(all).toHaveLength(4)
  expect(await cost(all)).toBe(await cost(all.slice(0, 1)))
  const [first] = all
  await t.db
    .updateTable('accounts')
    .set({ status: 'suspended' })
    .where('account_id', '=', first?.accountId ?? '')
    .execute()
  expect(await access.stillValid(all)).toEqual(new Set(all.slice(1)))
})

test('a lesser role revokes the tokens that have more than it', async () => {
  const { t, ann, bob } = await team('admin')
  const make = async (scope: string) =>
    (await bob.call('POST', '/account/tokens', { name: scope, scopes: [scope] })).body.token
  const [writes, reads] = [await make('servers:write'), await make('servers:read')]
  const member = await memberOf(ann.call, BOB)
  const changed = await ann.call('PATCH', `/account/members/${member.member_id}`, { role: 'viewer' })
  expect(changed.body).toMatchObject({ email: BOB, role: 'viewer' })
  expect(codeOf(await t.callAs(writes)('GET', '/servers'))).toEqual([401, 'token_revoked'])
  expect((await t.callAs(reads)('GET', '/servers')).status).toBe(200)
})

test('people and invitations are so many and no more, and so are mails', async () => {
  const t = await testApp()
  const ann = await signUp(t, 'ann@example.com')
  await t.db.updateTable('accounts').set({ quotas: '{"members":2}' }).execute()
  const invite = (email: string) => ann.call('POST', '/account/invitations', { email, role: 'viewer' })
  expect((await invite(BOB)).status).toBe(201)
  expect((await invite('c@example.com')).body).toMatchObject({
    code: 'quota_exceeded',
    quota: { name: 'members', limit: 2, used: 2, requested: 1 },
  })
  for (let n = 0; n < 2; n += 1) expect((await invite(BOB)).status).toBe(201)
  expect(codeOf(await invite(BOB))).toEqual([429, 'rate_limited'])
})

test('where sign-up is closed an invitation lets in who has signed up before, and nobody else', async () => {
  const t = await testApp({ signUp: 'closed' })
  await t.call('POST', '/account/invitations', { email: BOB, role: 'viewer' })
  const body = { token: await linkTo(t, BOB), name: 'Bob', password: PASSWORD }
  const { call } = openBrowser(t)
  expect(codeOf(await call('POST', '/invitations/accept', body))).toEqual([403, 'sign_up_closed'])
})

test('an account that has asked somebody too often does not keep others from inviting her', async () => {
  const t = await testApp()
  const invite = (browser: { call: TestApp['call'] }) =>
    browser.call('POST', '/account/invitations', { email: BOB, role: 'viewer' })
  const [ann, eve] = [await signUp(t, 'ann@example.com'), await signUp(t, 'eve@example.com')]
  for (let n = 0; n < 3; n += 1) expect((await invite(eve)).status).toBe(201)
  expect(codeOf(await invite(eve))).toEqual([429, 'rate_limited'])
  expect((await invite(ann)).status).toBe(201)
})

test('a token that is revoked while it invites, and changes and removes people, does none of it after that', async () => {
  const { t, ann } = await team('viewer')
  const { member_id } = await memberOf(ann.call, BOB)
  for (const [method, path, body] of [
    ['POST', '/account/invitations', { email: 'mallory@example.com', role: 'member' }],
    ['PATCH', `/account/members/${member_id}`, { role: 'member' }],
    ['DELETE', `/account/members/${member_id}`, undefined],
  ] as const) {
    const made = { name: 'ci', scopes: ['account:write', 'servers:write'] }
    const token = (await ann.call('POST', '/account/tokens', made)).body
    const revoked = ann.call('DELETE', `/account/tokens/${token.token_id}`)
    const asked = [1, 2, 3].map(() => t.callAs(token.token)(method, path, body))
    expect((await revoked).status).toBe(204)
    await Promise.all(asked)
    const events: { type: string }[] = (await ann.call('GET', '/events')).body.items
    const types = events.map(({ type }) => type)
    expect(types.slice(types.lastIndexOf('token.revoked'))).toEqual(['token.revoked'])
  }
})

test.each(['removed', 'made a viewer'])(
  'who is %s while she makes tokens, invites, and lets a program in does no more than she may from there on',
  async (change) => {
    const { t, ann, bob } = await team('admin')
    const { account_id } = ann.person
    const { member_id } = await memberOf(ann.call, BOB)
    const nobody = t.callAs(null)
    const login = (await nobody('POST', '/device', { client_name: 'berth' })).body
    await bob.call('POST', '/device/approve', { user_code: login.user_code, account_id })
    const make = (name: string) =>
      bob.call('POST', '/account/tokens', { name, scopes: ['account:write'] }).then(({ status }) => status)
    const path = `/account/members/${member_id}`
    const made = [make('a'), make('b')]
    const changed =
      change === 'removed' ? ann.call('DELETE', path) : ann.call('PATCH', path, { role: 'viewer' })
    const redeemed = nobody('POST', '/device/token', { device_code: login.device_code })
    made.push(make('c'), make('d'))
    const invitation = { email: 'mallory@example.com', role: 'admin' }
    made.push(bob.call('POST', '/account/invitations', invitation).then(({ status }) => status))
    expect([200, 204]).toContain((await changed).status)
    await Promise.all([redeemed, ...made])
    const { items } = (await ann.call('GET', '/account/tokens')).body
    const scopes = items.flatMap((token: { scopes: string[] }) => token.scopes)
    expect(scopes.filter((scope: string) => change === 'removed' || scope.endsWith(':write'))).toEqual([])
    const events: { type: string }[] = (await ann.call('GET', '/events')).body.items
    const types = events.map(({ type }) => type)
    const done = types.indexOf(change === 'removed' ? 'member.deleted' : 'member.updated')
    expect(types.slice(done)).not.toContain('invitation.created')
  },
)
