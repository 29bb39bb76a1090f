// A token is bound to a project: what servers of another project are or have does not exist for it.
import { expect, test } from 'vitest'
import { routes } from '../../../api/hcloud/mount.ts'
import { catalogWith } from '../../harness/addresses.ts'
import { ed25519 } from '../harness/keys.ts'
import { type HcloudApp, hcloudApp, hcloudToken } from './harness.ts'

const web = { name: 'web', server_type: 'nano', image: 'micro' }
/** Numbers from here on are no sizes, times or prices. */
const FIRST = 7_000_000

/** A server of the default project with all that it may have, and a token of another project. */
async function furnished() {
  const t = await hcloudApp({ catalog: catalogWith('public_ipv4: [203.0.113.0/28]') })
  const offers = ['locations', 'datacenters', 'server_types', 'images']
  for (const many of offers) await t.ask('GET', `/${many}`)
  await t.db.updateTable('hcloud_counter').set({ last: FIRST }).execute()
  const { ssh_key } = await t.act('POST', '/ssh_keys', { name: 'k', public_key: ed25519() })
  const { network } = await t.act('POST', '/networks', { name: 'inner', ip_range: '10.1.0.0/24' })
  const { firewall } = await t.act('POST', '/firewalls', { name: 'fw', rules: [] })
  const shared = { ssh_keys: ssh_key.id, networks: network.id, firewalls: firewall.id }
  const order = {
    ...web,
    labels: { role: 'db' },
    networks: [network.id],
    firewalls: [{ firewall: firewall.id }],
  }
  const made = await t.act('POST', '/servers', order)
  const server = made.server.id
  const volume = await t.act('POST', '/volumes', { name: 'data', size: 10, server })
  const { image, action: copying } = await t.act('POST', `/servers/${server}/actions/create_image`, {})
  const address = made.server.public_net.ipv4.id
  const pointer = { ip: made.server.public_net.ipv4.ip, dns_ptr: 'web.example.com' }
  const pointed = await t.act('POST', `/primary_ips/${address}/actions/change_dns_ptr`, pointer)
  const kept = await t.act('POST', `/servers/${server}/actions/change_protection`, { delete: false })
  const own = { servers: server, volumes: volume.volume.id, images: image.id }
  const actions: number[] = [made, volume, pointed, kept, { action: copying }]
    .flatMap(({ action, next_actions = [] }) => [action, ...next_actions])
    .map(({ id }) => id)
  const { project_id } = (await t.call('POST', '/account/projects', { name: 'other' })).body
  const other = await hcloudToken(t, { project_id })
  return { t, other, shared, own: { ...own, floating_ips: address, primary_ips: address }, actions }
}

/** The paths of all routes that read, with the numbers of what the first project has. */
function paths(numbers: Readonly<Record<string, number>>, actions: readonly number[]): string[] {
  return routes
    .filter(({ method, path }) => method === 'GET' && path !== '/actions')
    .flatMap(({ path }) => {
      const [, many = ''] = path.split('/')
      const id = numbers[many]
      if (path.startsWith('/actions/')) return actions.map((action) => `/actions/${action}`)
      if (path.includes('/:id') && id === undefined) return []
      const one = path.replace(':id', String(id))
      return one.includes(':action_id')
        ? actions.map((action) => one.replace(':action_id', `${action}`))
        : [one]
    })
}

/** All numbers in a reply. */
function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : []
}

/** The numbers above FIRST that a token is shown by any route, and the paths of those that are not 404. */
async function seen(t: HcloudApp, token: string, all: readonly string[]) {
  const numbers = new Set<number>()
  const answered: string[] = []
  for (const path of all) {
    const { status, body } = await t.askAs(token)('GET', path)
    expect([200, 404], path).toContain(status)
    if (status === 200) answered.push(path)
    for (const number of numbersIn(body)) if (number > FIRST && number < 2 * FIRST) numbers.add(number)
  }
  return { numbers, answered }
}

test('no route that reads shows a token anything of the servers of another project', async () => {
  const { t, other, shared, own, actions } = await furnished()
  const all = paths({ ...shared, ...own }, actions)
  expect(all.length).toBeGreaterThan(100)
  const first = await seen(t, await hcloudToken(t), all)
  for (const number of [...Object.values({ ...shared, ...own }), ...actions])
    expect(first.numbers).toContain(number)
  const second = await seen(t, other, all)
  expect([...second.numbers].sort()).toEqual(Object.values(shared).sort())
  const ofShared = /^\/(ssh_keys|networks|firewalls)\/\d+(\/actions)?$/
  expect(second.answered.filter((path) => /\d/.test(path) && !ofShared.test(path))).toEqual([])
  const polled = await t.askAs(other)('GET', `/actions?${actions.map((id) => `id=${id}`).join('&')}`)
  expect(polled.status).toBe(404)
})

test('no route that reads shows anything of another account', async () => {
  const { t, shared, own, actions } = await furnished()
  const accountId = await t.makeAccount()
  const stranger = t.callAs(await t.makeToken(['read', 'write', 'account:write'], { accountId }))
  const wanted = { name: 'x', kind: 'hcloud', scopes: ['read', 'write'] }
  const { token } = (await stranger('POST', '/account/tokens', wanted)).body
  const { numbers, answered } = await seen(t, token, paths({ ...shared, ...own }, actions))
  expect([...numbers]).toEqual([])
  expect(answered.filter((path) => /\d/.test(path))).toEqual([])
})

test('a token changes nothing that servers of another project have or are guarded by', async () => {
  const { t, other, shared, own } = await furnished()
  const ask = t.askAs(other)
  const on = { type: 'label_selector', label_selector: { selector: 'role=db' } }
  const rule = { direction: 'in', protocol: 'tcp', port: '1', source_ips: ['10.0.0.0/8'] }
  const [network, firewall] = [`/networks/${shared.networks}`, `/firewalls/${shared.firewalls}`]
  for (const [method, path, body, status] of [
    ['PUT', `/volumes/${own.volumes}`, { name: 'x' }, 404],
    ['DELETE', `/volumes/${own.volumes}`, undefined, 404],
    ['POST', `/volumes/${own.volumes}/actions/change_protection`, { delete: false }, 404],
    ['PUT', `/primary_ips/${own.primary_ips}`, { labels: { a: 'b' } }, 404],
    ['DELETE', `/floating_ips/${own.floating_ips}`, undefined, 404],
    ['PUT', `/images/${own.images}`, { description: 'x' }, 404],
    ['DELETE', `/images/${own.images}`, undefined, 404],
    ['POST', '/servers', { ...web, image: own.images }, 404],
    ['PUT', network, { name: 'x' }, 403],
    ['DELETE', network, undefined, 403],
    ['PUT', firewall, { name: 'x' }, 403],
    ['DELETE', firewall, undefined, 403],
    ['POST', `${firewall}/actions/set_rules`, { rules: [rule] }, 403],
    ['POST', `${firewall}/actions/apply_to_resources`, { apply_to: [on] }, 403],
    ['POST', '/firewalls', { name: 'mine', apply_to: [on] }, 403],
  ] as const)
    expect([method, path, (await ask(method, path, body)).status]).toEqual([method, path, status])
  // Its own server may join what is shared, and leave it again.
  const { server } = (await ask('POST', '/servers', web)).body
  await t.finish()
  const mine = [{ type: 'server', server: { id: server.id } }]
  const apply = { apply_to: mine }
  expect((await ask('POST', `${firewall}/actions/apply_to_resources`, apply)).status).toBe(201)
  expect((await ask('GET', firewall)).body.firewall.applied_to).toMatchObject(mine)
  const leave = { remove_from: mine }
  expect((await ask('POST', `${firewall}/actions/remove_from_resources`, leave)).status).toBe(201)
})

test('a server that is moved takes all that it has along, also for tokens that have seen it', async () => {
  const { t, other, own } = await furnished()
  const first = await hcloudToken(t)
  const { network } = await t.act('POST', '/networks', { name: 'second', ip_range: '10.2.0.0/24' })
  await t.act('POST', `/servers/${own.servers}/actions/attach_to_network`, { network: network.id })
  const listed = async (token: string) => {
    const kinds = ['servers', 'volumes', 'images?type=snapshot', 'primary_ips', 'floating_ips'] as const
    const replies = await Promise.all(kinds.map((kind) => t.askAs(token)('GET', `/${kind}`)))
    return replies.map(({ body }) => Object.values<{ id: number }[]>(body)[0]?.length)
  }
  const total = async (token: string) =>
    (await t.askAs(token)('GET', `/networks/${network.id}/actions`)).body.meta.pagination.total_entries
  // An address is in the lists of both kinds.
  expect([await listed(first), await total(first)]).toEqual([[1, 1, 1, 1, 1], 1])
  expect([await listed(other), await total(other)]).toEqual([[0, 0, 0, 0, 0], 0])
  const { items } = (await t.call('GET', '/servers')).body
  const { items: projects } = (await t.call('GET', '/account/projects')).body
  const { project_id } = projects.find(({ name }: { name: string }) => name === 'other')
  expect((await t.call('PATCH', `/servers/${items[0].server_id}`, { project_id })).status).toBe(200)
  expect([await listed(other), await total(other)]).toEqual([[1, 1, 1, 1, 1], 1])
  expect([await listed(first), await total(first)]).toEqual([[0, 0, 0, 0, 0], 0])
  expect((await t.askAs(first)('GET', `/volumes/${own.volumes}`)).status).toBe(404)
})

test('a number that another project may not see is not forgotten by its asking', async () => {
  const { t, other, own } = await furnished()
  for (const path of [`/volumes/${own.volumes}`, `/images/${own.images}`])
    expect((await t.askAs(other)('GET', path)).status).toBe(404)
  const ended = t.db.selectFrom('hcloud_numbers').select('number').where('ended_at', 'is not', null)
  const rows = await ended.where('kind', 'in', ['volume', 'snapshot']).execute()
  expect(rows).toEqual([])
})

test('removing a label selector that a firewall does not have leaves the one that it has', async () => {
  const t = await hcloudApp()
  const on = (selector: string) => [{ type: 'label_selector', label_selector: { selector } }]
  const { firewall } = await t.act('POST', '/firewalls', { name: 'fw', apply_to: on('a=b') })
  const path = `/firewalls/${firewall.id}`
  const remove = (selector: string) =>
    t.ask('POST', `${path}/actions/remove_from_resources`, { remove_from: on(selector) })
  expect((await remove('a=c')).body.error.code).toBe('not_found')
  expect((await t.ask('GET', path)).body.firewall.applied_to).toMatchObject(on('a=b'))
  expect((await remove('a=b')).status).toBe(201)
  expect((await t.ask('GET', path)).body.firewall.applied_to).toEqual([])
})
