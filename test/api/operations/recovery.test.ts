// A repeated request after the process died between the first one's commit and its reply.
import { expect, test } from 'vitest'
import { openComplaint } from '../../../api/abuse/complaints.ts'
import { createPromoCode } from '../../../api/credits/codes.ts'
import { bootableIso } from '../../../api/drivers/test-iso.ts'
import { Idempotency } from '../../../api/http/server/idempotency.ts'
import { Secrets } from '../../../api/secrets.ts'
import { catalogWith } from '../../harness/addresses.ts'
import { type Reply, type TestApp, testApp } from '../../harness/app.ts'
import { playedProviders } from '../../harness/payment-providers.ts'
import { withBank } from '../../harness/seller.ts'
import { ed25519 } from '../harness/keys.ts'
import { make, order } from '../harness/ordering.ts'

const KEY = { 'idempotency-key': 'dead' }

/** Leaves the keys as a process does that is killed between the commit and the reply. */
async function die(t: TestApp): Promise<void> {
  await t.db.updateTable('idempotency_keys').set({ reply: null, owner: 'dead' }).execute()
}

/** The same request before and after the death of its process. */
async function twice(t: TestApp, path: string, body: unknown): Promise<[first: Reply, second: Reply]> {
  const first = await t.call('POST', path, body, KEY)
  await die(t)
  return [first, await t.call('POST', path, body, KEY)]
}

const total = async (t: TestApp, path: string) => (await t.call('GET', path)).body.total

test('a request whose process died is refused while it may still run, and then answered with its server', async () => {
  const t = await testApp()
  const body = await order(t.call)
  const first = await t.call('POST', '/servers', body, KEY)
  await t.db.updateTable('idempotency_keys').set({ reply: null }).execute()
  expect((await t.call('POST', '/servers', body, KEY)).body.code).toBe('idempotency_key_in_use')
  t.clock.advance(60_000)
  expect(await t.call('POST', '/servers', body, KEY)).toMatchObject({
    status: 202,
    body: { server_id: first.body.server_id },
    headers: { location: first.headers.location },
  })
  expect(await total(t, '/servers')).toBe(1)
})

test('a project is made once, though the process died before it replied', async () => {
  const t = await testApp()
  const [first, second] = await twice(t, '/account/projects', { name: 'a', description: 'b' })
  expect(second).toMatchObject({
    status: 201,
    body: first.body,
    headers: { location: first.headers.location },
  })
  expect(await total(t, '/account/projects')).toBe(2)
})

test('an SSH key is added once, and a repeat is not refused as a duplicate', async () => {
  const t = await testApp()
  const [first, second] = await twice(t, '/account/ssh_keys', { name: 'a', public_key: ed25519() })
  expect(second).toMatchObject({
    status: 201,
    body: first.body,
    headers: { location: first.headers.location },
  })
  expect(await total(t, '/account/ssh_keys')).toBe(1)
})

test('a token whose value was lost with its reply is replaced when the request is repeated', async () => {
  const t = await testApp()
  const before = await total(t, '/account/tokens')
  const [first, second] = await twice(t, '/account/tokens', { name: 'ci', scopes: ['servers:read'] })
  expect(second).toMatchObject({
    status: 201,
    body: { name: 'ci', scopes: ['servers:read'], token: expect.stringMatching(/^berth_/) },
    headers: { location: `/v1/account/tokens/${second.body.token_id}` },
  })
  expect(await total(t, '/account/tokens')).toBe(before + 1)
  expect((await t.callAs(first.body.token)('GET', '/servers')).body.code).toBe('token_revoked')
  expect((await t.callAs(second.body.token)('GET', '/servers')).status).toBe(200)
  // Dying once more leaves no second one behind either.
  await die(t)
  const third = await t.call('POST', '/account/tokens', { name: 'ci', scopes: ['servers:read'] }, KEY)
  expect(third.status).toBe(201)
  expect((await t.callAs(second.body.token)('GET', '/servers')).body.code).toBe('token_revoked')
  expect(await total(t, '/account/tokens')).toBe(before + 1)
})

test('a token is replaced also where the quota has room for no other', async () => {
  const t = await testApp()
  const tokens = (await total(t, '/account/tokens')) + 1
  await t.db
    .updateTable('accounts')
    .set({ quotas: JSON.stringify({ tokens }) })
    .execute()
  const [first, second] = await twice(t, '/account/tokens', { name: 'ci', scopes: ['servers:read'] })
  expect([first.status, second.status]).toEqual([201, 201])
})

test('a firewall is made and attached once', async () => {
  const t = await testApp()
  const [first, second] = await twice(t, '/firewalls', { name: 'a' })
  expect(second).toMatchObject({
    status: 201,
    body: first.body,
    headers: { location: first.headers.location },
  })
  expect(await total(t, '/firewalls')).toBe(1)
  const body = { server_ids: [await make(t)] }
  const path = `/firewalls/${first.body.firewall_id}/servers`
  await t.call('POST', path, body, { 'idempotency-key': 'attached' })
  await die(t)
  const again = await t.call('POST', path, body, { 'idempotency-key': 'attached' })
  expect(again).toMatchObject({ status: 200, body })
})

test.each(['start', 'stop', 'reboot'])(
  '%s is asked for once: a repeat names its operation',
  async (action) => {
    const t = await testApp()
    const id = await make(t, { start_on_create: action !== 'start' })
    const first = await t.call('POST', `/servers/${id}/${action}`, {}, KEY)
    await t.finish()
    await die(t)
    const second = await t.call('POST', `/servers/${id}/${action}`, {}, KEY)
    expect(first.status).toBe(202)
    expect(second).toMatchObject({
      status: 202,
      body: { operation_id: first.body.operation_id, type: action, status: 'succeeded' },
      headers: { location: first.headers.location },
    })
    expect(await total(t, `/servers/${id}/operations`)).toBe(2)
  },
)

const VOLUME = { name: 'a', zone_slug: 'local-1', size_gb: 1 }
const NETWORK = { name: 'a', zone_slug: 'local-1', ip_range: '10.1.0.0/24' }

test('a network is made and a server attached once', async () => {
  const t = await testApp()
  const [first, second] = await twice(t, '/networks', NETWORK)
  expect(second).toMatchObject({
    status: 201,
    body: first.body,
    headers: { location: first.headers.location },
  })
  expect(await total(t, '/networks')).toBe(1)
  const server_id = await make(t)
  const path = `/networks/${first.body.network_id}/servers`
  const begun = await t.call('POST', path, { server_id }, { 'idempotency-key': 'attached' })
  await t.finish()
  await die(t)
  const again = await t.call('POST', path, { server_id }, { 'idempotency-key': 'attached' })
  const { operation_id } = begun.body
  expect(again).toMatchObject({
    status: 202,
    body: { operation_id, type: 'attach_network', status: 'succeeded' },
    headers: { location: begun.headers.location },
  })
})

test('a repeated create whose object is gone is a 404 of that object, and creates nothing', async () => {
  const t = await testApp({ catalog: catalogWith('public_ipv6: 2001:db8::/48') })
  const makings: [path: string, body: unknown, id: string, code: string][] = [
    ['/servers', await order(t.call), 'server_id', 'server_not_found'],
    ['/account/projects', { name: 'a' }, 'project_id', 'project_not_found'],
    ['/account/ssh_keys', { name: 'a', public_key: ed25519() }, 'ssh_key_id', 'ssh_key_not_found'],
    ['/account/tokens', { name: 'a', scopes: ['read'] }, 'token_id', 'token_not_found'],
    [
      '/account/invitations',
      { email: 'bob@example.com', role: 'viewer' },
      'invitation_id',
      'invitation_not_found',
    ],
    ['/firewalls', { name: 'a' }, 'firewall_id', 'firewall_not_found'],
    [`/servers/${await make(t)}/ports`, { protocol: 'tcp', port: 80 }, 'port_id', 'port_not_found'],
    ['/addresses', { zone_slug: 'local-1', family: 'ipv6' }, 'address_id', 'address_not_found'],
    ['/networks', NETWORK, 'network_id', 'network_not_found'],
    ['/volumes', VOLUME, 'volume_id', 'volume_not_found'],
  ]
  for (const [path, body, id, code] of makings) {
    const first = await t.call('POST', path, body, KEY)
    await t.call('DELETE', `${path}/${first.body[id]}`)
    await t.finish()
    const left = await total(t, path)
    await die(t)
    for (const _ of ['recovered', 'replayed'])
      expect(await t.call('POST', path, body, KEY)).toMatchObject({ status: 404, body: { code } })
    expect(await total(t, path)).toBe(left)
  }
})

/** An image and an ISO whose files are there, and not yet imported. */
async function uploadedFiles(t: TestApp): Promise<{ image_id: string; iso_id: string }> {
  const send = async (list: 'images' | 'isos', payload: Buffer) => {
    const file = { name: 'own', upload: true, content_bytes: payload.length, zone_slug: 'local-1' }
    const reply = await t.call('POST', `/${list}`, file)
    expect(reply).toMatchObject({ status: 202 })
    const { image_id, iso_id } = reply.body
    const headers = {
      authorization: `Bearer ${t.token}`,
      'content-type': 'application/octet-stream',
      'upload-offset': '0',
    }
    const url = `/v1/${list}/${image_id ?? iso_id}/content`
    expect((await t.app.http.inject({ method: 'PATCH', url, headers, payload })).statusCode).toBe(200)
    return image_id ?? iso_id
  }
  const disk = Buffer.alloc(512)
  disk.writeUInt16BE(0x55aa, 510)
  return { image_id: await send('images', disk), iso_id: await send('isos', bootableIso('An installer')) }
}

/** The ids of what requests of other kinds, or the operator, have made. */
async function ofOthers(t: TestApp): Promise<Record<string, string>> {
  const { complaint_id } = await openComplaint(t, t.accountId, { kind: 'spam', text: 'A mailbox got spam.' })
  return { complaint_id, ...(await uploadedFiles(t)) }
}

const ISO = { name: 'a', zone_slug: 'local-1', upload: true, content_bytes: 40_000 }

async function promoCode(t: TestApp): Promise<string> {
  const terms = { name: 'a', amount_rub: '5.00', credit_days: 9, max_uses: 1 }
  const expires_at = new Date(t.clock.now() + 86_400_000).toISOString()
  return (await createPromoCode(t, { ...terms, expires_at })).code
}

/** Actions on a server that need no body. */
const bodiless = (...actions: string[]) =>
  Object.fromEntries(actions.map((action) => [`/servers/{server_id}/${action}`, {}]))

/** The paths to which a POST may have an idempotency key, in order. */
async function postsWithKeys(t: TestApp): Promise<string[]> {
  const { paths } = (await t.call('GET', '/openapi.json')).body
  // Those of people have no account that a key could belong to.
  const takesKey = ({ security }: { security: object[] }) => security.some((way) => 'token' in way)
  return Object.keys(paths)
    .filter((path) => 'post' in paths[path] && takesKey(paths[path].post))
    .sort()
}

test('every POST that makes something notes what it made', async () => {
  const { urls } = await playedProviders()
  const t = await testApp({ catalog: withBank(catalogWith('public_ipv6: 2001:db8::/48')), ...urls })
  const id = await make(t, { start_on_create: false })
  const bodies: Record<string, unknown> = {
    '/servers': await order(t.call),
    '/account/projects': { name: 'a' },
    '/account/payments': { amount_rub: '500.00' },
    '/account/transfers': { amount_rub: '500.00' },
    '/account/complaints/{complaint_id}/answers': { text: 'The form is closed.' },
    '/account/credits': { code: await promoCode(t) },
    '/account/ssh_keys': { name: 'a', public_key: ed25519() },
    '/account/tokens': { name: 'a', scopes: ['read'] },
    '/account/invitations': { email: 'bob@example.com', role: 'viewer' },
    '/firewalls': { name: 'a' },
    '/firewalls/{firewall_id}/servers': { server_ids: [id] },
    ...bodiless('start', 'reboot', 'reset_password', 'rescue', 'unrescue'),
    '/servers/{server_id}/rebuild': { template_id: (await order(t.call)).template_id },
    '/snapshots': { server_id: id },
    '/servers/{server_id}/restore': {},
    '/images': { name: 'a' },
    '/images/{image_id}/import': {},
    '/isos': ISO,
    '/isos/{iso_id}/import': {},
    '/backups/{backup_id}/snapshot': {},
    ...bodiless('console', 'screen'),
    '/servers/{server_id}/stop': {},
    '/servers/{server_id}/ports': { protocol: 'tcp', port: 80 },
    '/addresses': { zone_slug: 'local-1', family: 'ipv6' },
    '/networks': NETWORK,
    '/networks/{network_id}/servers': { server_id: id },
    '/volumes': VOLUME,
    '/volumes/{volume_id}/attach': { server_id: id },
    '/volumes/{volume_id}/detach': {},
    '/pricing/quote': await order(t.call),
    '/webhooks': { name: 'a', url: 'https://example.com/hook', event_types: ['*'] },
    '/webhooks/{webhook_id}/test': {},
    '/webhooks/{webhook_id}/rotate-secret': {},
  }
  const ids: Record<string, string> = { server_id: id, ...(await ofOthers(t)) }
  expect(await postsWithKeys(t)).toEqual(Object.keys(bodies).sort())
  for (const [path, body] of Object.entries(bodies)) {
    const here = path.replace(/\{(\w+)\}/g, (_, name) => ids[name] ?? '')
    // Backups are made at night.
    if (path.startsWith('/backups'))
      await t.db.updateTable('snapshots').set({ item_type: 'backup' }).execute()
    const needsCopy = path.endsWith('/restore') || path === '/images'
    const sent = needsCopy ? { ...Object(body), snapshot_id: ids.snapshot_id } : body
    const reply = await t.call('POST', here, sent, { 'idempotency-key': path })
    expect([path, reply.status]).toEqual([path, expect.toSatisfy((status) => status < 300)])
    const { webhook_id, network_id, firewall_id, snapshot_id, volume_id } = reply.body
    const made = { webhook_id, network_id, firewall_id, snapshot_id, volume_id, backup_id: snapshot_id }
    for (const [name, value] of Object.entries(made)) if (value) ids[name] = value
    await t.db.updateTable('webhooks').set({ verification: 'verified' }).execute()
    await t.finish()
  }
  const rows = await t.db.selectFrom('idempotency_keys').selectAll().execute()
  const forgotten = rows.filter((row) => row.made_id === null).map((row) => row.key)
  expect(forgotten).toEqual(['/pricing/quote'])
})

test('a request that outlives its claim makes nothing once its repeat has taken its place', async () => {
  const t = await testApp()
  const idempotency = new Idempotency({ ...t, secrets: new Secrets(Buffer.alloc(32, 7)), living: null })
  const owner = { accountId: t.accountId, rights: [] }
  const begin = async () => {
    const begun = await idempotency.begin(owner, { path: 'POST /v1/account/projects', body: {} }, 'slow')
    if (!begun || 'replay' in begun) throw new Error('there was a reply already')
    return begun.claim
  }
  const note = (claim: Awaited<ReturnType<typeof begin>>, id: string) =>
    t.db.transaction().execute((tx) => idempotency.remember(tx, claim, id))
  const slow = await begin()
  t.clock.advance(60_000)
  const repeat = await begin()
  await expect(note(slow, 'first')).rejects.toThrow('still in progress')
  await expect(idempotency.finish(slow, { status: 409, headers: {}, body: '' })).rejects.toThrow(
    'still in progress',
  )
  await note(repeat, 'second')
  t.clock.advance(60_000)
  expect((await begin()).earlierId).toBe('second')
})
