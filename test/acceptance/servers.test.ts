import { hash } from 'node:crypto'
import { describe, expect, type TestContext, test } from 'vitest'
import { ed25519 } from '../api/harness/keys.ts'
import type { Reply } from '../harness/app.ts'
import {
  act,
  add,
  call,
  ended,
  fresh,
  holderOf,
  issues,
  make,
  makeStopped,
  NOBODY,
  order,
  remove,
  settle,
  url,
} from './harness/client.ts'

const show = async (id: string) => (await call('GET', `/servers/${id}`)).body
const statusOf = async (id: string) => (await show(id)).status
const supports = async (zoneSlug: string, feature: string) => {
  const zones: Reply['body'][] = (await call('GET', '/zones')).body
  return zones.find((zone) => zone.zone_slug === zoneSlug).features.includes(feature)
}

describe.concurrent('servers, each in its own state, at the same time', () => {
  test('POST /servers answers 202 with a bare Server that is creating; it can be read at once', async (t) => {
    const name = fresh('web')
    const body = await order({ name, description: 'the shop', labels: { env: 'test' } })
    const reply = await call('POST', '/servers', body)
    const { server_id } = reply.body
    t.onTestFinished(() => remove(server_id))
    expect(reply.headers.location).toBe(`/v1/servers/${server_id}`)
    expect(reply.body).toMatchObject({
      ...body,
      status: 'creating',
      ssh_key_ids: [],
      preset_id: null,
      delete_protection: false,
      current_operation: { type: 'create', progress: expect.any(Number) },
      started_at: null,
    })
    expect(await show(server_id)).toMatchObject({ server_id, status: 'creating' })
    const listed = (await call('GET', `/servers?name=${name}`)).body
    expect([listed.total, listed.items[0].server_id]).toEqual([1, server_id])
    await settle(reply.body)
    expect(await statusOf(server_id)).toBe('running')
  })

  test('ports of a server are published and withdrawn; the one for SSH is there from the start and stays', async (t) => {
    const { server_id, ssh } = await makeStopped(t)
    const path = `/servers/${server_id}/ports`
    const [first] = (await call('GET', path)).body.items
    expect(first).toMatchObject({ protocol: 'tcp', port: 22, host_port: ssh.port, is_system: true })
    expect((await call('DELETE', `${path}/${first.port_id}`)).body.code).toBe('port_is_system')
    const published = await call('POST', path, { protocol: 'udp', port: 53 })
    expect(published).toMatchObject({ status: 201, body: { server_id, port: 53, is_system: false } })
    const { host_port, port_id } = published.body
    expect((await call('POST', path, { protocol: 'udp', port: 54, host_port })).body.code).toBe('port_taken')
    expect((await call('GET', path)).body.total).toBe(2)
    expect((await call('DELETE', `${path}/${port_id}`)).status).toBe(204)
    expect((await call('DELETE', `${path}/${port_id}`)).body.code).toBe('port_not_found')
  })

  test('public addresses are reserved, given to a server and taken away, where the zone has any', async (t) => {
    const { zone_slug } = await order()
    const hasAny = await supports(zone_slug, 'public_ipv4')
    const reserved = await call('POST', '/addresses', { zone_slug, family: 'ipv4' })
    expect((await call('GET', '/addresses')).body.total).toEqual(expect.any(Number))
    if (!hasAny) {
      expect(reserved).toMatchObject({ status: 409, body: { code: 'not_supported', feature: 'public_ipv4' } })
      return
    }
    const path = `/addresses/${reserved.body.address_id}`
    t.onTestFinished(async () => void (await call('DELETE', path)))
    const { server_id } = await makeStopped(t, { enable_ipv4: false })
    const given = await call('PATCH', path, { server_id })
    expect(given).toMatchObject({ status: 200, body: { server_id, address: reserved.body.address } })
    expect((await show(server_id)).ipv4).toBe(reserved.body.address)
    expect((await call('DELETE', path)).body.code).toBe('address_in_use')
    expect((await call('PATCH', path, { server_id: null })).body.server_id).toBeNull()
    expect((await call('DELETE', path)).status).toBe(204)
    expect((await call('GET', path)).body.code).toBe('address_not_found')
  })

  test('creation takes published_ports, and details list them with the gateway, MAC address and resolvers', async (t) => {
    const published_ports = [{ protocol: 'tcp', port: 80 }]
    const { server_id } = await makeStopped(t, { published_ports })
    const { items } = (await call('GET', `/servers/${server_id}/ports`)).body
    expect(items).toMatchObject([...published_ports, { port: 22 }])
    const { network } = (await call('GET', `/servers/${server_id}/details`)).body
    expect(network).toMatchObject({ mac: expect.any(String), published_ports: items })
    expect(network.resolvers).not.toEqual([])
    expect(network.ipv4.gateway).toEqual(expect.any(String))
  })

  test('a ticket for the serial console is given where the server runs, and opens it once', async (t) => {
    const { server_id } = await makeStopped(t)
    const path = `/servers/${server_id}/console`
    expect((await call('POST', path)).body.code).toBe('server_state_conflict')
    await call('POST', `/servers/${server_id}/start`)
    const { status, body } = await call('POST', path)
    expect([status, body.url]).toEqual([201, '/v1/console'])
    const open = () => {
      const address = new URL(body.url, url.replace('http', 'ws'))
      const socket = new WebSocket(address, ['berth.console.v1', body.ticket])
      return new Promise<string>((resolve) => {
        socket.addEventListener('open', () => {
          resolve(`opened ${socket.protocol}`)
          socket.close()
        })
        socket.addEventListener('error', () => resolve('refused'))
      })
    }
    expect([await open(), await open()]).toEqual(['opened berth.console.v1', 'refused'])
  })

  test('servers join private networks by operations or from creation on, and a network with servers stays', async (t) => {
    const name = fresh('net')
    const { zone_slug } = await order()
    const done = async ({ operation_id }: { operation_id: string }) =>
      expect((await call('GET', `/operations/${operation_id}?wait=60`)).body.status).toBe('succeeded')
    const made = await call('POST', '/networks', { name, zone_slug, ip_range: '10.201.0.0/28' })
    if (!(await supports(zone_slug, 'private_networks'))) return expect(made.body.code).toBe('not_supported')
    expect(made).toMatchObject({ status: 201, body: { name, zone_slug, servers: [] } })
    const { network_id } = made.body
    const path = `/networks/${network_id}`
    t.onTestFinished(async () => void (await call('DELETE', path)))
    const one = await makeStopped(t, { network_ids: [network_id] })
    expect((await call('GET', `/servers/${one.server_id}`)).body.networks).toEqual([
      { network_id, ipv4: '10.201.0.2' },
    ])
    const { server_id } = await makeStopped(t)
    const attached = await call('POST', `${path}/servers`, { server_id, ipv4: '10.201.0.9' })
    expect(attached).toMatchObject({ status: 202, body: { type: 'attach_network', server_id } })
    await done(attached.body)
    const { network } = (await call('GET', `/servers/${server_id}/details`)).body
    expect(network.private).toMatchObject([{ network_id, ipv4: '10.201.0.9', prefix_length: 28 }])
    expect((await call('GET', '/networks')).body.items).toContainEqual(
      expect.objectContaining({
        network_id,
        servers: expect.arrayContaining([{ server_id, ipv4: '10.201.0.9' }]),
      }),
    )
    expect((await call('DELETE', path)).body.code).toBe('network_in_use')
    for (const member of [one.server_id, server_id]) {
      const detached = await call('DELETE', `${path}/servers/${member}`)
      expect(detached).toMatchObject({ status: 202, body: { type: 'detach_network' } })
      await done(detached.body)
    }
    expect((await call('PATCH', path, { name: `${name}2` })).body.name).toBe(`${name}2`)
    expect((await call('DELETE', path)).status).toBe(204)
    expect((await call('GET', path)).body.code).toBe('network_not_found')
  })

  test('a firewall is attached by id and by label, its rules are replaced at once, and it is deleted once no server has it', async (t) => {
    const label = fresh('fw')
    const { server_id, zone_slug } = await makeStopped(t, { labels: { [label]: '' } })
    const made = await call('POST', '/firewalls', { name: label, label_selector: `${label}!=x,${label}` })
    if (!(await supports(zone_slug, 'firewalls'))) return expect(made.body.code).toBe('not_supported')
    expect(made).toMatchObject({ status: 201, body: { rules: [], server_ids: [] } })
    const path = `/firewalls/${made.body.firewall_id}`
    t.onTestFinished(async () => void (await call('DELETE', path)))
    expect((await call('GET', `/firewalls?server_id=${server_id}`)).body.items).toEqual([made.body])
    const attached = await call('POST', `${path}/servers`, { server_ids: [server_id] })
    expect(attached).toMatchObject({ status: 200, body: { server_ids: [server_id] } })
    const rule = {
      direction: 'in',
      protocol: 'tcp',
      ports: '22',
      cidrs: ['203.0.113.0/24'],
      description: 'x',
    }
    const changed = await call('PATCH', path, { rules: [rule], label_selector: null })
    expect(changed).toMatchObject({ status: 200, body: { rules: [rule], label_selector: null } })
    expect((await call('GET', '/firewalls')).body.items).toContainEqual(changed.body)
    expect((await call('DELETE', path)).body.code).toBe('firewall_in_use')
    expect((await call('DELETE', `${path}/servers/${server_id}`)).status).toBe(204)
    expect((await call('DELETE', `${path}/servers/${server_id}`)).body.code).toBe('server_not_found')
    expect((await call('DELETE', path)).status).toBe(204)
    expect((await call('GET', path)).body.code).toBe('firewall_not_found')
  })

  test('creation takes ssh_key_ids of the SSH key list, and either plan', async (t) => {
    const key = await add(t, 'ssh_keys', { name: 'x', public_key: ed25519() })
    const { zone_slug, cpu_type } = await order()
    const presets = (
      await call('GET', `/pricing/presets?${new URLSearchParams({ zone_slug, cpu_type })}`)
    ).body.filter((preset: Reply['body']) => preset.is_available)
    const { preset_id, cpu, ram_mb, disk_gb, price_month_rub } = presets[0]
    const plan = { plan_type: 'preset', preset_id }
    const server = await makeStopped(t, { ...plan, ssh_key_ids: [key.ssh_key_id] })
    expect(server).toMatchObject({
      ...plan,
      ...{ cpu, ram_mb, disk_gb, price_month_rub },
      status: 'stopped',
      ssh_key_ids: [key.ssh_key_id],
    })
    expect((await call('GET', '/account/me')).body.default_project_id).toBe(server.project_id)
    expect(server.name).toMatch(/^[a-z0-9-]+$/)
  })

  test('details show how to log in: with a password only where there are no keys, and only to servers:write', async (t) => {
    const { server_id } = await makeStopped(t, { name: 'card' })
    const path = `/servers/${server_id}/details`
    const { body } = await call('GET', path)
    expect(body).toMatchObject({
      server_id,
      project: { project_id: body.project_id },
      zone: { zone_slug: body.zone_slug },
      template: { template_id: body.template_id },
      preset: null,
      network: { hostname: 'card', mac: expect.stringMatching(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/) },
      ssh: { auth_methods: ['password'], keys: [], is_ready: false, password: expect.any(String) },
      billing: { month_to_date_rub: expect.stringMatching(/^0\.0\d$/), billed_since: expect.any(String) },
      allowed_actions: [
        ...['start', 'update', 'resize', 'grow_disk', 'rebuild', 'restore', 'rescue', 'snapshot', 'delete'],
      ],
    })
    expect(body.ssh.command).toBe(`ssh -p ${body.ssh.port} ${body.ssh.username}@${body.ssh.host}`)
    const { host, port, username } = body.ssh
    expect((await call('GET', `/servers/${server_id}`)).body.ssh).toEqual({ host, port, username })
    const reader = await holderOf(t, ['servers:read'])
    expect((await reader('GET', path)).body.ssh.password).toBeNull()
    const key = await add(t, 'ssh_keys', { name: 'x', public_key: ed25519() })
    const user_data = '#cloud-config\n# ж\n'
    const withKey = await makeStopped(t, { ssh_key_ids: [key.ssh_key_id], user_data })
    const { ssh, user_data_sha256 } = (await call('GET', `/servers/${withKey.server_id}/details`)).body
    expect([body.user_data_sha256, user_data_sha256]).toEqual([null, hash('sha256', user_data)])
    expect(ssh).toMatchObject({ auth_methods: ['public_key'], password: null })
  })

  test('a server is listed by project, status, plan, template, name and label, and sorted by name', async (t) => {
    const project = await add(t, 'projects', { name: 'list' })
    const labels = { env: fresh('env'), tier: 'web' }
    const common = { project_id: project.project_id, labels }
    const a = await makeStopped(t, { ...common, name: 'a' })
    const b = await makeStopped(t, { ...common, name: 'b' })
    const list = async (query: Record<string, string>) => {
      const all = new URLSearchParams({ project_id: project.project_id, ...query })
      const { items, total } = (await call('GET', `/servers?${all}`)).body
      expect(total).toBe(items.length)
      return items.map(({ server_id }: { server_id: string }) => server_id)
    }
    expect(await list({})).toEqual([b.server_id, a.server_id])
    expect(await list({ sort: 'created_at' })).toEqual([a.server_id, b.server_id])
    expect(await list({ sort: 'name' })).toEqual([a.server_id, b.server_id])
    expect(await list({ sort: '-name' })).toEqual([b.server_id, a.server_id])
    expect(await list({ name: 'a' })).toEqual([a.server_id])
    for (const same of [
      { status: 'stopped', plan_type: 'custom', cpu_type: a.cpu_type, template_id: a.template_id },
      { zone_slug: a.zone_slug },
      { label: 'tier' },
      { label: `env=${labels.env}` },
      { label: `env=${labels.env},tier!=db,!none` },
    ])
      expect([same, (await list(same)).length]).toEqual([same, 2])
    for (const other of [
      { status: 'running' },
      { label: 'tier=db' },
      { label: 'none' },
      { label: 'tier=web,!env' },
      { name: 'c' },
    ])
      expect([other, await list(other)]).toEqual([other, []])
    for (const wrong of [
      'status=asleep',
      'sort=price',
      'project_id=me',
      'cpu_type=arm',
      'label=a%20b',
      'label=a,',
    ])
      expect([wrong, (await call('GET', `/servers?${wrong}`)).status]).toEqual([wrong, 422])
  })

  test('PATCH changes metadata at once, also of a server in the middle of an operation', async (t) => {
    const project = await add(t, 'projects', { name: 'other' })
    const server = await make(t)
    const path = `/servers/${server.server_id}`
    const change = {
      name: 'renamed',
      description: 'd',
      labels: { a: 'b' },
      project_id: project.project_id,
      delete_protection: true,
    }
    const reply = await call('PATCH', path, change)
    expect(reply).toMatchObject({ status: 200, body: { ...change, status: 'creating' } })
    expect(await call('DELETE', path)).toMatchObject({ status: 409, body: { code: 'delete_protected' } })
    expect((await call('PATCH', path, { description: null, delete_protection: false })).body).toMatchObject({
      description: null,
      delete_protection: false,
    })
    for (const body of [{}, { name: '-' }, { project_id: NOBODY }, { status: 'running' }, { zone_slug: 'x' }])
      expect([body, (await call('PATCH', path, body)).status]).toEqual([body, 422])
  })

  test('a stopped server takes another configuration, its disk only grows', async (t) => {
    const server = await makeStopped(t, { disk_gb: 15 })
    const path = `/servers/${server.server_id}`
    const smaller = await call('PATCH', path, { disk_gb: 10 })
    expect([smaller.status, issues(smaller)]).toEqual([422, [['/disk_gb', 'below_minimum']]])
    const query = new URLSearchParams({ zone_slug: server.zone_slug, cpu_type: server.cpu_type })
    const presets: Reply['body'][] = (await call('GET', `/pricing/presets?${query}`)).body
    const preset = presets.find(({ disk_gb, is_available }) => is_available && disk_gb >= 15)
    const reply = await call('PATCH', path, { plan_type: 'preset', preset_id: preset.preset_id })
    expect(reply).toMatchObject({
      status: 202,
      body: { status: 'resizing', current_operation: { type: 'resize' } },
    })
    await settle(reply.body)
    const { preset_id, cpu, ram_mb, disk_gb, price_month_rub } = preset
    expect(await show(server.server_id)).toMatchObject({
      status: 'stopped',
      plan_type: 'preset',
      ...{ preset_id, cpu, ram_mb, disk_gb, price_month_rub },
    })
    for (const body of [{ cpu: 2, preset_id }, { plan_type: 'custom', preset_id }, { plan_type: 'preset' }])
      expect([body, (await call('PATCH', path, body)).status]).toEqual([body, 422])
  })

  test('an action in the wrong state is server_state_conflict, during an operation operation_in_progress', async (t) => {
    const { server_id: id } = await makeStopped(t)
    const refused = async (action: string, body: unknown = {}) => {
      const isResize = action === 'resize'
      const path = `/servers/${id}${isResize ? '' : `/${action}`}`
      const reply = await call(isResize ? 'PATCH' : 'POST', path, isResize ? { cpu: 2 } : body)
      if (reply.body.code === 'operation_in_progress') expect(reply.headers['retry-after']).toMatch(/^\d+$/)
      return reply
    }
    for (const action of ['stop', 'reboot'])
      expect((await refused(action)).body).toMatchObject({
        code: 'server_state_conflict',
        current_status: 'stopped',
        allowed_statuses: ['running', 'error'],
      })
    const start = await call('POST', `/servers/${id}/start`)
    expect(await statusOf(id)).toBe('starting')
    const actions = ['start', 'stop', 'reboot', 'resize']
    for (const reply of await Promise.all(actions.map((action) => refused(action))))
      expect(reply).toMatchObject({
        status: 409,
        body: { code: 'operation_in_progress', operation_id: start.body.operation_id },
      })
    await ended(start.body)
    for (const [action, allowed] of [
      ['start', ['stopped', 'error']],
      ['resize', ['stopped']],
    ] as const)
      expect((await refused(action)).body).toMatchObject({
        code: 'server_state_conflict',
        current_status: 'running',
        allowed_statuses: allowed,
      })
    const stop = await call('POST', `/servers/${id}/stop`)
    expect(await statusOf(id)).toBe('stopping')
    for (const reply of await Promise.all(actions.map((action) => refused(action))))
      expect(reply.body).toMatchObject({
        code: 'operation_in_progress',
        operation_id: stop.body.operation_id,
      })
    expect(await refused('stop', { force: true })).toMatchObject({ status: 202, body: { type: 'stop' } })
    expect(await ended(stop.body)).toMatchObject({ status: 'canceled' })
  })

  test('stop and reboot take force and timeout_seconds of 1 to 600', async (t) => {
    const server = await make(t)
    await settle(server)
    const stop = (body: unknown) => call('POST', `/servers/${server.server_id}/stop`, body)
    for (const [body, pointer, code] of [
      [{ timeout_seconds: 0 }, '/timeout_seconds', 'below_minimum'],
      [{ timeout_seconds: 601 }, '/timeout_seconds', 'above_maximum'],
      [{ timeout_seconds: '60' }, '/timeout_seconds', 'wrong_type'],
      [{ force: 'yes' }, '/force', 'wrong_type'],
      [{ forse: true }, '/forse', 'unknown_field'],
    ] as const)
      expect([body, issues(await stop(body))]).toEqual([body, [[pointer, code]]])
    await act(server.server_id, 'reboot', { force: true })
    await act(server.server_id, 'stop', { timeout_seconds: 600 })
    expect(await statusOf(server.server_id)).toBe('stopped')
    await act(server.server_id, 'start', {})
    await act(server.server_id, 'stop', { force: true })
  })

  test('DELETE is accepted in every status; what ran is canceled, and afterwards the server is a 404', async (t) => {
    const server = await make(t)
    const path = `/servers/${server.server_id}`
    const first = await call('DELETE', path)
    expect(first).toMatchObject({ status: 202, body: { type: 'delete' } })
    const second = await call('DELETE', path)
    if (second.status === 202) expect(second.body.operation_id).toBe(first.body.operation_id)
    else expect(second.status).toBe(404)
    await ended(first.body)
    for (const [method, rest, body] of [
      ['GET', ''],
      ['GET', '/details'],
      ['PATCH', '', { name: 'x' }],
      ['DELETE', ''],
      ['POST', '/start'],
      ['POST', '/stop'],
      ['POST', '/reboot'],
    ] as const)
      expect([method, rest, await call(method, `${path}${rest}`, body)]).toMatchObject([
        method,
        rest,
        { status: 404, body: { code: 'server_not_found' } },
      ])
    const operation = await call('GET', `${path}/operations/${server.current_operation.operation_id}`)
    expect(operation.body).toMatchObject({ type: 'create', status: 'canceled', error: null })
    const { items } = (await call('GET', `${path}/operations`)).body
    expect(items.map(({ type }: { type: string }) => type)).toEqual(['delete', 'create'])
  })

  test('an operation is waited for with wait=0..60 and ends in a state that stays', async (t) => {
    const server = await make(t)
    const path = `/servers/${server.server_id}/operations/${server.current_operation.operation_id}`
    expect((await call('GET', `${path}?wait=0`)).body.finished_at).toBeNull()
    expect((await call('GET', `${path}?wait=1`)).status).toBe(200)
    const over = await ended({ server_id: server.server_id, ...server.current_operation })
    expect(over).toMatchObject({ status: 'succeeded', progress: 100, server_id: server.server_id })
    expect(Date.parse(over.created_at)).toBeLessThanOrEqual(Date.parse(over.started_at))
    expect(Date.parse(over.started_at)).toBeLessThanOrEqual(Date.parse(over.finished_at))
    expect((await call('GET', `${path}?wait=60`)).body).toEqual(over)
    for (const wait of ['-1', '61', 'x', '1.5'])
      expect([wait, (await call('GET', `${path}?wait=${wait}`)).status]).toEqual([wait, 422])
    const elsewhere = path.replace(server.server_id, NOBODY)
    expect(await call('GET', elsewhere)).toMatchObject({ status: 404, body: { code: 'operation_not_found' } })
  })

  test('GET /operations lists those of all servers, by status, type and subject; one is waited for by its id', async (t) => {
    const server = await make(t)
    const subject = { subject_type: 'server', subject_id: server.server_id }
    const path = `/operations/${server.current_operation.operation_id}`
    expect((await call('GET', path)).body).toMatchObject({ ...subject, server_id: server.server_id })
    const over = await ended({ server_id: server.server_id, ...server.current_operation })
    expect((await call('GET', `${path}?wait=60`)).body).toEqual(over)
    const { items, total } = (await call('GET', '/operations?limit=1')).body
    expect([items.length, total >= 1]).toEqual([1, true])
    const own = `/operations?subject_type=server&subject_id=${server.server_id}`
    expect((await call('GET', own)).body).toEqual({ items: [over], total: 1 })
    expect((await call('GET', `${own}&type=create&status=succeeded`)).body.total).toBe(1)
    expect((await call('GET', `${own}&status=failed`)).body).toEqual({ items: [], total: 0 })
    expect((await call('GET', `${own}&type=delete`)).body.total).toBe(0)
    for (const query of ['status=over', 'type=x', 'subject_type=x', 'subject_id=x'])
      expect([query, (await call('GET', `/operations?${query}`)).status]).toEqual([query, 422])
    expect(await call('GET', `/operations/${NOBODY}`)).toMatchObject({
      status: 404,
      body: { code: 'operation_not_found' },
    })
  })
})

async function wrong(more: Record<string, unknown>): Promise<string[]> {
  const { template_id, zone_slug, cpu_type, plan_type, cpu, ram_mb, disk_gb } = await order()
  const good = { template_id, zone_slug, cpu_type, plan_type, cpu, ram_mb, disk_gb }
  const reply = await call('POST', '/servers', { ...good, ...more })
  return issues(reply).map(([pointer, code]) => `${pointer} ${code}`)
}

test('zone_slug, template_id, plan_type and cpu_type are required, and are enumerations or names that exist', async () => {
  for (const [field, code] of [
    ['zone_slug', 'not_found'],
    ['plan_type', 'not_in_enum'],
    ['cpu_type', 'not_in_enum'],
  ] as const) {
    expect(await wrong({ [field]: undefined })).toContain(`/${field} required`)
    expect(await wrong({ [field]: 'other' })).toEqual([`/${field} ${code}`])
  }
  expect(await wrong({ zone_slug: null })).toEqual(['/zone_slug wrong_type'])
  expect(await wrong({ template_id: undefined })).toEqual(['/template_id required'])
  expect(await wrong({ template_id: 'micro' })).toEqual(['/template_id invalid_format'])
  expect(await wrong({ template_id: NOBODY })).toEqual(['/template_id not_found'])
})

test('preset_id goes with the plan preset, cpu, ram_mb and disk_gb with custom; both sets are a 422', async () => {
  const none = { cpu: undefined, ram_mb: undefined, disk_gb: undefined }
  expect(await wrong(none)).toEqual(['/cpu required', '/ram_mb required', '/disk_gb required'])
  expect(await wrong({ ...none, plan_type: 'preset' })).toEqual(['/preset_id required'])
  expect(await wrong({ ...none, plan_type: 'preset', preset_id: NOBODY })).toEqual(['/preset_id not_found'])
  expect(await wrong({ preset_id: NOBODY })).toEqual(['/preset_id mutually_exclusive'])
  expect(await wrong({ plan_type: 'preset', preset_id: NOBODY })).toEqual([
    '/cpu mutually_exclusive',
    '/ram_mb mutually_exclusive',
    '/disk_gb mutually_exclusive',
  ])
})

test('a server name has 1 to 63 characters and is safe as a host name', async (t: TestContext) => {
  expect(await wrong({ name: '' })).not.toEqual([])
  expect(await wrong({ name: 'a'.repeat(64) })).toEqual(['/name too_long'])
  for (const name of ['-a', 'a-', 'a b', 'a.b', 'ж', 'a_b', 'a\n'])
    expect([name, await wrong({ name })]).toEqual([name, ['/name invalid_format']])
  const longest = 'A1-'.repeat(21)
  expect((await makeStopped(t, { name: `${longest.slice(0, 62)}z` })).name).toHaveLength(63)
})

test('a server takes up to 20 keys, 32 labels, 255 characters of description and 64 KiB of user_data', async (t) => {
  const ids = Array.from({ length: 21 }, (_, at) => `00000000-0000-7000-8000-0000000000${at + 10}`)
  expect(await wrong({ ssh_key_ids: ids })).toEqual(['/ssh_key_ids too_long'])
  expect(await wrong({ ssh_key_ids: ids.slice(0, 20) })).toHaveLength(20)
  expect(await wrong({ ssh_key_ids: [NOBODY] })).toEqual(['/ssh_key_ids/0 not_found'])
  const labels = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`l${at}`, '']))
  expect(await wrong({ labels: labels(33) })).toEqual(['/labels too_long'])
  expect(await wrong({ labels: { a: 'x'.repeat(64) } })).toEqual(['/labels/a too_long'])
  expect(await wrong({ description: '😀'.repeat(256) })).toEqual(['/description too_long'])
  expect(await wrong({ user_data: 'ж'.repeat(32_769) })).toEqual(['/user_data too_long'])
  const server = await makeStopped(t, {
    labels: labels(32),
    description: '😀'.repeat(255),
    user_data: 'ж'.repeat(32_768),
  })
  expect(Object.keys(server.labels)).toHaveLength(32)
})

test('a server of another project, or of none that is there, is not made', async () => {
  const before = (await call('GET', '/servers')).body.total
  expect(await wrong({ project_id: NOBODY })).toEqual(['/project_id not_found'])
  expect(await wrong({ start_on_create: 'yes', delete_protection: 1 })).toEqual([
    '/start_on_create wrong_type',
    '/delete_protection wrong_type',
  ])
  expect((await call('GET', '/servers')).body.total).toBe(before)
})
