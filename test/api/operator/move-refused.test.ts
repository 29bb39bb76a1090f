// Moves of servers that are refused, and the accounts before, which try to keep a hand on what moved.
import { expect, test } from 'vitest'
import { changeStatus } from '../../../api/accounts/accounts.ts'
import { quotas } from '../../../api/features.ts'
import { Numbers, Ref } from '../../../api/hcloud/numbers.ts'
import { onBehalfOf } from '../../../api/http/limits/origin.ts'
import { lockServer } from '../../../api/servers/store.ts'
import type { Call, TestApp } from '../../harness/app.ts'
import { consoles } from '../harness/console.ts'
import { issues, NOBODY } from '../harness/ordering.ts'
import { furnished, get } from './harness/moving.ts'

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

/** All that a move would change. */
async function stateOf(t: TestApp): Promise<unknown> {
  const all = (
    table: 'servers' | 'ports' | 'addresses' | 'snapshots' | 'rates' | 'billing_meters' | 'projects',
  ) => t.db.selectFrom(table).selectAll().execute()
  const accounts = await t.db
    .selectFrom('accounts')
    .select(['servers_used', 'cpu_used', 'disk_gb_used'])
    .execute()
  const events = await t.db.selectFrom('events').select('event_id').execute()
  const tables = [
    'servers',
    'ports',
    'addresses',
    'snapshots',
    'rates',
    'billing_meters',
    'projects',
  ] as const
  return [accounts, events, ...(await Promise.all(tables.map(all)))]
}

test('a move names everything of the account that must be detached first, and moves nothing', async () => {
  const { t, id, move } = await furnished()
  const place = { zone_slug: 'local-1' }
  const volume = await t.call('POST', '/volumes', { ...place, name: 'data', size_gb: 10 })
  await t.call('POST', `/volumes/${volume.body.volume_id}/attach`, { server_id: id })
  await t.finish()
  const network = await t.call('POST', '/networks', { ...place, name: 'inner', ip_range: '10.1.0.0/24' })
  await t.call('POST', `/networks/${network.body.network_id}/servers`, { server_id: id })
  await t.finish()
  await t.call('POST', '/firewalls', { name: 'fw', rules: [], label_selector: 'role=hush' })
  const own = (await get(t.call, '/addresses')).items[0].address_id
  expect((await t.call('DELETE', `/addresses/${own}?force=true`)).status).toBe(204)
  const floating = await t.call('POST', '/addresses', { ...place, family: 'ipv4' })
  await t.call('PATCH', `/addresses/${floating.body.address_id}`, { server_id: id })
  const before = await stateOf(t)
  const refused = await move()
  expect(codeOf(refused)).toEqual([409, 'server_attached'])
  const named = refused.body.attachments.map(({ type, name }: Record<string, string>) => `${type} ${name}`)
  expect(named.sort()).toEqual([
    `address ${floating.body.address}`,
    'firewall fw',
    'network inner',
    'volume data',
  ])
  for (const name of named) expect(refused.body.detail).toContain(name)
  expect(await stateOf(t)).toEqual(before)
})

test('a move waits for operations and for the machine to be off, and for the end of rescue', async () => {
  const { t, id, move } = await furnished()
  await t.call('POST', `/servers/${id}/start`)
  expect(codeOf(await move())).toEqual([409, 'operation_in_progress'])
  await t.finish()
  expect(codeOf(await move())).toEqual([409, 'server_state_conflict'])
  await t.call('POST', `/servers/${id}/rescue`, {})
  await t.finish()
  await t.call('POST', `/servers/${id}/stop`)
  await t.finish()
  expect(codeOf(await move())).toEqual([409, 'rescue_conflict'])
})

test('an account without quota, money, good standing or the project gets no server', async () => {
  const { t, shop, to, move } = await furnished({ balance: '0' })
  const before = await stateOf(t)
  expect(codeOf(await move())).toEqual([402, 'insufficient_balance'])
  expect(issues((await move({ account_id: NOBODY })).body)).toEqual([['/account_id', 'not_found']])
  await shop('POST', `/operator/accounts/${to}/credit`, {
    ...{ amount: '1000.00', reason: 'Card', reference: 'card-1', type: 'payment' },
  })
  const own = (await get(t.call, '/account/projects')).items[0].project_id
  expect(issues((await move({ project_id: own })).body)).toEqual([['/project_id', 'not_found']])
  for (const name of ['cpu', 'servers', 'snapshots']) {
    const limit = (value: number | null) =>
      shop('POST', `/operator/accounts/${to}/limits`, { limits: { [name]: value }, reason: 'a trial' })
    expect((await limit(0)).status).toBe(200)
    expect([name, codeOf(await move())]).toEqual([name, [403, 'quota_exceeded']])
    await limit(null)
  }
  const turn = (accountId: string, isFreezing: boolean) =>
    changeStatus({ db: t.db, clock: t.clock, quotas }, accountId, {
      ...{ from: ['active'], to: 'suspended', reason: 'spam', isFreezing },
    })
  await turn(to, false)
  expect(codeOf(await move())).toEqual([403, 'account_suspended'])
  await shop('POST', `/operator/accounts/${to}/resume`, { reason: 'paid' })
  const [state, at] = [await stateOf(t), 2]
  expect((state as unknown[]).slice(at)).toEqual((before as unknown[]).slice(at)) // a list of tables
  expect((await move()).status).toBe(200)
})

test('a frozen account keeps its servers as evidence', async () => {
  const { t, shop, move } = await furnished()
  await shop('POST', `/operator/accounts/${t.accountId}/freeze`, { reason: 'a complaint' })
  expect(codeOf(await move())).toEqual([403, 'account_frozen'])
})

/** The statuses of a token's requests by every path that names a server. */
async function reached(call: Call, id: string): Promise<number[]> {
  const base = `/servers/${id}`
  const reads = ['', '/details', '/ports', '/stats'].map((path) => call('GET', `${base}${path}`))
  const acts = ['start', 'stop', 'reboot', 'console', 'screen', 'reset_password', 'rescue'].map((action) =>
    call('POST', `${base}/${action}`, {}),
  )
  const others = [call('PATCH', base, { name: 'mine' }), call('DELETE', `${base}?force=true`)]
  return (await Promise.all([...reads, ...acts, ...others])).map(({ status }) => status)
}

test('the previous account reaches a moved server by no path, nor by a request that began earlier', async () => {
  const { t, shop, id, to, buyer, move } = await furnished()
  const member = await t.makeToken(['servers:read'])
  expect((await move()).status).toBe(200)
  expect(new Set(await reached(t.call, id))).toEqual(new Set([404]))
  expect(new Set((await reached(t.callAs(member), id)).filter((status) => status !== 403))).toEqual(
    new Set([404]),
  )
  const origin = { action: 'x', tokenId: null, person: null, address: null, requestId: 'x' }
  const locked = (accountId: string) =>
    t.db.transaction().execute((tx) => onBehalfOf({ ...origin, accountId }, () => lockServer(tx, id)))
  expect([await locked(t.accountId), (await locked(to))?.server_id]).toEqual([undefined, id])
  expect((await get(buyer, `/servers/${id}`)).status).toBe('stopped')
  expect((await shop('GET', `/operator/servers/${id}`)).body.account_id).toBe(to)
})

test('neither account reads the other’s events, operations, secrets and names', async () => {
  const { t, id, buyer, move, snapshot } = await furnished()
  expect((await move()).status).toBe(200)
  const rows = [
    ...(await t.db.selectFrom('servers').selectAll().where('server_id', '=', id).execute()),
    ...(await t.db.selectFrom('snapshots').selectAll().where('snapshot_id', '=', snapshot).execute()),
  ]
  for (const { password, ssh_keys, labels } of rows)
    expect([password, ssh_keys, labels]).toEqual([null, '[]', '{}'])
  expect(JSON.stringify(rows)).not.toContain('hush')
  expect((await get(buyer, '/operations')).total).toBe(0)
  expect(await get(buyer, `/servers/${id}/operations`)).toMatchObject({ items: [], total: 0 })
  const known = (await get(t.call, '/operations')).total
  const told = await get(buyer, '/events?limit=200')
  expect(JSON.stringify(told)).not.toContain('hush')
  expect(told.items.map(({ type }: { type: string }) => type)).toEqual(
    expect.arrayContaining(['server.created', 'address.created', 'snapshot.created']),
  )
  expect((await buyer('PATCH', `/servers/${id}`, { name: 'buyers-own' })).status).toBe(200)
  await buyer('POST', `/servers/${id}/start`)
  await t.finish()
  t.clock.advance(3 * 3600_000)
  await t.app.billing.look()
  expect((await get(t.call, '/operations')).total).toBe(known)
  const paths = [
    '/events',
    '/account/transactions',
    '/account/usage',
    '/operations',
    '/account/audit',
    '/servers',
  ]
  for (const path of paths)
    expect([path, JSON.stringify(await get(t.call, path)).includes('buyers-own')]).toEqual([path, false])
  for (const call of [t.call, buyer])
    expect(
      (await get(call, '/account/audit')).items.map(({ action }: { action: string }) => action),
    ).toContain("moveServer, by the operator's token shop: Sold to its user")
})

test('a console ticket of the previous account opens nothing once the server has moved', async () => {
  const { t, id, buyer, move } = await furnished()
  const { ask, connect } = await consoles(t)
  await t.call('POST', `/servers/${id}/start`)
  await t.finish()
  const [open, ticket] = [await connect(await ask(id)), await ask(id)]
  await t.call('POST', `/servers/${id}/stop`, { force: true })
  await t.finish()
  expect((await move()).status).toBe(200)
  const late = await connect(ticket)
  const before = open.shown()
  await buyer('POST', `/servers/${id}/start`)
  await t.finish()
  await t.app.consoles.look()
  t.driver.prints(id, Buffer.from('hush'))
  expect([late.shown().includes('hush'), open.shown().slice(before.length).includes('hush')]).toEqual([
    false,
    false,
  ])
})

test('hcloud tokens of the previous account lose the server in every process, and it keeps its number', async () => {
  const { t, id, to, move } = await furnished()
  const [first, second] = [new Numbers(t.db, t.clock), new Numbers(t.db, t.clock)]
  const shown = new Ref('server', id)
  await first.settle(t.accountId, [shown])
  for (const numbers of [first, second])
    expect(await numbers.find(t.accountId, shown.number)).toMatchObject({ id })
  const token = async (call: Call) =>
    (await call('POST', '/account/tokens', { name: 'tf', kind: 'hcloud', scopes: ['read', 'write'] })).body
      .token
  const hcloud = (value: string) => async (path: string) => {
    const url = `/hcloud/v1${path}`
    return t.app.http.inject({ method: 'GET', url, headers: { authorization: `Bearer ${value}` } })
  }
  const old = hcloud(await token(t.call))
  expect((await old(`/servers/${shown.number}`)).statusCode).toBe(200)
  expect((await move()).status).toBe(200)
  expect((await old(`/servers/${shown.number}`)).statusCode).toBe(404)
  expect((await old('/servers')).json().servers).toEqual([])
  const taken = hcloud(
    await token(
      t.callAs(
        await t.makeToken(['account:read', 'account:write', 'servers:read', 'servers:write'], {
          accountId: to,
        }),
      ),
    ),
  )
  expect((await taken(`/servers/${shown.number}`)).json().server).toMatchObject({ id: shown.number })
  expect((await taken('/servers')).json().servers).toMatchObject([{ id: shown.number }])
  for (const numbers of [first, second]) expect(await numbers.find(to, shown.number)).toMatchObject({ id })
  await t.app.retention.look()
  expect((await taken(`/servers/${shown.number}`)).statusCode).toBe(200)
})
