// The profile smoke: one look at each part, and the life of one server. It runs on simulated and on real machines.
import { expect, type TestContext, test } from 'vitest'
import { ed25519 } from '../api/harness/keys.ts'
import type { Reply } from '../harness/app.ts'
import {
  act,
  add,
  call,
  ended,
  fresh,
  make,
  order,
  remove,
  schema,
  send,
  settle,
  url,
} from './harness/client.ts'

test('GET /docs and GET /openapi.json require no authentication, and load nothing from another host', async () => {
  const moved = (await send('GET', '/docs')).headers.location ?? '/v1/docs'
  const page = await send('GET', moved.replace(/^\/v1/, ''))
  expect([page.status, page.headers['content-type']]).toEqual([200, expect.stringContaining('text/html')])
  const loaded = [...String(page.body).matchAll(/<(?:script|link|img)[^>]+(?:src|href)="([^"]+)"/g)]
  const addresses = loaded.map(([, address = '']) => new URL(address, `${url}/docs/`))
  expect(addresses.length).toBeGreaterThan(0)
  // The empty icon, which keeps browsers from asking for one, is no address.
  for (const { href, origin } of addresses.filter(({ protocol }) => protocol !== 'data:')) {
    expect(origin).toBe(new URL(url).origin)
    expect([href, (await fetch(href)).status]).toEqual([href, 200])
  }
  const reply = await send('GET', '/openapi.json')
  expect(reply).toMatchObject({
    status: 200,
    headers: { 'content-type': expect.stringMatching('^application/json') },
  })
  expect(reply.body.openapi).toMatch(/^3\.1\./)
  expect(new URL(url).pathname).toBe(schema.document.servers[0]?.url)
})

test('the account area answers: profile, balance, projects, SSH keys, tokens, transactions', async () => {
  for (const path of ['me', 'balance', 'projects', 'ssh_keys', 'tokens', 'transactions'])
    expect([path, (await call('GET', `/account/${path}`)).status]).toEqual([path, 200])
})

test('the catalogue answers: zones, templates, presets, limits, capacity and a quote', async () => {
  const { zone_slug, cpu_type, ...rest } = await order()
  const place = new URLSearchParams({ zone_slug, cpu_type })
  for (const path of ['/zones', '/templates', `/pricing/presets?${place}`, '/pricing/capacity'])
    expect([path, Array.isArray((await call('GET', path)).body)]).toEqual([path, true])
  expect((await call('GET', `/pricing/limits?${place}`)).status).toBe(200)
  const quote = await call('POST', '/pricing/quote', { zone_slug, cpu_type, ...rest })
  expect(quote).toMatchObject({ status: 200, body: { can_create: true, blockers: [] } })
})

const costNow = async () => Number((await call('GET', '/account/balance')).body.cost_hour_rub)

async function created(t: TestContext): Promise<Reply['body']> {
  const key = await add(t, 'ssh_keys', { name: fresh('key'), public_key: ed25519('smoke') })
  const server = await make(t, { name: fresh('smoke'), ssh_key_ids: [key.ssh_key_id] })
  expect(server).toMatchObject({ status: 'creating', current_operation: { type: 'create' } })
  const before = await costNow()
  await settle(server)
  const running = (await call('GET', `/servers/${server.server_id}`)).body
  expect(running).toMatchObject({ status: 'running', current_operation: null })
  expect(running.started_at).not.toBeNull()
  expect(await costNow()).toBeCloseTo(before + Number(running.price_hour_rub), 4)
  const { body } = await call('GET', `/servers/${server.server_id}/details`)
  expect(body).toMatchObject({
    billing: { billed_since: expect.any(String), is_billed_when_stopped: true },
    allowed_actions: [
      ...['stop', 'reboot', 'console', 'update', 'grow_disk', 'rebuild', 'reset_password', 'restore'],
      ...['rescue', 'snapshot', 'delete'],
    ],
    ssh: {
      is_ready: true,
      auth_methods: ['public_key'],
      keys: [{ ssh_key_id: key.ssh_key_id, fingerprint: key.fingerprint }],
      command: `ssh -p ${body.ssh.port} ${body.template.default_username}@${body.ssh.host}`,
      host_key_fingerprints: expect.arrayContaining([
        expect.objectContaining({ fingerprint: expect.stringMatching(/^SHA256:/) }),
      ]),
    },
  })
  return running
}

test('a server is created, runs, is stopped, started, rebooted, resized, rebuilt and deleted, each as an operation', async (t) => {
  const { server_id: id, price_hour_rub, ...size } = await created(t)
  const path = `/servers/${id}`
  const show = async () => (await call('GET', path)).body
  await act(id, 'stop')
  expect(await show()).toMatchObject({ status: 'stopped', started_at: null })

  const larger = await call('PATCH', path, { disk_gb: size.disk_gb + 5, ram_mb: size.ram_mb + 256 })
  expect(larger).toMatchObject({
    status: 202,
    body: { status: 'resizing', current_operation: { type: 'resize' } },
  })
  await settle(larger.body)
  const grown = await show()
  expect(grown).toMatchObject({
    status: 'stopped',
    disk_gb: size.disk_gb + 5,
    ram_mb: size.ram_mb + 256,
  })
  expect(Number(grown.price_hour_rub)).toBeGreaterThan(Number(price_hour_rub))

  await act(id, 'start')
  expect(await show()).toMatchObject({ status: 'running' })
  for (const action of ['reboot', 'rebuild', 'reset_password'] as const) {
    await act(id, action, action === 'rebuild' ? { template_id: size.template_id } : {})
    expect(await show()).toMatchObject({ status: 'running' })
  }

  const deletion = await call('DELETE', path)
  expect(deletion).toMatchObject({ status: 202, body: { type: 'delete', server_id: id } })
  expect(await ended(deletion.body)).toMatchObject({ status: 'succeeded' })
  expect(await call('GET', path)).toMatchObject({ status: 404, body: { code: 'server_not_found' } })
  const { items, total } = (await call('GET', `${path}/operations`)).body
  expect([total, ...items.map(({ type }: { type: string }) => type)]).toEqual([
    8,
    ...['delete', 'reset_password', 'rebuild', 'reboot', 'start', 'resize', 'stop', 'create'],
  ])
  await remove(id)
})
