import { expect, test } from 'vitest'
import { changeStatus } from '../../../api/accounts/accounts.ts'
import type { Drivers } from '../../../api/drivers/drivers.ts'
import { quotas } from '../../../api/features.ts'
import { parseMoney } from '../../../api/money.ts'
import { book } from '../../../api/operator/accounts.ts'
import { setOperator } from '../../../api/people/person/people.ts'
import { codeOf as shownBy } from '../../../api/people/two-factor/totp.ts'
import { type Call, type TestApp, testApp } from '../../harness/app.ts'
import { fromBase32, openBrowser, PASSWORD, signUp } from '../harness/browser.ts'
import { make, NOBODY, order } from '../harness/ordering.ts'

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]
const OLGA = 'olga@example.com'

/** A person with the operator's role, who has turned two-factor authentication on. */
async function withOperator(options: Parameters<typeof testApp>[0] = {}) {
  const t = await testApp(options)
  const olga = await signUp(t, OLGA)
  await setOperator(t.db, olga.person.person_id, true)
  await turnOnTwoFactor(t, olga.call)
  return { t, olga }
}

async function turnOnTwoFactor(t: TestApp, call: Call): Promise<void> {
  const { secret } = (await call('POST', '/person/two-factor', { password: PASSWORD })).body
  const code = shownBy(fromBase32(secret), Math.floor(t.clock.now() / 30_000))
  expect((await call('POST', '/person/two-factor/confirm', { code })).status).toBe(200)
}

const credit = { amount: '500.00', type: 'payment', reason: 'Bank transfer', reference: 'bank-17' }
const reason = { reason: 'Sends spam' }

const BODIES: Record<string, object> = {
  corrections: { ...reason, type: 'credit_note', lines: [{ amount_rub: '1.00' }], reference: 'note-17' },
  accounts: { email: 'new@example.com' },
  check: { text: 'zones: []' },
  catalog: { text: 'zones: []', hash: 'f'.repeat(64) },
  announcements: { kind: 'notice', text: { en: 'News.', ru: 'Новость.' } },
  complaints: { kind: 'spam', text: 'A mailbox got spam.' },
  end: {},
  credit,
  debit: { ...credit, reference: 'back-17' },
  limits: { ...reason, limits: { servers: 3 } },
  login: {},
  move: { ...reason, account_id: NOBODY },
  refund: { ...reason, amount_rub: '1.00' },
  tokens: { name: 'shop', scopes: ['read'] },
}

/** Every route of the running app that is the operator's, as it describes itself, with a body that would do. */
async function routesOf(t: TestApp, accountId: string, serverId: string) {
  const { paths } = (await t.callAs(null)('GET', '/openapi.json')).body
  return Object.entries(paths as Record<string, object>).flatMap(([path, methods]) => {
    if (!path.startsWith('/operator/')) return []
    const body = BODIES[path.split('/').at(-1) ?? ''] ?? reason
    return Object.keys(methods).map((method): Parameters<Call> => {
      const filled = path
        .replace('{account_id}', accountId)
        .replace(/\{(server|payment|announcement|complaint|document)_id\}/, serverId)
      if (method === 'post') return ['POST', filled, body]
      if (method === 'put') return ['PUT', filled, body]
      return [method === 'get' ? 'GET' : 'PATCH', filled]
    })
  })
}

test('only a person with the operator’s role and two-factor authentication gets in, as long as they have both', async () => {
  const { t, olga } = await withOperator()
  const routes = await routesOf(t, t.accountId, NOBODY)
  expect(routes.length).toBe(59)
  const owner = await signUp(t, 'ann@example.com')
  await turnOnTwoFactor(t, owner.call)
  const refused = async (call: Call) =>
    new Set(await Promise.all(routes.map(async (route) => codeOf(await call(...route)).join(' '))))
  expect(await refused(t.callAs(null))).toEqual(new Set(['401 missing_token']))
  const all = await t.makeToken([
    'account:read',
    'account:write',
    'servers:read',
    'servers:write',
    'read',
    'write',
  ])
  expect(await refused(t.callAs(all))).toEqual(new Set(['403 person_required']))
  // Nor by a token of the operator's own account.
  const own = await t.makeToken(['read', 'write'], { accountId: olga.person.account_id })
  expect(await refused(t.callAs(own))).toEqual(new Set(['403 person_required']))
  expect(await refused(owner.call)).toEqual(new Set(['403 operator_required']))
  const foreign: Call = (method, path, body) =>
    olga.call(method, path, body, { origin: 'https://evil.example' })
  expect(await refused(foreign)).toEqual(new Set(['403 origin_not_allowed']))

  const second = await signUp(t, 'oleg@example.com')
  await setOperator(t.db, second.person.person_id, true)
  expect(await refused(second.call)).toEqual(new Set(['403 two_factor_required']))
  await turnOnTwoFactor(t, second.call)
  expect((await second.call('GET', '/operator/accounts')).status).toBe(200)
  await setOperator(t.db, second.person.person_id, false)
  expect(await refused(second.call)).toEqual(new Set(['403 operator_required']))

  const { session_id } = olga.person
  const { cookie, call } = olga
  const before = cookie()
  await call('DELETE', `/account/sessions/${session_id}`)
  const stolen: Call = (method, path, body) => openBrowser(t).call(method, path, body, { cookie: before })
  expect(await refused(stolen)).toEqual(new Set(['401 session_ended']))
  // Nothing of all that changed anything.
  expect((await t.call('GET', '/account/balance')).body.balance).toBe('10000.00')
  expect((await t.call('GET', '/account/me')).body.status).toBe('active')
})

test('an operator who is in no account, or whose account is suspended, still gets in', async () => {
  const { t, olga } = await withOperator()
  const { account_id } = olga.person
  await olga.call('POST', `/operator/accounts/${account_id}/suspend`, reason)
  const resumed = await olga.call('POST', `/operator/accounts/${account_id}/resume`, reason)
  expect(resumed.body).toMatchObject({ account_id, status: 'active' })
  await t.db.deleteFrom('members').where('person_id', '=', olga.person.person_id).execute()
  await t.db.updateTable('sessions').set({ account_id: null }).execute()
  expect((await olga.call('GET', '/operator/accounts')).status).toBe(200)
})

test('accounts are found by a part of their address, by id and by status, page by page, with what they have and owe', async () => {
  const { t, olga } = await withOperator()
  await make(t, { name: 'web-1' })
  const ann = await signUp(t, 'under_score%@example.com')
  const list = async (query = '') => (await olga.call('GET', `/operator/accounts${query}`)).body
  const { items, total } = await list()
  expect(total).toBe(3)
  expect(items.map(({ account_id }: { account_id: string }) => account_id)).toEqual([
    ann.person.account_id,
    olga.person.account_id,
    t.accountId,
  ])
  expect(items[2]).toMatchObject({ paid: '10000.00', status: 'active', server_count: 1, is_depleted: false })
  expect(items[0]).toMatchObject({ balance: '0.00', paid: '0.00', server_count: 0 })
  expect((await list('?search=OLGA%40')).items).toMatchObject([{ email: OLGA }])
  expect((await list('?search=r_s')).total).toBe(1)
  expect((await list('?search=%25%40')).total).toBe(1)
  expect((await list('?search=x_s')).total).toBe(0)
  expect((await list(`?search=${t.accountId.toUpperCase()}`)).total).toBe(1)
  expect((await list('?status=suspended')).total).toBe(0)
  for (const wrong of ['search=%00', `search=${'x'.repeat(255)}`, 'status=gone', 'limit=201'])
    expect([wrong, (await olga.call('GET', `/operator/accounts?${wrong}`)).status]).toEqual([wrong, 422])
  const page = await list('?limit=1&offset=1')
  expect([page.total, page.items.length, page.items[0].email]).toEqual([3, 1, OLGA])
})

test('suspending, resuming and crediting an account are in its audit with the operator, and its customer reads the reason', async () => {
  const { t, olga } = await withOperator()
  const change = (what: string, body: object) =>
    olga.call('POST', `/operator/accounts/${t.accountId}/${what}`, body)
  expect(await change('suspend', reason)).toMatchObject({ status: 200, body: { status: 'suspended' } })
  expect(codeOf(await change('suspend', reason))).toEqual([409, 'account_status_conflict'])
  expect(codeOf(await t.call('POST', '/servers', {}))).toEqual([403, 'account_suspended'])
  expect(await change('resume', { reason: 'Mended' })).toMatchObject({ body: { status: 'active' } })
  expect(await change('credit', credit)).toMatchObject({
    status: 200,
    body: { balance: '10500.00', paid: '10500.00' },
  })
  expect((await change('credit', credit)).body.balance).toBe('10500.00')
  expect(codeOf(await change('credit', { ...credit, amount: '600' }))).toEqual([409, 'reference_taken'])
  const other = `/operator/accounts/${olga.person.account_id}/credit`
  expect(codeOf(await olga.call('POST', other, credit))).toEqual([409, 'reference_taken'])
  const gift = { ...credit, type: 'correction', amount: '1.5', reference: 'gift-1' }
  expect((await change('credit', gift)).body).toMatchObject({ balance: '10501.50', paid: '10500.00' })
  for (const amount of ['0', '-5', '0.00', '1.005', '1e3', 'NaN', '99999999999'])
    expect([amount, (await change('credit', { ...credit, amount })).status]).toEqual([amount, 422])
  expect((await change('suspend', { reason: ' ' })).status).toBe(422)
  for (const id of [NOBODY, 'x'])
    expect(codeOf(await olga.call('POST', `/operator/accounts/${id}/suspend`, reason))).toEqual([
      404,
      'account_not_found',
    ])

  const { items } = (await t.call('GET', '/account/audit')).body
  const by = { person_id: olga.person.person_id, person_email: OLGA, token_id: null, address: null }
  expect(items.slice(0, 4)).toMatchObject([
    { action: 'creditAccount', object_type: 'transaction', amount: '1.50', ...by },
    { action: 'creditAccount', amount: '500.00', ...by },
    { action: 'resumeAccount', amount: null, ...by },
    { action: 'suspendAccount', object_type: 'account', object_id: t.accountId, ...by },
  ])
  await t.work()
  const events = (await t.call('GET', '/events')).body.items
  const told = events.filter(({ type }: { type: string }) => type === 'account.updated')
  expect(told.map(({ data }: { data: { reason: string } }) => data.reason).sort()).toEqual([
    'Mended',
    'Sends spam',
  ])
  const [last] = (await t.call('GET', '/account/transactions')).body.items
  expect(last).toMatchObject({ type: 'correction', amount: '1.50', description: 'Bank transfer' })
  expect(items[0].object_id).toBe(last.transaction_id)
})

test('an operator repeats a change with the same Idempotency-Key, and gets the first reply', async () => {
  const { t, olga } = await withOperator()
  const suspend = (call: Call, body: object, accountId = t.accountId) =>
    call('POST', `/operator/accounts/${accountId}/suspend`, body, { 'idempotency-key': 'once' })
  const first = await suspend(olga.call, reason)
  const again = await suspend(olga.call, reason)
  expect(again).toMatchObject({ status: 200, body: first.body })
  expect(again.headers['idempotency-replayed']).toBe('true')
  expect(codeOf(await suspend(olga.call, { reason: 'Another' }))).toEqual([422, 'idempotency_key_reused'])
  expect(codeOf(await suspend(olga.call, reason, NOBODY))).toEqual([404, 'account_not_found'])
  const oleg = await signUp(t, 'oleg@example.com')
  await setOperator(t.db, oleg.person.person_id, true)
  await turnOnTwoFactor(t, oleg.call)
  expect(codeOf(await suspend(oleg.call, reason))).toEqual([422, 'idempotency_key_reused'])
  // As a process leaves it that dies between the change and its reply.
  await t.db.updateTable('idempotency_keys').set({ reply: null }).execute()
  t.clock.advance(61_000)
  expect(await suspend(olga.call, reason)).toMatchObject({ status: 200, body: first.body })
})

test('a closed account gets neither money nor tokens, but can be paid back', async () => {
  const { t, olga } = await withOperator()
  const change = { from: ['active'], to: 'closed', reason: 'Asked for it' } as const
  await changeStatus({ db: t.db, clock: t.clock, quotas }, t.accountId, change)
  const refused = await olga.call('POST', `/operator/accounts/${t.accountId}/credit`, credit)
  expect(codeOf(refused)).toEqual([409, 'account_status_conflict'])
  await expect(t.makeToken(['read'])).rejects.toThrow('The account is closed')
  const back = { accountId: t.accountId, type: 'correction', description: 'Paid back' } as const
  await book(t, { ...back, amount: parseMoney('-10000') })
  expect((await t.call('GET', '/account/balance')).body.balance).toBe('0.00')
  await expect(book(t, { ...back, amount: parseMoney('1') })).rejects.toThrow('closed')
})

test('of two accounts credited at once with one reference, one gets the money', async () => {
  const { t, olga } = await withOperator()
  const pay = (accountId: string) => olga.call('POST', `/operator/accounts/${accountId}/credit`, credit)
  const accounts = [t.accountId, await t.makeAccount(), await t.makeAccount()]
  const replies = await Promise.all(accounts.map(pay))
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409])
})

test('operations of all accounts that run or have failed are listed, the others are not', async () => {
  const { t, olga } = await withOperator()
  const list = async (query: string) => (await olga.call('GET', `/operator/operations${query}`)).body
  await make(t, { name: 'web-1' })
  expect((await list('')).items).toEqual([])
  t.driver.image = async () => ({ state: 'failed', message: 'no source works' })
  const { server_id } = (await t.call('POST', '/servers', await order(t.call, { name: 'web-2' }))).body
  const of = { account_id: t.accountId, server_id, type: 'create' }
  expect((await list('')).items).toMatchObject([{ ...of, status: 'pending' }])
  expect((await list('?state=failed')).total).toBe(0)
  await t.finish()
  expect((await list('')).total).toBe(0)
  const failed = await list('?state=failed&limit=1')
  expect(failed).toMatchObject({ total: 1, items: [{ ...of, status: 'failed' }] })
  expect(failed.items[0].error.code).toEqual(expect.any(String))
})

/** Turns the clock until a reply comes. */
async function patiently<Reply>(t: TestApp, asked: Promise<Reply>): Promise<Reply> {
  let isHere = false
  void asked.then(() => (isHere = true))
  while (!isHere) {
    t.clock.advance(1_000)
    await new Promise(setImmediate)
  }
  return asked
}

test('zones show their sold capacity, images their progress, and a silent host keeps nobody waiting', async () => {
  const { t, olga } = await withOperator({ simulator: { imageMs: 10_000 } })
  const images = async () => (await patiently(t, olga.call('GET', '/operator/images'))).body
  expect((await images()).every(({ status }: { status: string }) => status === 'absent')).toBe(true)
  await make(t, { name: 'web-1' })
  const ready = (await images()).filter(({ status }: { status: string }) => status === 'ready')
  expect(ready).toMatchObject([{ pool: 'simulator', progress: null, detail: 'simulated', bytes: 0 }])
  const [zone] = (await olga.call('GET', '/operator/capacity')).body
  expect(zone).toMatchObject({ zone_slug: 'local-1', pool: 'simulator', is_retired: false, used: { cpu: 1 } })
  expect(zone.total.cpu).toBeGreaterThanOrEqual(64)

  const silent = () => new Promise<never>(() => {})
  const pool: ReturnType<Drivers['at']> = t.driver
  pool.host = silent
  pool.image = silent
  const [unknown] = (await patiently(t, olga.call('GET', '/operator/capacity'))).body
  expect(unknown).toMatchObject({ total: null, used: { cpu: 1 } })
  expect((await images())[0]).toMatchObject({ status: 'unknown', progress: null, detail: null })

  const broken = () => Promise.reject(new Error('broken'))
  Object.assign(pool, { host: broken, image: broken })
  expect((await olga.call('GET', '/operator/capacity')).body[0]).toMatchObject({ total: null })
  expect((await images())[0]).toMatchObject({ status: 'unknown' })
})
