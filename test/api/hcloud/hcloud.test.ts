import { expect, test } from 'vitest'
import { catalogWith } from '../../harness/addresses.ts'
import { testApp } from '../../harness/app.ts'
import { ed25519 } from '../harness/keys.ts'
import { hcloudApp, hcloudToken } from './harness.ts'

const web = { name: 'web', server_type: 'nano', image: 'micro' }

test('without the setting there is no such interface', async () => {
  const t = await testApp()
  const { statusCode } = await t.app.http.inject('/hcloud/v1/servers')
  expect(statusCode).toBe(404)
})

test('a token for these tools has 64 letters and digits, and opens nothing else', async () => {
  const t = await hcloudApp()
  const token = await hcloudToken(t)
  expect(token).toMatch(/^[0-9A-Za-z]{64}$/)
  expect((await t.callAs(token)('GET', '/servers')).body.code).toBe('invalid_token')
  for (const ask of [t.askAs(t.token), t.askAs(`${t.token}x`)]) {
    expect((await ask('GET', '/servers')).body.error.code).toBe('unauthorized')
    // Whether a body is right is nothing for a caller whom this interface does not know.
    expect((await ask('POST', '/servers', { name: 5 })).body.error.code).toBe('unauthorized')
  }
  expect((await t.askAs(`${token.slice(0, 63)}-`)('GET', '/servers')).status).toBe(401)
  const authorization = `Bearer ${t.token}`
  const respelled = { url: '/hclou%64/v1/ssh_keys', headers: { authorization } }
  expect((await t.app.http.inject(respelled)).statusCode).toBe(401)
  const reading = t.askAs(await hcloudToken(t, { scopes: ['read'] }))
  expect((await reading('GET', '/servers')).status).toBe(200)
  expect((await reading('POST', '/ssh_keys', { name: 'k', public_key: ed25519() })).body.error.code).toBe(
    'forbidden',
  )
})

test('a token that has expired or was revoked polls nothing, nor does one without the scope', async () => {
  const t = await hcloudApp()
  const poll = `/actions?id=${(await t.act('POST', '/servers', web)).action.id}`
  const expires_at = new Date(t.clock.now() + 60_000).toISOString()
  const brief = t.askAs(await hcloudToken(t, { expires_at }))
  const wanted = { name: 'x', kind: 'hcloud', scopes: ['read'] }
  const { token, token_id } = (await t.call('POST', '/account/tokens', wanted)).body
  const revoked = t.askAs(token)
  for (const ask of [brief, revoked, t.ask]) expect((await ask('GET', poll)).status).toBe(200)
  expect((await t.call('DELETE', `/account/tokens/${token_id}`)).status).toBe(204)
  t.clock.advance(61_000)
  for (const ask of [brief, revoked])
    expect(await ask('GET', poll)).toMatchObject({
      status: 401,
      body: { error: { code: 'unauthorized' } },
    })
  const narrow = t.askAs(await hcloudToken(t, { scopes: ['account:read'] }))
  expect((await narrow('GET', poll)).body.error.code).toBe('forbidden')
})

test('a token sees the servers of its project alone', async () => {
  const t = await hcloudApp()
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'other' })).body
  const other = t.askAs(await hcloudToken(t, { project_id }))
  const { server } = await t.act('POST', '/servers', web)
  expect((await other('GET', '/servers')).body.servers).toEqual([])
  expect((await other('GET', `/servers/${server.id}`)).body.error.code).toBe('not_found')
  expect((await other('POST', `/servers/${server.id}/actions/poweroff`)).status).toBe(404)
  expect((await other('POST', '/servers', web)).status).toBe(201)
  const unknown = { name: 'x', kind: 'hcloud', scopes: ['read'], project_id: t.accountId }
  expect((await t.call('POST', '/account/tokens', unknown)).body.code).toBe('validation_failed')
})

test('another account finds nothing under a number', async () => {
  const t = await hcloudApp()
  const { ssh_key } = await t.act('POST', '/ssh_keys', { name: 'mine', public_key: ed25519() })
  const stranger = t.callAs(
    await t.makeToken(['read', 'write', 'account:write'], { accountId: await t.makeAccount() }),
  )
  const theirs = (await stranger('POST', '/account/tokens', { name: 'x', kind: 'hcloud', scopes: ['read'] }))
    .body.token
  expect((await t.askAs(theirs)('GET', `/ssh_keys/${ssh_key.id}`)).body.error.code).toBe('not_found')
})

test('a server is created, turned, changed and deleted by actions that can be polled', async () => {
  const t = await hcloudApp()
  const { ssh_key } = await t.act('POST', '/ssh_keys', { name: 'k', public_key: ed25519() })
  const created = await t.act('POST', '/servers', {
    ...web,
    ssh_keys: ['k', ssh_key.id].slice(1),
    labels: { a: 'b' },
  })
  expect(created).toMatchObject({
    root_password: null,
    action: { command: 'create_server', status: 'running' },
    next_actions: [{ command: 'start_server', status: 'running' }],
  })
  const path = `/servers/${created.server.id}`
  const polled = await t.ask('GET', `/actions?id=${created.action.id}`)
  expect(polled.body.actions).toMatchObject([{ id: created.action.id, status: 'success', progress: 100 }])
  const [start] = created.next_actions
  const resources = [{ id: created.server.id, type: 'server' }]
  expect((await t.ask('GET', `/actions/${start.id}`)).body.action).toMatchObject({
    ...{ id: start.id, command: 'start_server', status: 'success', resources },
  })
  const stopped = { ...web, name: 'cold', start_after_create: false }
  expect((await t.act('POST', '/servers', stopped)).next_actions).toEqual([])
  expect(await t.ask('GET', '/actions')).toMatchObject({
    status: 410,
    body: { error: { code: 'deprecated_api_endpoint' } },
  })
  const act = (name: string, body?: object) => t.act('POST', `${path}/actions/${name}`, body)
  for (const name of ['reboot', 'reset', 'poweroff']) await act(name)
  expect((await t.ask('GET', path)).body.server.status).toBe('off')
  await act('change_type', { server_type: 'micro', upgrade_disk: false })
  for (const name of ['poweron', 'shutdown', 'poweron', 'enable_backup', 'disable_backup']) await act(name)
  const { image } = await act('create_image', { type: 'snapshot', description: 'before' })
  expect((await t.ask('GET', `/images/${image.id}`)).body.image).toMatchObject({ status: 'available' })
  await act('rebuild', { image: image.id })
  await act('enable_rescue', { type: 'linux64', ssh_keys: [ssh_key.id] })
  expect((await t.ask('GET', path)).body.server.rescue_enabled).toBe(true)
  await act('disable_rescue')
  await act('change_protection', { delete: true, rebuild: true })
  expect((await t.ask('DELETE', path)).body.error.code).toBe('protected')
  const { action } = await act('change_protection', { delete: false, rebuild: false })
  expect((await t.ask('GET', `/actions/${action.id}`)).body.action).toMatchObject({
    ...action,
    finished: action.started,
  })
  await t.act('PUT', path, { name: 'web-2', labels: { a: 'c' } })
  expect((await t.ask('GET', '/servers?name=web-2&label_selector=a%3Dc')).body.servers).toHaveLength(1)
  expect((await t.ask('GET', `${path}/actions`)).body.meta.pagination.total_entries).toBeGreaterThan(8)
  const gone = await t.act('DELETE', path)
  expect((await t.ask('GET', `/actions/${gone.action.id}`)).body.action.status).toBe('success')
  expect((await t.ask('GET', path)).body.error.code).toBe('not_found')
})

test('a password is in the reply that sets it', async () => {
  const t = await hcloudApp()
  const { server, root_password } = await t.act('POST', '/servers', web)
  expect(root_password).toMatch(/^\w{20}$/)
  const reset = t.ask('POST', `/servers/${server.id}/actions/reset_password`)
  await expect.poll(async () => (await t.ask('GET', `/servers/${server.id}`)).body.server.locked).toBe(true)
  await t.finish()
  const { body } = await reset
  expect(body.root_password).toMatch(/^\w{20}$/)
  expect(body.root_password).not.toBe(root_password)
})

test('networks, firewalls and volumes are created, used and deleted', async () => {
  const t = await hcloudApp()
  const { network } = await t.act('POST', '/networks', { name: 'inner', ip_range: '10.1.0.0/24' })
  const subnet = { type: 'cloud', ip_range: '10.1.0.0/24', network_zone: 'local-1', gateway: null }
  await t.act('POST', `/networks/${network.id}/actions/add_subnet`, subnet)
  const part = { ...subnet, ip_range: '10.1.0.0/25' }
  const refused = await t.ask('POST', `/networks/${network.id}/actions/add_subnet`, part)
  expect(refused.body.error.code).toBe('unsupported_error')
  const rule = {
    direction: 'in',
    protocol: 'tcp',
    port: '80',
    source_ips: ['0.0.0.0/0'],
    destination_ips: [],
  }
  const { firewall } = await t.act('POST', '/firewalls', { name: 'fw', rules: [rule] })
  expect(firewall.rules).toMatchObject([rule])
  const order = { ...web, networks: [network.id], firewalls: [{ firewall: firewall.id }], automount: false }
  const { server } = await t.act('POST', '/servers', order)
  const { volume, next_actions } = await t.act('POST', '/volumes', {
    name: 'data',
    size: 10,
    server: server.id,
  })
  expect(next_actions).toMatchObject([{ command: 'attach_volume' }])
  const shown = (await t.ask('GET', `/servers/${server.id}`)).body.server
  expect(shown).toMatchObject({
    volumes: [volume.id],
    private_net: [{ network: network.id, ip: '10.1.0.2' }],
  })
  expect(shown.public_net.firewalls).toEqual([{ id: firewall.id, status: 'applied' }])
  expect((await t.ask('DELETE', `/firewalls/${firewall.id}`)).body.error.code).toBe('resource_in_use')
  const on = { type: 'server', server: { id: server.id } }
  await t.act('POST', `/firewalls/${firewall.id}/actions/remove_from_resources`, { remove_from: [on] })
  await t.act('POST', `/volumes/${volume.id}/actions/detach`)
  await t.act('POST', `/volumes/${volume.id}/actions/resize`, { size: 12 })
  await t.act('POST', `/servers/${server.id}/actions/detach_from_network`, { network: network.id })
  for (const path of [`volumes/${volume.id}`, `firewalls/${firewall.id}`, `networks/${network.id}`])
    expect((await t.ask('DELETE', `/${path}`)).status).toBe(204)
  for (const list of ['volumes', 'firewalls', 'networks', 'locations', 'datacenters', 'isos', 'server_types'])
    expect((await t.ask('GET', `/${list}`)).status).toBe(200)
  expect((await t.ask('GET', '/pricing')).body.pricing.currency).toBe('RUB')
})

test('an address has the names of both kinds, and one number', async () => {
  const t = await hcloudApp({ catalog: catalogWith('public_ipv4: [203.0.113.0/28]') })
  const { server } = await t.act('POST', '/servers', web)
  const { floating_ip } = await t.act('POST', '/floating_ips', { type: 'ipv4', home_location: 'local-1' })
  expect((await t.ask('GET', `/primary_ips/${floating_ip.id}`)).body.primary_ip.ip).toBe(floating_ip.ip)
  const own = server.public_net.ipv4.id
  await t.act('POST', `/floating_ips/${own}/actions/unassign`)
  const assignee = { assignee_id: server.id, assignee_type: 'server' }
  await t.act('POST', `/primary_ips/${floating_ip.id}/actions/assign`, assignee)
  const pointer = { ip: floating_ip.ip, dns_ptr: 'web.example.com' }
  await t.act('POST', `/servers/${server.id}/actions/change_dns_ptr`, pointer)
  const shown = (await t.ask('GET', `/servers/${server.id}`)).body.server
  expect(shown.public_net.ipv4).toMatchObject({ ip: floating_ip.ip, dns_ptr: 'web.example.com' })
  expect((await t.ask('DELETE', `/floating_ips/${own}`)).status).toBe(204)
})

test('a firewall or a volume whose server is refused is not created', async () => {
  const t = await hcloudApp()
  const { server } = await t.act('POST', '/servers', web)
  const on = (id: number) => [{ type: 'server', server: { id } }]
  const selector = { type: 'label_selector', label_selector: { selector: '(' } }
  for (const apply_to of [on(999), [selector]])
    expect((await t.ask('POST', '/firewalls', { name: 'fw', apply_to })).status).toBeGreaterThan(400)
  await t.ask('DELETE', `/servers/${server.id}`)
  expect((await t.ask('POST', '/volumes', { name: 'v', size: 10, server: server.id })).status).toBe(423)
  await t.finish()
  for (const many of ['firewalls', 'volumes'])
    expect((await t.ask('GET', `/${many}`)).body[many], many).toEqual([])
})

test('a server shows the copy that its disk was made from, as long as that is there', async () => {
  const t = await hcloudApp()
  const { server } = await t.act('POST', '/servers', web)
  const path = `/servers/${server.id}`
  const { image } = await t.act('POST', `${path}/actions/create_image`, { type: 'snapshot' })
  const { server: copied } = await t.act('POST', '/servers', { ...web, name: 'copy', image: image.id })
  const expected = { id: image.id, type: 'snapshot', created_from: { id: server.id, name: 'web' } }
  const shown = async () => (await t.ask('GET', '/servers?sort=id')).body.servers
  expect((await shown()).map((one: { image: object }) => one.image)).toMatchObject([
    { name: 'micro' },
    expected,
  ])
  expect((await t.ask('GET', `/servers/${copied.id}`)).body.server.image).toMatchObject(expected)
  await t.act('POST', `${path}/actions/rebuild`, { image: image.id })
  expect((await t.ask('GET', path)).body.server.image).toMatchObject(expected)
  await t.act('POST', `${path}/actions/rebuild`, { image: 'micro' })
  expect((await t.ask('GET', path)).body.server.image).toMatchObject({ name: 'micro' })
  await t.ask('DELETE', `/images/${image.id}`)
  await t.finish()
  expect((await shown()).map((one: { image: object | null }) => one.image)).toMatchObject([
    { name: 'micro' },
    null,
  ])
})

test('images are filtered by the server that they belong to', async () => {
  const t = await hcloudApp()
  const { server } = await t.act('POST', '/servers', web)
  await t.act('POST', `/servers/${server.id}/actions/create_image`, { type: 'snapshot' })
  expect((await t.ask('GET', `/images?bound_to=${server.id}`)).body.images).toEqual([])
  expect((await t.ask('GET', '/images?type=snapshot')).body.images).toHaveLength(1)
})

test('names are unique, and mistakes are named in the form that clients read', async () => {
  const t = await hcloudApp()
  await t.act('POST', '/servers', web)
  expect((await t.ask('POST', '/servers', web)).body.error.code).toBe('uniqueness_error')
  const wrong = (await t.ask('POST', '/servers', { ...web, name: 'not a host' })).body.error
  expect(wrong).toMatchObject({ code: 'invalid_input', details: { fields: [{ name: 'name' }] } })
  expect((await t.ask('POST', '/servers', { name: 'x' })).status).toBe(422)
  expect((await t.ask('POST', '/servers', { ...web, name: 'y', image: 'none' })).body.error.code).toBe(
    'not_found',
  )
  expect((await t.ask('GET', '/load_balancers')).body.error.code).toBe('not_found')
})

test('lists have pages, and are sorted', async () => {
  const t = await hcloudApp()
  for (const name of ['b', 'a', 'c']) await t.act('POST', '/ssh_keys', { name, public_key: ed25519() })
  const { body, headers } = await t.ask('GET', '/ssh_keys?sort=name:desc&per_page=2&page=2')
  expect(body.ssh_keys.map(({ name }: { name: string }) => name)).toEqual(['a'])
  expect(body.meta.pagination).toMatchObject({ page: 2, previous_page: 1, next_page: null, total_entries: 3 })
  expect(Number(headers['ratelimit-limit'])).toBeGreaterThan(Number(headers['ratelimit-remaining']))
})

test.each([
  ['a in (x,y)', ['one', 'two']],
  ['a notin (x, z)', ['two', 'none']],
  ['b , a in ( x , y )', ['two']],
  ['a != x,!b', ['none']],
  ['a == y', ['two']],
])('the selector %s means to lists of servers and of keys the same', async (selector, expected) => {
  const t = await hcloudApp()
  for (const [name, labels] of Object.entries({ one: { a: 'x' }, two: { a: 'y', b: '' }, none: {} })) {
    await t.act('POST', '/servers', { ...web, name, labels })
    await t.act('POST', '/ssh_keys', { name, public_key: ed25519(), labels })
  }
  for (const many of ['servers', 'ssh_keys']) {
    const { body } = await t.ask('GET', `/${many}?label_selector=${encodeURIComponent(selector)}`)
    expect([many, body[many].map(nameOf)]).toEqual([many, expected])
  }
})
const nameOf = ({ name }: { name: string }) => name

test.each(['a in x', 'a in (x', 'a,', `a in (${'x,'.repeat(100)})`])(
  'the selector %s is invalid input',
  async (selector) => {
    const t = await hcloudApp()
    for (const many of ['servers', 'ssh_keys']) {
      const { body } = await t.ask('GET', `/${many}?label_selector=${encodeURIComponent(selector)}`)
      expect(body.error).toMatchObject({
        code: 'invalid_input',
        details: { fields: [{ name: 'label_selector' }] },
      })
    }
  },
)

test('lists show each server as it is shown by itself, whatever it has in common with others', async () => {
  const t = await hcloudApp()
  const numbers: number[] = []
  const labels = { role: 'web' }
  for (const [name, server_type] of Object.entries({ one: 'nano', two: 'small', three: 'nano' }))
    numbers.push((await t.act('POST', '/servers', { ...web, name, server_type, labels })).server.id)
  const [first] = numbers
  await t.act('POST', '/volumes', { name: 'data', size: 10, server: first })
  await t.act('POST', '/firewalls', {
    name: 'outside',
    rules: [],
    apply_to: [{ type: 'server', server: { id: first } }],
  })
  const place = { template: 'micro', zone_slug: 'local-1', cpu_type: 'amd' }
  const size = { cpu: 2, ram_mb: 2048, disk_gb: 20 }
  await t.call('POST', '/servers', { ...place, name: 'odd', plan_type: 'custom', ...size })
  await t.finish()
  // The text of what servers have in common is made by the first list, and kept for the second.
  for (const _ of ['made', 'kept']) {
    const { servers, meta } = (await t.ask('GET', '/servers')).body
    expect(meta.pagination.total_entries).toBe(4)
    for (const server of servers)
      expect((await t.ask('GET', `/servers/${server.id}`)).body).toEqual({ server })
    expect(servers[0]).toMatchObject({ volumes: [expect.any(Number)], server_type: { name: 'nano' } })
    expect(servers.map(nameOfType)).toEqual(['nano', 'small', 'nano', 'custom-2-2048-20'])
  }
  const half = (await t.ask('GET', '/servers?per_page=2&page=2')).body
  expect(half.servers.map(nameOfType)).toEqual(['nano', 'custom-2-2048-20'])
  expect(half.meta.pagination).toMatchObject({ last_page: 2, total_entries: 4 })
})
const nameOfType = ({ server_type }: { server_type: { name: string } }) => server_type.name

test('a size that no preset has shows a number of its own, which needs no row', async () => {
  const t = await hcloudApp()
  const place = { template: 'micro', zone_slug: 'local-1', cpu_type: 'amd' }
  for (const cpu of [1, 2]) {
    const order = { ...place, name: `odd-${cpu}`, plan_type: 'custom', ...{ cpu, ram_mb: 2048, disk_gb: 20 } }
    expect((await t.call('POST', '/servers', order)).status).toBe(202)
  }
  const rows = () => t.db.selectFrom('hcloud_numbers').selectAll().where('kind', '=', 'server_type').execute()
  const { servers } = (await t.ask('GET', '/servers')).body
  const types = servers.map(({ server_type }: { server_type: { id: number } }) => server_type.id)
  expect(new Set(types).size).toBe(2)
  expect((await rows()).filter(({ object_id }) => object_id.startsWith('custom'))).toEqual([])
  expect((await t.ask('GET', `/server_types/${types[0]}`)).status).toBe(404)
})

test('polls of actions do not use up the limit of reads', async () => {
  const t = await hcloudApp({ rateLimits: { reads: 20, writes: 20, anonymous: 20 } })
  const { action } = await t.act('POST', '/servers', web)
  for (let poll = 0; poll < 40; poll++)
    expect((await t.ask('GET', `/actions?id=${action.id}`)).status).toBe(200)
  expect((await t.ask('GET', '/servers')).status).toBe(200)
})

test('an object keeps its number for ever, and no other gets it', async () => {
  const t = await hcloudApp()
  const add = async (name: string) =>
    (await t.act('POST', '/ssh_keys', { name, public_key: ed25519() })).ssh_key.id
  const [first, second] = [await add('a'), await add('b')]
  const other = t.askAs(await hcloudToken(t))
  const ids = (await other('GET', '/ssh_keys')).body.ssh_keys.map(({ id }: { id: number }) => id)
  expect(ids).toEqual([first, second])
  await t.ask('DELETE', `/ssh_keys/${second}`)
  t.clock.advance(60 * 24 * 3600_000)
  await t.app.retention.look()
  expect(await add('c')).toBeGreaterThan(second)
  expect((await t.ask('GET', `/ssh_keys/${first}`)).status).toBe(200)
})

test('the number of an object that was deleted by /v1 is forgotten like any other', async () => {
  const t = await hcloudApp()
  const made = (name: string) => t.act('POST', '/ssh_keys', { name, public_key: ed25519() })
  const [{ ssh_key: kept }, { ssh_key: gone }] = [await made('kept'), await made('gone')]
  const { items } = (await t.call('GET', '/account/ssh_keys')).body
  const { ssh_key_id } = items.find(({ name }: { name: string }) => name === 'gone')
  await t.call('DELETE', `/account/ssh_keys/${ssh_key_id}`)
  await t.app.events.relay()
  await t.app.retention.look()
  t.clock.advance(31 * 24 * 3600_000)
  await t.app.retention.look()
  const rows = await t.db
    .selectFrom('hcloud_numbers')
    .select('number')
    .where('kind', '=', 'ssh_key')
    .execute()
  expect(rows).toEqual([{ number: kept.id }])
  expect(gone.id).not.toBe(kept.id)
})

test('a token changes nothing of servers of another project, also by what is attached to them', async () => {
  const t = await hcloudApp({ catalog: catalogWith('public_ipv4: [203.0.113.0/28]') })
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'other' })).body
  const other = t.askAs(await hcloudToken(t, { project_id }))
  const { server } = await t.act('POST', '/servers', web)
  const { volume } = await t.act('POST', '/volumes', { name: 'data', size: 10, server: server.id })
  const { firewall } = (await other('POST', '/firewalls', { name: 'fw', rules: [] })).body
  const on = { type: 'server', server: { id: server.id } }
  for (const [path, body] of [
    [`/firewalls/${firewall.id}/actions/apply_to_resources`, { apply_to: [on] }],
    [`/floating_ips/${server.public_net.ipv4.id}/actions/unassign`, {}],
    [`/volumes/${volume.id}/actions/detach`, {}],
    [`/volumes/${volume.id}/actions/resize`, { size: 20 }],
  ] as const)
    expect([path, (await other('POST', path, body)).status]).toEqual([path, 404])
  expect((await other('GET', `/servers/${server.id}/actions`)).status).toBe(404)
})

test('a name is refused that another object has, to renames and to requests at once too', async () => {
  const t = await hcloudApp()
  await t.act('POST', '/servers', web)
  const { server } = await t.act('POST', '/servers', { ...web, name: 'two' })
  const key = (name: string) => t.ask('POST', '/ssh_keys', { name, public_key: ed25519() })
  await key('k1')
  const { ssh_key } = (await key('k2')).body
  for (const [path, name] of [
    [`/servers/${server.id}`, 'web'],
    [`/ssh_keys/${ssh_key.id}`, 'k1'],
  ] as const) {
    expect((await t.ask('PUT', path, { name })).body.error.code).toBe('uniqueness_error')
    expect((await t.ask('PUT', path, { name: `${name}-2` })).status).toBe(200)
    expect((await t.ask('PUT', path, { name: `${name}-2` })).status).toBe(200)
  }
  const order = { ...web, name: 'race' }
  const twice = await Promise.all([1, 2].map(() => t.ask('POST', '/servers', order)))
  expect(twice.map(({ status }) => status).sort()).toEqual([201, 409])
})

test('an account keeps only its newest 10,000 numbers of what has ended', async () => {
  const t = await hcloudApp()
  const { ssh_key } = await t.act('POST', '/ssh_keys', { name: 'kept', public_key: ed25519() })
  const { account_id } = await t.db.selectFrom('accounts').select('account_id').executeTakeFirstOrThrow()
  const row = (number: number) => ({
    ...{ number, account_id, kind: 'change', object_id: `change ${number}` },
    ...{ created_at: t.clock.now(), ended_at: t.clock.now() },
  })
  for (let from = 1_000; from < 12_000; from += 500)
    await t.db
      .insertInto('hcloud_numbers')
      .values(Array.from({ length: 500 }, (_, at) => row(from + at)))
      .execute()
  await t.app.retention.look()
  const { n } = await t.db
    .selectFrom('hcloud_numbers')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('kind', '=', 'change')
    .executeTakeFirstOrThrow()
  expect(Number(n)).toBe(10_000)
  expect((await t.ask('GET', `/ssh_keys/${ssh_key.id}`)).status).toBe(200)
})
