import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { bootSector, chooseAccel, closedTo, offeredCpuTypes, probeSector } from './accel.ts'
import { Cgroups, removeCgroups } from './cgroup.ts'
import { findByArgument, identify, isAlive, killVerified } from './process.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-host-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('the KVM test runs to its end where a CPU works, and a blank sector does not', async () => {
  expect(await bootSector('tcg', probeSector(), 30_000)).toBeNull()
  expect(await bootSector('tcg', Buffer.alloc(512), 700)).toBe('a test guest hung')
})

test('TCG is taken when asked for, and offers both vendors', async () => {
  expect(await chooseAccel('tcg', join(folder, 'memory'))).toMatchObject({ accel: 'tcg' })
  expect(offeredCpuTypes('tcg')).toEqual(['amd', 'intel'])
})

test('KVM asked for by name works, or is refused with what to do', async () => {
  // As if an earlier start had found that KVM hangs: then this takes a second, not twelve.
  const memory = join(folder, 'memory')
  writeFileSync(memory, readFileSync('/proc/sys/kernel/random/boot_id'))
  const choice = await chooseAccel('kvm', memory).catch((error: Error) => error)
  if (choice instanceof Error)
    expect(choice.message).toMatch(/KVM does not work on this host: .*BERTH_ACCEL=tcg/)
  else expect(choice.accel).toBe('kvm')
})

test.skipIf(process.getuid?.() === 0)(
  'a device that this user may not open is named, with the group to join',
  async () => {
    expect(await closedTo('/proc/1/mem')).toMatch(/may not open .*sudo usermod -aG kvm/)
    expect(await closedTo('/dev/null')).toBeNull()
  },
)

test('limits are set on the host, and the groups go away', async () => {
  const cgroups = await Cgroups.open(`berth-test-${process.pid}`)
  const folders = cgroups.folders('m')
  await cgroups.limit('m', { cpu: 1.5, memoryBytes: 64 * 2 ** 20, pids: 20 })
  const child = spawn('sleep', ['60'])
  await cgroups.add('m', child.pid ?? 0)
  const read = (name: string) =>
    folders
      .map((path) => join(path, name))
      .filter((path) => existsSync(path))
      .map((path) => readFileSync(path, 'utf8').trim())
  if (!cgroups.missing.includes('cpu'))
    expect([...read('cpu.cfs_quota_us'), ...read('cpu.max')]).toEqual([expect.stringMatching(/^150000/)])
  if (!cgroups.missing.includes('memory'))
    expect([...read('memory.limit_in_bytes'), ...read('memory.max')]).toEqual([String(64 * 2 ** 20)])
  if (!cgroups.missing.includes('pids')) expect(read('pids.max')).toEqual(['20'])
  for (const path of folders)
    expect(readFileSync(join(path, 'cgroup.procs'), 'utf8')).toContain(String(child.pid))
  child.kill()
  await once(child, 'exit')
  await removeCgroups(folders)
  await removeCgroups(folders)
  expect(folders.filter((path) => existsSync(path))).toEqual([])
  await cgroups.close()
  expect(folders.filter((path) => existsSync(join(path, '..')))).toEqual([])
})

test('a process is known by its argument, and only that very process is killed', async () => {
  const mark = `mark-${process.pid}`
  // `sh` keeps what follows the script as its own arguments.
  const child = spawn('sh', ['-c', 'sleep 60; true', 'sh', mark], { detached: true })
  const pid = child.pid ?? 0
  const id = identify(pid, mark)
  expect(id).toMatchObject({ pid })
  expect(findByArgument(mark)).toEqual(id)
  expect(identify(pid, 'mark')).toBeNull()
  if (!id) return
  // As if the pid had been given to another process since.
  expect(await killVerified({ pid, startTime: '1' }, mark)).toBe(true)
  expect(isAlive(id, mark)).toBe(true)
  process.kill(-pid, 'SIGKILL')
  expect(await killVerified(id, mark)).toBe(true)
  expect(isAlive(id, mark)).toBe(false)
})
