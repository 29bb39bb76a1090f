import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { IncusWorld, PROJECT } from '../../../test/cluster/harness/world.ts'
import type { TrialState } from '../snapshots.ts'
import { at } from './client.ts'
import type { Instance } from './instance.ts'
import { openIncus } from './open.ts'

const TIMEOUT_MS = 500_000
const BOOT_MS = 120_000

let world: IncusWorld
beforeAll(async () => {
  world = await IncusWorld.open(2, { hasExports: true })
})
afterAll(() => world?.close())

async function call<T>(method: string, url: string, body?: object): Promise<T> {
  const client = world.cluster.client()
  try {
    const { metadata } = await client.call(method, url, body === undefined ? {} : { body })
    return metadata as T // as the API documents it
  } finally {
    client.close()
  }
}

/** Takes a snapshot of a machine that never ran. @param init the script in place of its first process; null: it has none */
async function snapshotOf(id: string, init?: string | null): Promise<string> {
  await world.driver.define(world.spec(id))
  const file = '/usr/bin/init'
  if (init !== undefined)
    await call('DELETE', at(`/1.0/instances/b-${id}/files`, { project: PROJECT, path: file }))
  if (typeof init === 'string') await world.cluster.push(PROJECT, `b-${id}`, file, init, '0755')
  const snapshotId = `of-${id}`
  await world.until('the snapshot is ready', async () => {
    return (await world.driver.snapshot(id, snapshotId)).state === 'ready'
  })
  return snapshotId
}

const machine = () => world.spec('tried')
const begin = (snapshotId: string) => world.driver.trySnapshot(snapshotId, machine())
const all = () => call<Instance[]>('GET', at('/1.0/instances', { project: PROJECT, recursion: '1' }))
const trials = async () => (await all()).filter(({ name }) => name.startsWith('k-'))

/** Boots a snapshot until the result is known. */
async function tried(snapshotId: string): Promise<TrialState> {
  let state: TrialState = { state: 'queued' }
  const isKnown = async () => {
    state = await begin(snapshotId)
    return state.state !== 'queued' && state.state !== 'booting'
  }
  await world.until(`${snapshotId} was tried`, isKnown, BOOT_MS)
  return state
}

test('a trial tells a snapshot that starts from those whose init is missing, broken, or exits', {
  timeout: TIMEOUT_MS,
}, async () => {
  const good = await snapshotOf('good')
  expect(await tried(good)).toEqual({ state: 'booted', sign: 'init' })
  expect([...(await world.driver.list()).keys()]).toEqual(['good'])
  expect([...(await world.driver.listSnapshots()).keys()]).toEqual([good])
  const [trial] = await trials()
  expect(Object.keys(trial?.devices ?? {})).toEqual(['root'])
  expect(trial?.devices?.root?.size).toMatch(/^10\d\dMiB$/)
  expect(trial?.config).toMatchObject({
    ...{ 'limits.cpu': '1', 'limits.memory': '128MiB', 'limits.processes': '1024' },
    ...{ 'boot.autostart': 'false', 'security.privileged': 'false' },
    'cloud-init.user-data': '#cloud-config\n{}\n',
  })
  const missing = await snapshotOf('missing', null)
  expect(await begin(missing)).toEqual({ state: 'queued' })
  await world.driver.endTrial(good)
  expect(await trials()).toEqual([])
  for (const id of [
    missing,
    await snapshotOf('broken', 'neither a script nor a program'),
    await snapshotOf('ending', '#!/bin/sh\nexit 0\n'),
  ]) {
    const found = await tried(id)
    expect([id, found]).toMatchObject([id, { state: 'failed' }])
    await world.driver.endTrial(id)
  }
  expect(await trials()).toEqual([])
  await expect(begin('unknown')).rejects.toMatchObject({ code: 'not_found' })
  for (const id of ['good', 'missing', 'broken', 'ending']) {
    await world.driver.destroy(id)
    await world.driver.removeSnapshot(`of-${id}`)
  }
  expect(await world.raw().names()).toEqual([])
})

test('a first process without others proves nothing, and a trial ends with the service', {
  timeout: TIMEOUT_MS,
}, async () => {
  const id = await snapshotOf('alone', '#!/bin/sh\nexec sleep 900\n')
  const since = Date.now()
  const hasWaited = async () => {
    expect((await begin(id)).state).toBe('booting')
    return Date.now() - since > 40_000
  }
  await world.until('it had its time', hasWaited, BOOT_MS)
  expect(await trials()).toHaveLength(1)
  // Another zone of the cluster has a trial of its own beside it.
  const zone = { addresses: world.cluster.addresses, project: PROJECT, storage_pool: 'default' }
  const ignore = () => {}
  const other = await openIncus({
    zone: { ...zone, group: 'default', nameservers: ['192.0.2.53'] },
    address: '127.0.0.1',
    log: { info: ignore, warn: ignore, error: ignore },
  })
  const second = await snapshotOf('second')
  expect((await other.trySnapshot(second, machine())).state).toBe('booting')
  await world.until('both exist', async () => (await trials()).length === 2)
  await other.endTrial(second)
  await other.close()
  expect((await trials()).map(({ name }) => name.slice(0, -7))).toEqual([`k-${id}`])
  await world.restart()
  expect(await trials()).toEqual([])
  await world.driver.destroy('second')
  await world.driver.removeSnapshot(second)
  await world.driver.destroy('alone')
  await world.driver.removeSnapshot(id)
})

type Moment = 'before' | 'after'

/** Tries a snapshot in a process that kills itself at a change. @returns the number of changes; null: it was killed */
async function trier(snapshotId: string, killAt: number, moment: Moment): Promise<number | null> {
  const zone = {
    ...{ addresses: world.cluster.addresses, project: PROJECT, storage_pool: 'default' },
    nameservers: ['192.0.2.53'],
  }
  const args = [JSON.stringify(zone), JSON.stringify(machine()), snapshotId, String(killAt), moment]
  try {
    const script = join(import.meta.dirname, 'test-trier.ts')
    return Number((await promisify(execFile)(process.execPath, [script, ...args])).stdout)
  } catch (error) {
    if (Object(error).signal === 'SIGKILL') return null
    throw error
  }
}

test('a service killed at any change of a trial leaves only remains that the next trial or a timeout removes', {
  timeout: TIMEOUT_MS,
}, async () => {
  const id = await snapshotOf('killed')
  const other = await snapshotOf('other')
  const changes = (await trier(id, 0, 'after')) ?? 0
  expect(await trials()).toEqual([])
  expect(changes).toBeGreaterThan(4)
  let left = 0
  // Its changes: the copy, the start, and questions to its init; then the stop and the removal.
  for (const [killAt, moment] of [
    ...[1, 2, 3].flatMap((number) => [[number, 'before'] as const, [number, 'after'] as const]),
    ...[[changes - 1, 'after'] as const, [changes, 'before'] as const],
  ]) {
    await trier(id, killAt, moment)
    left += (await trials()).length
    // Another trial begins, with none beside it.
    await world.until(
      'the next one begins',
      async () => {
        return (await begin(other)).state === 'booting'
      },
      BOOT_MS,
    )
    await world.until('it exists', async () => (await trials()).length > 0)
    expect((await trials()).map(({ name }) => name.slice(0, -7))).toEqual([`k-${other}`])
    await world.driver.endTrial(other)
    expect(await trials(), `killed ${moment} ${killAt}`).toEqual([])
  }
  expect(left).toBeGreaterThan(3)

  // Without another trial, any process removes it once its time is over.
  await trier(id, 3, 'before')
  const [rest] = await trials()
  await world.restart()
  expect(await trials()).toHaveLength(1)
  const path = at(`/1.0/instances/${rest?.name}`, { project: PROJECT })
  await call('PATCH', path, { config: { 'user.berth.until': '1' } })
  await world.restart()
  await world.until('it is removed', async () => (await trials()).length === 0)
  for (const name of ['killed', 'other']) {
    await world.driver.destroy(name)
    await world.driver.removeSnapshot(`of-${name}`)
  }
  expect(await world.raw().names()).toEqual([])
})
