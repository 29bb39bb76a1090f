import { execFile, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ImageSpec } from '../images.ts'
import type { TrialState } from '../snapshots.ts'
import { openSnapshots } from './test-snapshots.ts'
import { isRunning, processesNaming, QemuWorld } from './test-world.ts'

let world: QemuWorld
beforeAll(async () => {
  world = await QemuWorld.open()
})
afterAll(() => world?.close())

/** Takes a snapshot of a machine that never ran, after some of its disk was overwritten with zeros. */
async function snapshotOf(id: string, zeros?: string, image?: ImageSpec): Promise<string> {
  await world.make(id, image && { image })
  const disk = join(world.dataDir, 'vms', id, 'disk.qcow2')
  if (zeros !== undefined) execFileSync('qemu-io', ['-c', `write -q -z ${zeros}`, disk])
  const snapshotId = `copy-of-${id}`
  await world.until(`${snapshotId} is ready`, async () => {
    return (await world.driver.snapshot(id, snapshotId)).state === 'ready'
  })
  return snapshotId
}

const begin = (snapshotId: string) => world.driver.trySnapshot(snapshotId, world.spec('tried'))

/** Boots a snapshot until the result is known. */
async function tried(snapshotId: string): Promise<TrialState> {
  let state: TrialState = { state: 'queued' }
  await world.until(`${snapshotId} was tried`, async () => {
    state = await begin(snapshotId)
    return state.state !== 'queued' && state.state !== 'booting'
  })
  return state
}

/** The record of a trial's run. */
const runOf = (id: string): { process: { pid: number } } =>
  JSON.parse(readFileSync(join(world.dataDir, 'trials', id, 'running.json'), 'utf8'))
const trials = () => readdirSync(join(world.dataDir, 'trials'))

test('a trial tells a snapshot that starts from one without partitions or without its file system', async () => {
  const good = await snapshotOf('good')
  // On a busy host the console may show a login before the agent answers.
  expect(await tried(good)).toMatchObject({
    state: 'booted',
    sign: expect.stringMatching(/^(agent|console)$/),
  })
  // Neither the list of machines nor the snapshot knows of it.
  expect([...(await world.driver.list()).keys()]).toEqual(['good'])
  const bad = await snapshotOf('bad', '0 512')
  expect(await begin(bad)).toEqual({ state: 'queued' })
  await world.driver.endTrial(good)
  expect(trials()).toEqual([])
  for (const id of [bad, await snapshotOf('empty', '2M 100M')]) {
    expect(await tried(id)).toMatchObject({ state: 'failed', message: expect.stringContaining('console') })
    await world.driver.endTrial(id)
  }
  expect(trials()).toEqual([])
})

test('a trial waits while a machine boots, has no network, a bounded disk, and ends with the service', async () => {
  const id = await snapshotOf('alone')
  await world.driver.start('alone')
  expect(await begin(id)).toEqual({ state: 'queued' })
  expect(trials()).toEqual([])
  await world.driver.powerOff('alone')
  expect(await begin(id)).toEqual({ state: 'booting' })
  const { pid } = runOf(id).process
  const args = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')
  expect(args[args.indexOf('-netdev') + 1]).toBe('hubport,id=n0,hubid=0')
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8')
  expect(limits).toMatch(new RegExp(`^Max file size +${4 * 2 ** 30} `, 'm'))
  await world.restart()
  expect(isRunning(pid)).toBe(false)
  expect(trials()).toEqual([])
  await expect(begin('unknown')).rejects.toMatchObject({ code: 'not_found' })
  expect(trials()).toEqual([])
})

/** Tries a snapshot in a process that kills itself at an effect. @returns the number of effects, or null if it was killed */
async function trier(snapshotId: string, killAt: number): Promise<number | null> {
  const args = [join(import.meta.dirname, 'test-trier.ts'), world.dataDir, snapshotId, String(killAt)]
  try {
    return Number((await promisify(execFile)(process.execPath, args)).stdout)
  } catch (error) {
    if (Object(error).signal === 'SIGKILL') return null
    throw error
  }
}

test('a service killed at any moment of a trial has removed all of it after its next start', async () => {
  const id = await snapshotOf('killed', undefined, await world.makeLoader())
  await world.driver.close()
  const effects = (await trier(id, 0)) ?? 0
  expect(trials()).toEqual([])
  expect(effects).toBeGreaterThan(10)
  let left = 0
  for (let round = 0; round < 12; round++) {
    // The moments are spread over the whole trial.
    const killAt = 1 + Math.floor((round * effects) / 12)
    await trier(id, killAt)
    left += trials().length
    const next = await openSnapshots(world.dataDir)
    await next.snapshots.adopt()
    expect(trials(), `killed at ${killAt}`).toEqual([])
    expect(processesNaming(join(world.dataDir, 'trials')), `killed at ${killAt}`).toEqual([])
    expect((await next.snapshots.list()).get(id)).toMatchObject({ isReady: true })
    await next.close()
  }
  // Otherwise there would have been nothing to remove.
  expect(left).toBeGreaterThan(3)
  await world.restart()
})
