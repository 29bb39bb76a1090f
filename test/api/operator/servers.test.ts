import { expect, test } from 'vitest'
import { post } from '../../../api/billing/ledger.ts'
import { parseMoney } from '../../../api/money.ts'
import type { TestApp } from '../../harness/app.ts'
import { make, NOBODY, order } from '../harness/ordering.ts'
import { DAY_MS, makeOperatorToken, withShop } from './harness/shop.ts'

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]
const reason = { reason: 'Sends spam' }
const why = "by the operator's token shop"

async function look(t: TestApp, days = 0): Promise<void> {
  t.clock.advance(days * DAY_MS)
  await t.app.billing.look()
  await t.finish()
  await t.app.billing.look()
}

const read = async (t: TestApp, id: string) => (await t.call('GET', `/servers/${id}`)).body

test('an operator finds servers of all accounts by name, id, account, status, zone and address, without their secrets', async () => {
  const { t, shop } = await withShop()
  const id = await make(t, { name: 'web-1', user_data: '#cloud-config\n# hush' })
  await make(t, { name: 'db-1' })
  const list = async (query: string) => (await shop('GET', `/operator/servers?${query}`)).body
  expect(await list('')).toMatchObject({ total: 2, items: [{ name: 'db-1' }, { account_id: t.accountId }] })
  for (const query of ['search=WEB', `search=${id.toUpperCase()}`, 'search=eb-1&zone_slug=local-1'])
    expect([query, (await list(query)).items.map(({ name }: { name: string }) => name)]).toEqual([
      query,
      ['web-1'],
    ])
  expect((await list(`account_id=${t.accountId}&status=running&limit=1`)).total).toBe(2)
  for (const query of [
    `account_id=${NOBODY}`,
    'status=error',
    'zone_slug=x',
    'address=203.0.113.7',
    'search=b%25',
  ])
    expect([query, (await list(query)).total]).toEqual([query, 0])
  const one = await shop('GET', `/operator/servers/${id}`)
  expect(one.body).toMatchObject({ account_id: t.accountId, server_id: id, ssh: { username: 'berth' } })
  expect(JSON.stringify(one.body)).not.toMatch(/hush|password/)
  expect(codeOf(await shop('GET', `/operator/servers/${NOBODY}`))).toEqual([404, 'server_not_found'])
})

test('a suspended server stays off and free whatever its account pays, and its owner reads why', async () => {
  const { t, shop } = await withShop()
  const [id, other] = [await make(t, { name: 'web-1' }), await make(t, { name: 'web-2' })]
  const path = `/operator/servers/${id}`
  const held = await shop('POST', `${path}/suspend`, reason)
  expect(held).toMatchObject({ status: 200, body: { status: 'stopping', suspension_reason: 'Sends spam' } })
  await t.finish()
  const seen = { status: 'suspended', status_reason: 'server_suspended', suspension_reason: 'Sends spam' }
  expect(await read(t, id)).toMatchObject(seen)
  expect((await read(t, other)).status).toBe('running')
  const started = await t.call('POST', `/servers/${id}/start`)
  expect(codeOf(started)).toEqual([409, 'server_state_conflict'])
  expect(started.body.detail).toContain('Sends spam')
  for (const action of ['reboot', 'stop', 'rebuild'])
    expect([
      action,
      (await t.call('POST', `/servers/${id}/${action}`, action === 'rebuild' ? { template: 'micro' } : {}))
        .status,
    ]).toEqual([action, 409])
  const before = (await t.call('GET', '/account/balance')).body
  await post(t.db, t.clock, {
    accountId: t.accountId,
    type: 'payment',
    amount: parseMoney('500'),
    description: '',
  })
  await look(t, 2)
  expect(await read(t, id)).toMatchObject({ ...seen, delete_at: null })
  const { items } = (await t.call('GET', '/account/transactions?limit=200')).body
  const day = items.filter(
    (one: { server_id: string; created_at: string }) =>
      one.server_id === id && Date.parse(one.created_at) > t.clock.now() - DAY_MS,
  )
  expect([day, before.balance]).toEqual([[], '10000.00'])

  const later = t.callAs((await makeOperatorToken(t, ['operator:write'])).value)
  expect((await later('POST', `${path}/resume`, reason)).body).toMatchObject({
    status: 'starting',
    suspension_reason: null,
  })
  await t.finish()
  expect(await read(t, id)).toMatchObject({ status: 'running', status_reason: null, suspension_reason: null })
  const actions = (await t.call('GET', '/account/audit')).body.items.map(
    ({ action }: { action: string }) => action,
  )
  expect(actions).toEqual(
    expect.arrayContaining([`suspendServer, ${why}: Sends spam`, `resumeServer, ${why}: Sends spam`]),
  )
})

test('a server is suspended after its operation in progress, and one that was stopped resumes as stopped', async () => {
  const { t, shop } = await withShop()
  const { server_id } = (await t.call('POST', '/servers', await order(t.call, { name: 'web-1' }))).body
  const path = `/operator/servers/${server_id}`
  expect((await shop('POST', `${path}/suspend`, reason)).body.status).toBe('creating')
  await look(t)
  await t.finish()
  expect(await read(t, server_id)).toMatchObject({ status: 'suspended', status_reason: 'server_suspended' })
  await shop('POST', `${path}/resume`, reason)
  await t.finish()
  await t.call('POST', `/servers/${server_id}/stop`)
  await t.finish()
  expect((await shop('POST', `${path}/suspend`, reason)).body.status).toBe('suspended')
  expect((await shop('POST', `${path}/resume`, reason)).body.status).toBe('stopped')
  expect((await shop('POST', `${path}/resume`, reason)).body.status).toBe('stopped')
})

test("an owner can't keep a server busy that the operator suspends", async () => {
  const { t, shop } = await withShop({ simulator: { bootMs: 200_000 } })
  const id = await make(t, { name: 'web-1' })
  await t.call('POST', `/servers/${id}/reboot`, { force: true })
  await t.work()
  expect((await shop('POST', `/operator/servers/${id}/suspend`, reason)).body.status).toBe('rebooting')
  await t.finish()
  for (const action of ['reboot', 'reset_password', 'rebuild', 'rescue']) {
    const body = action === 'rebuild' ? { template: 'micro' } : {}
    const tried = await t.call('POST', `/servers/${id}/${action}`, body)
    expect([action, ...codeOf(tried)]).toEqual([action, 409, 'server_state_conflict'])
    expect(tried.body.detail).toContain('Sends spam')
  }
  expect(codeOf(await t.call('POST', '/snapshots', { server_id: id }))).toEqual([
    409,
    'server_state_conflict',
  ])
  expect((await t.call('PATCH', `/servers/${id}`, { name: 'web-2' })).status).toBe(200)
  await look(t)
  expect(await read(t, id)).toMatchObject({ status: 'suspended', name: 'web-2' })
})

test('a server that both its account and the operator suspend resumes when both let it', async () => {
  const { t, shop } = await withShop({ keepSuspendedMs: 30 * DAY_MS })
  const id = await make(t, { name: 'web-1' })
  await shop('POST', `/operator/servers/${id}/suspend`, reason)
  await t.finish()
  await shop('POST', `/operator/accounts/${t.accountId}/suspend`, reason)
  await look(t)
  await shop('POST', `/operator/accounts/${t.accountId}/resume`, reason)
  await look(t)
  expect(await read(t, id)).toMatchObject({ status: 'suspended', delete_at: null })
  await shop('POST', `/operator/accounts/${t.accountId}/suspend`, reason)
  await shop('POST', `/operator/servers/${id}/resume`, reason)
  await look(t)
  expect(await read(t, id)).toMatchObject({ status: 'suspended', status_reason: 'account_suspended' })
  await shop('POST', `/operator/accounts/${t.accountId}/resume`, reason)
  await look(t)
  expect((await read(t, id)).status).toBe('running')
})

test('an operator stops, starts, reboots and deletes a server once for each key, and the audit has the reason', async () => {
  const { t, shop } = await withShop()
  const id = await make(t, { name: 'web-1', delete_protection: true })
  const post = async (action: string, body: object = reason) => {
    const key = { 'idempotency-key': action }
    const first = await shop('POST', `/operator/servers/${id}/${action}`, body, key)
    const again = await shop('POST', `/operator/servers/${id}/${action}`, body, key)
    expect(again).toMatchObject({ status: first.status, body: first.body })
    await t.finish()
    return first
  }
  expect(await post('stop', { ...reason, force: true })).toMatchObject({
    status: 202,
    body: { account_id: t.accountId, type: 'stop' },
  })
  expect((await read(t, id)).status).toBe('stopped')
  expect(codeOf(await shop('POST', `/operator/servers/${id}/reboot`, reason))).toEqual([
    409,
    'server_state_conflict',
  ])
  await post('start')
  await post('reboot', { ...reason, timeout_seconds: 1 })
  expect((await read(t, id)).status).toBe('running')
  expect((await shop('POST', `/operator/servers/${id}/stop`, {})).status).toBe(422)
  expect(codeOf(await shop('POST', `/operator/servers/${id}/delete`, reason))).toEqual([
    409,
    'delete_protected',
  ])
  await post('delete', { ...reason, force: true })
  expect((await t.call('GET', `/servers/${id}`)).status).toBe(404)
  const actions = (await t.call('GET', '/account/audit')).body.items.map(
    ({ action }: { action: string }) => action,
  )
  const named = (name: string) => `${name}OperatedServer, ${why}: Sends spam`
  expect(actions.slice(0, 4)).toEqual([named('delete'), named('reboot'), named('start'), named('stop')])
})

test('an operator orders, resizes and reinstalls for an account as its owner would, and sees no password', async () => {
  const { t, shop } = await withShop()
  const path = `/operator/accounts/${t.accountId}`
  const wanted = await order(t.call, { name: 'web-1' })
  const once = { 'idempotency-key': 'once' }
  const made = await shop('POST', `${path}/servers`, wanted, once)
  expect(made).toMatchObject({
    status: 202,
    body: { account_id: t.accountId, name: 'web-1', status: 'creating' },
  })
  expect((await shop('POST', `${path}/servers`, wanted, once)).body).toEqual(made.body)
  await t.finish()
  const { server_id: id } = made.body
  const server = `/operator/servers/${id}`
  const password = async () => (await t.call('GET', `/servers/${id}/details`)).body.ssh.password
  const before = await password()
  const reset = await shop('POST', `${server}/reset_password`)
  expect([reset.status, reset.body.type]).toEqual([202, 'reset_password'])
  await t.finish()
  expect(await password()).not.toBe(before)
  expect((await shop('POST', `${server}/rebuild`, { template: 'micro' })).body.type).toBe('rebuild')
  await t.finish()
  await shop('POST', `${server}/stop`, reason)
  await t.finish()
  const plan = { plan_type: 'custom', cpu: 2, ram_mb: 1024, disk_gb: 20 }
  expect(await shop('PATCH', server, plan)).toMatchObject({ status: 202, body: { status: 'resizing' } })
  await t.finish()
  expect(await shop('PATCH', server, { name: 'web-2' })).toMatchObject({ status: 200, body: { cpu: 2 } })
  for (const what of [made, reset]) expect(JSON.stringify(what.body)).not.toContain(before)

  await shop('POST', `${path}/suspend`, reason)
  expect(codeOf(await shop('POST', `${path}/servers`, wanted))).toEqual([403, 'account_suspended'])
  expect(codeOf(await shop('POST', `${server}/start`, reason))).toEqual([403, 'account_suspended'])
  const reader = t.callAs((await makeOperatorToken(t, ['operator:read'])).value)
  expect(codeOf(await reader('POST', `${server}/stop`, reason))).toEqual([403, 'insufficient_scope'])
})

test('an operator boots a server into the rescue system and back once for each key, and sees no password', async () => {
  const { t, shop } = await withShop()
  const id = await make(t, { name: 'web-1' })
  const path = `/operator/servers/${id}`
  expect(codeOf(await shop('POST', `${path}/unrescue`))).toEqual([409, 'rescue_conflict'])
  const once = { 'idempotency-key': 'once' }
  const begun = await shop('POST', `${path}/rescue`, {}, once)
  expect(begun).toMatchObject({ status: 202, body: { account_id: t.accountId, type: 'rescue' } })
  expect((await shop('POST', `${path}/rescue`, {}, once)).body).toEqual(begun.body)
  await t.finish()
  expect((await shop('GET', path)).body).toMatchObject({ status: 'running', rescue: true })
  const { password } = (await t.call('GET', `/servers/${id}/details`)).body.ssh
  expect(password).toEqual(expect.any(String))
  expect(JSON.stringify([begun.body, (await shop('GET', path)).body])).not.toContain(password)

  expect((await shop('POST', `${path}/unrescue`)).body.type).toBe('unrescue')
  await t.finish()
  expect(await read(t, id)).toMatchObject({ status: 'running', rescue: false })
  const [back, there] = (await t.call('GET', '/account/audit')).body.items
  expect([there.action, back.action]).toEqual([
    `rescueOperatedServer, ${why}`,
    `unrescueOperatedServer, ${why}`,
  ])
  const foreign = { ssh_key_ids: [NOBODY] }
  expect((await shop('POST', `${path}/rescue`, foreign)).status).toBe(422)
  await shop('POST', `/operator/accounts/${t.accountId}/suspend`, reason)
  expect(codeOf(await shop('POST', `${path}/rescue`))).toEqual([403, 'account_suspended'])
})
