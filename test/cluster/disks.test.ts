// Disks of a zone on Incus, through the whole service: snapshots, servers from them, restores, rebuilds and volumes.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, type IncusClient } from '../../api/drivers/incus/client.ts'
import { until } from '../qemu/harness/service.ts'
import { ClusterService, type ProcessName, ZONE } from './harness/service.ts'

const TIMEOUT_MS = 240_000

let service: ClusterService
let client: IncusClient
let identity: string
let sshKeyId: string
beforeAll(async () => {
  service = await ClusterService.open(2, ['--rate-limits', '1000000,1000000,1000000'])
  client = service.cluster.client()
  ;({ identity, sshKeyId } = await service.addKey())
})
afterAll(async () => {
  client?.close()
  await service?.dispose()
})

const call = (method: string, path: string, body?: object) => service.call(method, path, body)
const run = (id: string, command: string) => service.ssh(id, command, identity)
const detailsOf = async (id: string) => (await call('GET', `/servers/${id}/details`)).body

async function running(more: Record<string, unknown>): Promise<string> {
  const { server_id } = await service.create({ ssh_key_ids: [sshKeyId], ...more })
  await service.settle(server_id)
  return server_id
}

const instances = () =>
  client.get<{ name: string; location: string }[]>(at('/1.0/instances', { project: 'berth', recursion: '1' }))
const memberOf = async (id: string) => (await instances()).find(({ name }) => name === `b-${id}`)?.location

async function snapshot(server_id: string): Promise<string> {
  const { status, body } = await call('POST', '/snapshots', { server_id })
  expect([status, body.code]).toEqual([202, undefined])
  return body.snapshot_id
}

test('a server is restored from its snapshot and rebuilt, and keeps name, address and ports', {
  timeout: TIMEOUT_MS,
}, async () => {
  const id = await running({ name: 'kept' })
  await run(id, 'echo before > data; sync')
  const before = await detailsOf(id)
  const snapshot_id = await snapshot(id)
  await service.settle(id)
  const { body: made } = await call('GET', `/snapshots/${snapshot_id}`)
  const { disk_gb } = (await call('GET', `/servers/${id}`)).body
  expect(made).toMatchObject({ status: 'available', consistency: 'filesystem', kind: 'full' })
  expect(made).toMatchObject({ disk_gb, size_gb: disk_gb, verified_at: null, offsite_at: null })
  await run(id, 'echo after > data; sync')
  const restored = await call('POST', `/servers/${id}/restore`, { snapshot_id })
  expect(restored.status).toBe(202)
  await service.settle(id)
  expect(await run(id, 'cat data; hostname')).toBe('before\nkept')
  expect(await detailsOf(id)).toMatchObject({ ssh: before.ssh })
  const { template_id } = await service.order()
  await service.act(id, 'rebuild', { template_id })
  expect(await run(id, 'cat data 2> /dev/null; hostname')).toBe('kept')
  const after = await detailsOf(id)
  expect([after.ssh.port, after.network.ipv4]).toEqual([before.ssh.port, before.network.ipv4])
  expect(after.ssh.host_key_fingerprints).not.toEqual(before.ssh.host_key_fingerprints)
  // A server that is rebuilt from a snapshot gets other host keys and sets itself up again.
  await service.act(id, 'rebuild', { snapshot_id })
  expect(await run(id, 'cat data; hostname')).toBe('before\nkept')
  await service.clear()
  expect((await instances()).map(({ name }) => name)).toEqual([`s-${snapshot_id}`])
  expect((await call('DELETE', `/snapshots/${snapshot_id}`)).status).toBe(204)
  await until('nothing is left', 60_000, async () => (await instances()).length === 0)
})

test('servers from a snapshot of a stopped server run on every member, even after that server is deleted', {
  timeout: TIMEOUT_MS,
}, async () => {
  const id = await running({ name: 'origin' })
  await run(id, 'echo model > data; sync')
  await service.act(id, 'stop')
  const snapshot_id = await snapshot(id)
  // The processes that make the snapshot die midway, and yet it is made once and completely.
  const workers: ProcessName[] = ['worker-1', 'worker-2']
  for (const worker of workers) await service.stopProcess(worker, 'SIGKILL')
  for (const worker of workers) await service.startProcess(worker)
  await service.settle(id)
  expect((await call('DELETE', `/servers/${id}`)).status).toBe(202)
  const source = { template_id: undefined, snapshot_id, ssh_key_ids: [sshKeyId] }
  const copies = await Promise.all(['one', 'two', 'three'].map((name) => running({ ...source, name })))
  expect(new Set(await Promise.all(copies.map(memberOf))).size).toBe(2)
  for (const [index, name] of ['one', 'two', 'three'].entries())
    expect(await run(copies[index] ?? '', 'cat data; hostname')).toBe(`model\n${name}`)
  const keys = await Promise.all(copies.map(async (one) => (await detailsOf(one)).ssh.host_key_fingerprints))
  expect(new Set(keys.map((key) => JSON.stringify(key))).size).toBe(3)
  expect((await call('DELETE', `/snapshots/${snapshot_id}`)).status).toBe(204)
  await service.act(copies[0] ?? '', 'reboot')
  expect(await run(copies[0] ?? '', 'cat data')).toBe('model')
  await service.clear()
  await until('nothing is left', 60_000, async () => (await instances()).length === 0)
})

test('a snapshot deleted while it is being made leaves nothing behind, and does not affect its server', {
  timeout: TIMEOUT_MS,
}, async () => {
  const id = await running({ name: 'undecided' })
  const snapshot_id = await snapshot(id)
  expect((await call('DELETE', `/snapshots/${snapshot_id}`)).status).toBe(204)
  await until('nothing is left', 60_000, async () => {
    const path = at('/1.0/storage-pools/default/volumes/container', { project: 'berth' })
    return (await client.get<string[]>(path)).length === 1
  })
  expect(await run(id, 'hostname')).toBe('undecided')
  const zones = (await call('GET', '/zones')).body
  expect(zones[0]).toMatchObject({ zone_slug: ZONE, features: expect.arrayContaining(['snapshots']) })
  await service.clear()
})

/** Waits for the operation that a request begins. @param meanwhile runs while the operation is in progress */
async function carriedOut(method: string, path: string, body?: object, meanwhile?: () => Promise<void>) {
  const begun = await call(method, path, body)
  expect([begun.status, begun.body.code]).toEqual([202, undefined])
  await meanwhile?.()
  let { body: operation } = begun
  await until(`${method} ${path} ends`, 120_000, async () => {
    operation = (await call('GET', `/operations/${begun.body.operation_id}?wait=30`)).body
    return operation.finished_at !== null
  })
  return { status: operation.status, code: operation.error?.code ?? null }
}

test('a volume survives the rebuild or deletion of its server, and moves to a server on another member', {
  timeout: TIMEOUT_MS,
}, async () => {
  const root = (id: string, command: string) => service.cluster.exec('berth', `b-${id}`, command)
  const done = { status: 'succeeded', code: null }
  const zones = (await call('GET', '/zones')).body
  expect(zones[0]).toMatchObject({ zone_slug: ZONE, features: expect.arrayContaining(['volumes']) })
  const [one, two] = [await running({ name: 'one' }), await running({ name: 'two' })]
  expect(await memberOf(one)).not.toBe(await memberOf(two))
  const { volume_id } = (await call('POST', '/volumes', { name: 'data', zone_slug: ZONE, size_gb: 1 })).body
  const path = `/volumes/${volume_id}`
  expect(await carriedOut('POST', `${path}/attach`, { server_id: one })).toEqual(done)
  const { device } = (await call('GET', path)).body
  expect(device).toBe(`/volumes/${volume_id.replaceAll('-', '')}`)
  await root(one, `echo mine > ${device}/own; sync`)
  expect(await carriedOut('PATCH', path, { size_gb: 2 })).toEqual(done)
  const refused = { status: 'failed', code: 'not_supported' }
  expect(await carriedOut('POST', `${path}/detach`)).toEqual(refused)
  expect((await call('GET', path)).body).toMatchObject({ status: 'attached', server_id: one, size_gb: 2 })
  const { template_id } = await service.order()
  await service.act(one, 'rebuild', { template_id })
  expect(await root(one, `cat ${device}/own`)).toBe('mine')

  await service.act(one, 'stop')
  expect(await carriedOut('POST', `${path}/detach`)).toEqual(done)
  const workers: ProcessName[] = ['worker-1', 'worker-2']
  const end = await carriedOut('POST', `${path}/attach`, { server_id: two }, async () => {
    for (const worker of workers) await service.stopProcess(worker, 'SIGKILL')
    for (const worker of workers) await service.startProcess(worker)
  })
  expect(end).toEqual(done)
  expect(await root(two, `cat ${device}/own`)).toBe('mine')
  await service.clear()
  expect((await call('GET', path)).body).toMatchObject({ status: 'available', server_id: null, device: null })
  const stored = () =>
    client.get<string[]>(at('/1.0/storage-pools/default/volumes/custom', { project: 'berth' }))
  expect((await stored()).length).toBe(1)
  expect(await carriedOut('DELETE', path)).toEqual(done)
  expect(await stored()).toEqual([])
})
