// Private networks of a zone whose cluster has OVN: servers of several members, which are offline by turns, and
// processes that die while servers are attached.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, type IncusClient } from '../../api/drivers/incus/client.ts'
import { Operations } from '../../api/drivers/incus/operations.ts'
import { until } from '../qemu/harness/service.ts'
import { ClusterService, type ProcessName, ZONE } from './harness/service.ts'

const TIMEOUT_MS = 240_000
const PROJECT = 'berth'
const silent = { info: () => {}, warn: () => {}, error: () => {} }

let service: ClusterService
let client: IncusClient
let operations: Operations
beforeAll(async () => {
  service = await ClusterService.open(3, ['--rate-limits', '1000000,1000000,1000000'], { hasOvn: true })
  client = service.cluster.client()
  operations = new Operations(client, silent, () => {})
})
afterAll(async () => {
  operations?.close()
  client?.close()
  await service?.dispose()
})

interface Instance {
  name: string
  location: string
  devices: Record<string, { type: string; network?: string }>
}
const instances = () => client.get<Instance[]>(at('/1.0/instances', { project: PROJECT, recursion: '1' }))
const instanceOf = async (id: string) => (await instances()).find(({ name }) => name === `b-${id}`)
const root = (id: string, command: string) => service.cluster.exec(PROJECT, `b-${id}`, command)
const asks = async (id: string, address: string) =>
  (await root(id, `timeout 3 nc -w 2 ${address} 22 < /dev/null | head -c 4; true`)) === 'SSH-'

async function running(name: string): Promise<string> {
  const { server_id } = await service.create({ name })
  await service.settle(server_id)
  return server_id
}

/** Waits for an operation of a network. */
async function ended(operationId: string): Promise<object> {
  for (;;) {
    const { status, body } = await service.call('GET', `/operations/${operationId}?wait=60`)
    if (status === 200 && !['pending', 'running'].includes(body.status)) return body
  }
}

/** Configures the card with the command from the server's details; root needs no sudo. */
async function configure(id: string): Promise<string> {
  const { network } = (await service.call('GET', `/servers/${id}/details`)).body
  const [card] = network.private
  await root(id, `${card.command.replace(/^sudo sh -c '(.*)'$/, '$1')}; true`)
  return card.ipv4
}

test('a zone with an uplink has private networks', async () => {
  const [zone] = (await service.call('GET', '/zones')).body
  const features = [
    'published_ports',
    'private_networks',
    'console',
    'snapshots',
    'reset_password',
    'volumes',
  ]
  expect(zone.features).toEqual(features)
})

test('servers on two members reach each other in a private network, even after an evacuation', {
  timeout: TIMEOUT_MS,
}, async () => {
  const network = { name: 'inner', ip_range: '10.1.0.0/24', zone_slug: ZONE }
  const { network_id } = (await service.call('POST', '/networks', network)).body
  const path = `/networks/${network_id}/servers`
  // Each worker spreads only its own servers, so simultaneous orders could be on one member.
  const ids = [await running('one'), await running('two')]
  const [one = '', two = ''] = ids
  const members = (await Promise.all(ids.map(instanceOf))).map((found) => found?.location)
  expect(new Set(members).size).toBe(2)

  // A network is created on all members, so an order waits while one is offline.
  const idle = service.cluster.names.find((name) => !members.includes(name)) ?? ''
  await service.cluster.kill(idle)
  const first = await service.call('POST', path, { server_id: one })
  await until('it is tried', 60_000, async () => {
    const all = await client.get<{ type: string; status: string }[]>('/1.0/networks?recursion=1')
    return all.some(({ type, status }) => type === 'ovn' && status !== 'Created')
  })
  await service.cluster.start(idle)
  expect(await ended(first.body.operation_id)).toMatchObject({ status: 'succeeded' })
  // The processes that attach the server die midway, and yet it is attached once and completely.
  const second = await service.call('POST', path, { server_id: two })
  const workers: ProcessName[] = ['worker-1', 'worker-2']
  await until('one is at it', 30_000, async () => {
    const { items } = (await service.call('GET', `/operations?subject_id=${network_id}`)).body
    return items[0].status !== 'pending'
  })
  for (const worker of workers) await service.stopProcess(worker, 'SIGKILL')
  for (const worker of workers) await service.startProcess(worker)
  expect(await ended(second.body.operation_id)).toMatchObject({ status: 'succeeded' })
  const cards = Object.values((await instanceOf(two))?.devices ?? {}).filter(({ network }) => network)
  expect(cards).toHaveLength(1)

  const addresses = [await configure(one), await configure(two)]
  await until('one hears two', 30_000, () => asks(one, addresses[1] ?? ''))
  await until('two hears one', 30_000, () => asks(two, addresses[0] ?? ''))

  // A rebuilt server boots with its card, whichever member it is on.
  const { template_id } = await service.order()
  await service.act(two, 'rebuild', { template_id })
  await until('they meet after a rebuild', 30_000, () => asks(one, addresses[1] ?? ''))
  const member = (await instanceOf(one))?.location

  // The server boots with its card on its new member.
  const body = { action: 'evacuate' }
  await operations.run('POST', `/1.0/cluster/members/${member}/state`, { body })
  expect((await instanceOf(one))?.location).not.toBe(member)
  await until('they meet again', 60_000, () => asks(two, addresses[0] ?? '').catch(() => false))
  expect(await asks(one, addresses[1] ?? '')).toBe(true)

  const last = await service.call('DELETE', `${path}/${one}`)
  expect(await ended(last.body.operation_id)).toMatchObject({ status: 'succeeded' })
  expect(await asks(two, addresses[0] ?? '')).toBe(false)
  await service.clear()
  const left = await client.get<{ type: string }[]>('/1.0/networks?recursion=1')
  expect(left.filter(({ type }) => type === 'ovn')).toEqual([])
  expect((await service.call('DELETE', `/networks/${network_id}`)).status).toBe(204)
})
