// The requests of programs that Debian does not have, in their order, as their sources of August 2026 show
// them: the Terraform provider (its acceptance tests of the core groups), the CSI driver and the cloud controller manager.
import { afterAll, afterEach, expect, test } from 'vitest'
import { catalogWith } from '../../harness/addresses.ts'
import type { Reply } from '../../harness/app.ts'
import { ed25519 } from '../harness/keys.ts'
import { type HcloudApp, hcloudApp } from './harness.ts'
import { noteRequest, type Program, replayedRows, writtenRows } from './replayed.ts'

const PLACE = 'local-1'

let tests: readonly { result?: { state: string } }[] = []
afterEach(({ task }) => {
  tests = task.file.tasks
})
afterAll(() => {
  // A run of some tests replays some requests.
  if (tests.every(({ result }) => result?.state === 'pass'))
    expect(writtenRows(), 'Correct the table of docs/hcloud.md.').toEqual(replayedRows())
})

/** An app whose `act` waits as hcloud-go 2 does: all begun actions by their ids, in one request. */
async function program(name: Program) {
  const t = await hcloudApp({ catalog: catalogWith('public_ipv4: [203.0.113.0/28]') })
  const ask: HcloudApp['ask'] = async (method, path, body) => {
    const reply = await t.ask(method, path, body)
    noteRequest(name, method, path, reply)
    return reply
  }
  const act: HcloudApp['act'] = async (...request) => {
    const { status, body } = await ask(...request)
    expect(status, JSON.stringify(body)).toBeLessThan(300)
    await t.finish()
    const begun = [body?.action, ...(body?.actions ?? []), ...(body?.next_actions ?? [])].filter(Boolean)
    const ids = begun.map(({ id }: { id: number }) => `id=${id}`).join('&')
    if (ids === '') return body
    const { actions } = (await ask('GET', `/actions?${ids}&page=1&sort=status&sort=id`)).body
    expect(actions.map(({ status }: { status: string }) => status)).toEqual(begun.map(() => 'success'))
    return body
  }
  const one = async (path: string): Promise<Reply['body']> => Object.values((await ask('GET', path)).body)[0]
  // The set-up of a test is no request of the program.
  return { ...t, ask, act, one, given: t }
}

/** hcloud-go's Get: by the name, or by the number if the text is one. */
const byName = (t: HcloudApp, many: string, name: string) =>
  t.ask('GET', `/${many}?name=${name}`).then(({ body }) => body[many][0])

const server = {
  ...{ name: 'web', server_type: 'nano', image: 1, location: PLACE, labels: { tf: 'test' } },
  ...{ start_after_create: true, public_net: { enable_ipv4: true, enable_ipv6: false } },
}

type Running = Awaited<ReturnType<typeof program>>
const labels = { key: 'value' }

/** Creates a key, a firewall, a network and a server with all of them, as `terraform apply` does. */
async function applied(t: Running) {
  const { ssh_key } = await t.act('POST', '/ssh_keys', { name: 'tf', public_key: ed25519(), labels })
  const { firewall } = await t.act('POST', '/firewalls', {
    ...{ name: 'tf', labels },
    rules: [{ direction: 'in', source_ips: ['0.0.0.0/0'], protocol: 'tcp', port: '80', description: 'web' }],
  })
  const order = { name: 'tf', ip_range: '10.0.0.0/16', labels, expose_routes_to_vswitch: false }
  const { network } = await t.act('POST', '/networks', order)
  const subnet = { type: 'cloud', network_zone: PLACE, ip_range: '10.0.0.0/16' }
  await t.act('POST', `/networks/${network.id}/actions/add_subnet`, subnet)
  expect(await byName(t, 'server_types', 'nano')).toMatchObject({
    locations: [{ name: PLACE, available: true }],
  })
  const image = (await t.ask('GET', '/images?name=micro&architecture=x86&include_deprecated=true')).body
    .images[0]
  const created = await t.act('POST', '/servers', {
    ...{ ...server, image: image.id, ssh_keys: [ssh_key.id] },
    ...{ firewalls: [{ firewall: firewall.id }], networks: [network.id] },
  })
  return { ssh_key, firewall, network, id: created.server.id, path: `/servers/${created.server.id}` }
}

test('Terraform: a plan finds everything as it was applied', async () => {
  const t = await program('Terraform')
  const { ssh_key, firewall, network, path } = await applied(t)
  const state = await t.one(path)
  expect(state).toMatchObject({
    ...{
      name: 'web',
      location: { name: PLACE },
      status: 'running',
      labels: { tf: 'test' },
      backup_window: null,
    },
    ...{ server_type: { name: 'nano' }, image: { name: 'micro' }, private_net: [{ network: network.id }] },
    public_net: { firewalls: [{ id: firewall.id, status: 'applied' }] },
  })
  // A plan reads everything again, and finds it as it was written.
  expect(await t.one(path)).toEqual(state)
  expect(await t.one(`/ssh_keys/${ssh_key.id}`)).toMatchObject({ name: 'tf', labels })
  expect(await t.one(`/networks/${network.id}`)).toMatchObject({
    labels,
    subnets: [{ ip_range: '10.0.0.0/16' }],
  })
  expect(await t.one(`/firewalls/${firewall.id}`)).toMatchObject({ labels, rules: [{ port: '80' }] })
})

test('Terraform: what was applied is changed, and destroyed', async () => {
  const t = await program('Terraform')
  const { ssh_key, firewall, network, id, path } = await applied(t)
  await t.act('PUT', path, { name: 'web-2' })
  await t.act('PUT', path, { labels: { tf: 'changed' } })
  await t.act('POST', `${path}/actions/poweroff`)
  await t.act('POST', `${path}/actions/change_type`, { server_type: 'micro', upgrade_disk: false })
  await t.act('POST', `${path}/actions/poweron`)
  await t.act('POST', `${path}/actions/enable_backup`)
  await t.act('POST', `${path}/actions/change_protection`, { delete: true, rebuild: true })
  expect(await t.one(path)).toMatchObject({
    name: 'web-2',
    labels: { tf: 'changed' },
    protection: { delete: true },
  })
  await t.act('PUT', `/ssh_keys/${ssh_key.id}`, { name: 'tf-2', labels: { key: 'other' } })
  await t.act('PUT', `/firewalls/${firewall.id}`, { name: 'tf-2', labels: {} })
  await t.act('POST', `/firewalls/${firewall.id}/actions/set_rules`, { rules: [] })
  await t.act('PUT', `/networks/${network.id}`, { name: 'tf-2' })
  await t.act('POST', `${path}/actions/change_protection`, { delete: false, rebuild: false })
  expect((await t.ask('DELETE', `/firewalls/${firewall.id}`)).body.error.code).toBe('resource_in_use')
  const on = [{ type: 'server', server: { id: id } }]
  await t.act('POST', `/firewalls/${firewall.id}/actions/remove_from_resources`, { remove_from: on })
  await t.act('DELETE', path)
  await t.act('POST', `/networks/${network.id}/actions/delete_subnet`, { ip_range: '10.0.0.0/16' })
  for (const gone of [`/firewalls/${firewall.id}`, `/networks/${network.id}`, `/ssh_keys/${ssh_key.id}`]) {
    expect((await t.ask('DELETE', gone)).status).toBe(204)
    expect((await t.ask('GET', gone)).body.error.code).toBe('not_found')
  }
})

test('Terraform: a server in a network without public addresses, and its attachment by itself', async () => {
  const t = await program('Terraform')
  const { network } = await t.act('POST', '/networks', { name: 'tf', ip_range: '10.0.1.0/24' })
  const image = (await byName(t, 'images', 'micro')).id
  const hidden = { public_net: { enable_ipv4: false, enable_ipv6: false }, start_after_create: false }
  const made = await t.act('POST', '/servers', { ...server, image, ...hidden })
  const path = `/servers/${made.server.id}`
  const card = { network: network.id, ip: '10.0.1.5', alias_ips: [], ip_range: '10.0.1.0/24' }
  await t.act('POST', `${path}/actions/attach_to_network`, card)
  await t.act('POST', `${path}/actions/poweron`)
  expect(await t.one(path)).toMatchObject({
    ...{ status: 'running', public_net: { ipv4: null, ipv6: null } },
    private_net: [{ network: network.id, ip: '10.0.1.5', alias_ips: [] }],
  })
  const again = await t.ask('POST', `${path}/actions/attach_to_network`, card)
  expect(again.body.error.code).toBe('server_already_attached')
  await t.act('POST', `${path}/actions/detach_from_network`, { network: network.id })
  expect((await t.one(path)).private_net).toEqual([])
})

test('Terraform: addresses, their reverse names, volumes and snapshots', async () => {
  const t = await program('Terraform')
  const image = (await byName(t, 'images', 'micro')).id
  const made = await t.act('POST', '/servers', { ...server, image })
  const path = `/servers/${made.server.id}`
  const wanted = { name: 'tf', type: 'ipv4', assignee_type: 'server', labels: { key: 'value' } }
  const { primary_ip } = await t.act('POST', '/primary_ips', {
    ...wanted,
    auto_delete: false,
    location: PLACE,
  })
  const address = `/primary_ips/${primary_ip.id}`
  expect(primary_ip).toMatchObject({ labels: { key: 'value' }, location: { name: PLACE }, assignee_id: null })
  await t.act('PUT', address, { name: 'tf', labels: { key: 'other' }, auto_delete: false })
  expect((await t.one(address)).labels).toEqual({ key: 'other' })
  const old = (await t.one(path)).public_net.ipv4.id
  await t.act('POST', `/primary_ips/${old}/actions/unassign`)
  const assignment = { assignee_id: made.server.id, assignee_type: 'server' }
  await t.act('POST', `${address}/actions/assign`, assignment)
  await t.act('POST', `${address}/actions/change_dns_ptr`, { ip: primary_ip.ip, dns_ptr: 'web.example.com' })
  expect((await t.one(path)).public_net.ipv4).toMatchObject({ id: primary_ip.id, dns_ptr: 'web.example.com' })
  await t.act('POST', `${address}/actions/change_dns_ptr`, { ip: primary_ip.ip, dns_ptr: null as never })
  await t.act('POST', `${address}/actions/unassign`)
  await t.act('POST', `${address}/actions/change_protection`, { delete: false })
  expect((await t.ask('DELETE', address)).status).toBe(204)

  const floating = { type: 'ipv4', home_location: PLACE, description: 'tf', name: 'tf', labels: { a: 'b' } }
  const { floating_ip } = await t.act('POST', '/floating_ips', floating)
  expect(floating_ip.labels).toEqual({ a: 'b' })
  await t.act('PUT', `/floating_ips/${floating_ip.id}`, { description: 'tf-2', labels: {} })
  await t.act('POST', `/floating_ips/${floating_ip.id}/actions/assign`, { server: made.server.id })
  await t.act('POST', `/floating_ips/${floating_ip.id}/actions/unassign`)

  const disk = { name: 'tf', size: 10, location: PLACE, labels: { a: 'b' } }
  const { volume } = await t.act('POST', '/volumes', disk)
  await t.act('POST', `/volumes/${volume.id}/actions/attach`, { server: made.server.id })
  await t.act('POST', `/volumes/${volume.id}/actions/resize`, { size: 15 })
  await t.act('PUT', `/volumes/${volume.id}`, { name: 'tf-2', labels: { a: 'c' } })
  expect(await t.one(`/volumes/${volume.id}`)).toMatchObject({
    ...{ name: 'tf-2', size: 15, labels: { a: 'c' }, server: made.server.id, status: 'available' },
    linux_device: expect.stringMatching(/^\/dev\/disk\/by-id\//),
  })
  await t.act('POST', `/volumes/${volume.id}/actions/detach`)
  expect((await t.ask('DELETE', `/volumes/${volume.id}`)).status).toBe(204)

  const copy = { type: 'snapshot', description: 'tf', labels: { a: 'b' } }
  const { image: snapshot } = await t.act('POST', `${path}/actions/create_image`, copy)
  await t.act('PUT', `/images/${snapshot.id}`, { description: 'tf-2' })
  await t.act('PUT', `/images/${snapshot.id}`, { labels: { a: 'c' } })
  expect(await t.one(`/images/${snapshot.id}`)).toMatchObject({ description: 'tf-2', labels: { a: 'c' } })
  const found = await t.ask('GET', '/images?type=snapshot&label_selector=a%3Dc&sort=created%3Adesc')
  expect(found.body.images.map(({ id }: { id: number }) => id)).toEqual([snapshot.id])
  expect((await t.ask('DELETE', `/images/${snapshot.id}`)).status).toBe(204)
})

test('the CSI driver: a claim becomes a volume, moves between two nodes, grows, and goes', async () => {
  const t = await program('CSI driver')
  const image = (await byName(t.given, 'images', 'micro')).id
  const nodes = []
  for (const name of ['node-1', 'node-2'])
    nodes.push((await t.given.act('POST', '/servers', { ...server, name, image })).server)
  // The driver's own place: the node that it runs on, by its name.
  expect((await byName(t, 'servers', 'node-1')).location.name).toBe(PLACE)
  const claim = {
    ...{ name: 'pvc-0b5f', size: 10, location: PLACE },
    labels: {
      'managed-by': 'csi-driver',
      'pvc-name': 'data',
      'pvc-namespace': 'shop',
      'pv-name': 'pvc-0b5f',
    },
  }
  const { volume } = await t.act('POST', '/volumes', claim)
  expect(volume).toMatchObject({ location: { name: PLACE }, labels: claim.labels, size: 10 })
  // A repeated claim is found by its name.
  expect((await t.ask('POST', '/volumes', claim)).body.error.code).toBe('uniqueness_error')
  expect((await byName(t, 'volumes', 'pvc-0b5f')).id).toBe(volume.id)
  const path = `/volumes/${volume.id}`
  for (const { id } of nodes) {
    expect((await t.one(path)).server).toBeNull()
    expect(await t.one(`/servers/${id}`)).toMatchObject({ id })
    await t.act('POST', `${path}/actions/attach`, { server: id })
    expect((await t.one(path)).server).toBe(id)
    await t.act('POST', `${path}/actions/resize`, { size: id === nodes[0].id ? 12 : 14 })
    await t.act('POST', `${path}/actions/detach`)
  }
  expect((await t.ask('GET', '/volumes?page=1&per_page=50')).body.volumes[0].size).toBe(14)
  await t.act('DELETE', path)
  expect((await t.ask('GET', path)).body.error.code).toBe('not_found')
})

test('the cloud controller: nodes by name, by number and all at once, with their private addresses; a node that is gone', async () => {
  const t = await program('Cloud controller')
  expect((await t.ask('GET', '/locations?')).body.locations[0].name).toBe(PLACE)
  const { network } = await t.given.act('POST', '/networks', { name: 'cluster', ip_range: '10.0.2.0/24' })
  expect((await byName(t, 'networks', 'cluster')).id).toBe(network.id)
  const image = (await byName(t.given, 'images', 'micro')).id
  const made = await t.given.act('POST', '/servers', { ...server, image, networks: [network.id] })
  const node = await byName(t, 'servers', 'web')
  expect(node).toMatchObject({
    ...{ id: made.server.id, status: 'running', location: { name: PLACE }, server_type: { name: 'nano' } },
    private_net: [{ network: network.id, ip: expect.stringMatching(/^10\.0\.2\.\d+$/) }],
    public_net: { ipv4: { ip: expect.stringMatching(/^203\.0\.113\.\d+$/) } },
  })
  expect((await t.ask('GET', '/servers?page=1&per_page=50')).body.servers).toHaveLength(1)
  await t.given.act('POST', `/servers/${node.id}/actions/shutdown`)
  expect((await t.one(`/servers/${node.id}`)).status).toBe('off')
  await t.given.act('DELETE', `/servers/${node.id}`)
  expect((await t.ask('GET', `/servers/${node.id}`)).body.error.code).toBe('not_found')
  expect(await byName(t, 'servers', 'web')).toBeUndefined()
  // Routes of pods are its one part that Berth has not: the controller runs without them.
  const route = { destination: '10.244.0.0/24', gateway: '10.0.2.2' }
  const refused = await t.ask('POST', `/networks/${network.id}/actions/add_route`, route)
  expect(refused.body.error.code).toBe('unsupported_error')
})
