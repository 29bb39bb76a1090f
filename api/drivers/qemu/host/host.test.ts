import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { bootSector, chooseAccel, closedTo, howToOpen, offeredCpuTypes, probeSector } from './accel.ts'
import { Cgroups, removeCgroups } from './cgroup.ts'
import { spawnConfined, wallsObstacle } from './confine.ts'
import { machineOwner } from './owner.ts'
import { findByArgument, identify, isAlive, killVerified } from './process.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-host-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('the KVM test runs to its end where a CPU works, and a blank sector does not', async () => {
  expect(await bootSector('tcg', probeSector(), 200_000)).toBeNull()
  expect(await bootSector('tcg', Buffer.alloc(512), 700)).toBe('a test guest hung')
})

test('TCG is used on request, and can emulate the CPUs of both vendors', async () => {
  expect(await chooseAccel('tcg', join(folder, 'memory'))).toMatchObject({ accel: 'tcg' })
  expect(offeredCpuTypes('tcg')).toEqual(['amd', 'intel'])
})

test('KVM requested by name works, or is refused with instructions', async () => {
  // This simulates an earlier start that found KVM hanging: the check then takes a second and not twelve.
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
    expect(await closedTo('/proc/1/mem')).toMatch(/has no access to .*sudo usermod -aG kvm/)
    expect(await closedTo('/dev/null')).toBeNull()
  },
)

test.each([
  ['its group may open it', 0o660, 104, /^Join its group and log in again: sudo usermod -aG virt \$USER$/],
  ['only root may', 0o600, 0, /^No group may\. .* chgrp kvm \/dev\/kvm && chmod 660 /],
  ['the group is root', 0o660, 0, /^No group may\./],
  ['its group may not', 0o600, 104, /^No group may\./],
  ['its group has no name', 0o660, 105, /^No group may\./],
])('advice on a device where %s is advice that works', (_, mode, gid, advice) => {
  const device = { mode: 0o020000 | mode, gid }
  expect(howToOpen('/dev/kvm', device, 'root:x:0:\nvirt:x:104:ann\n')).toMatch(advice)
})

test('limits take effect on the host, and the groups are removed', async () => {
  const cgroups = await Cgroups.open(`berth-test-${process.pid}`)
  const folders = cgroups.folders('m')
  await cgroups.limit('m', { cpu: 1.5, memoryBytes: 64 * 2 ** 20, pids: 20 })
  const child = spawn('sleep', ['600'])
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

test('a process is identified by its argument, and only that process is killed', async () => {
  const mark = `mark-${process.pid}`
  // `sh` keeps what follows the script as its own arguments.
  const child = spawn('sh', ['-c', 'sleep 600; true', 'sh', mark], { detached: true })
  const pid = child.pid ?? 0
  const id = identify(pid, mark)
  expect(id).toMatchObject({ pid })
  expect(findByArgument(mark)).toEqual(id)
  expect(identify(pid, 'mark')).toBeNull()
  if (!id) return
  // This simulates a pid that another process has since received.
  expect(await killVerified({ pid, startTime: '1' }, mark)).toBe(true)
  expect(isAlive(id, mark)).toBe(true)
  process.kill(-pid, 'SIGKILL')
  expect(await killVerified(id, mark)).toBe(true)
  expect(isAlive(id, mark)).toBe(false)
})

test.skipIf(process.arch !== 'x64')(
  'a program behind the walls makes no socket but of the internet and of its own files, whichever way it asks',
  async () => {
    const owner = process.getuid?.() === 0 ? machineOwner('trial') : null
    const root = join(folder, 'root')
    if ((await wallsObstacle('perl', root, owner)) !== null) return
    const logs = join(folder, 'logs')
    mkdirSync(logs)
    if (owner) for (const path of [folder, logs]) chownSync(path, owner.uid, owner.gid)
    // The families are netlink (16), packets (17), the kernel's ciphers (38) and vsock (40); then the same by x32's
    // numbers, by io_uring, and by bpf.
    const script = `open my $log, '>&=3'; $log->autoflush;
      sub may { print $log join(' ', shift, $_[0] < 0 ? 'errno ' . ($! + 0) : 'yes'), "\\n" }
      may("socket $_", syscall(41, $_, $_ == 40 || $_ == 1 ? 1 : 2, 0)) for 1, 2, 10, 16, 17, 38, 40;
      my $pair = ' ' x 8; may("pair $_", syscall(53, $_, 1, 0, $pair)) for 1, 40;
      may('x32', syscall(0x40000029, 40, 1, 0));
      my $params = "\\0" x 120; may('io_uring', syscall(425, 1, $params));
      may('bpf', syscall(321, 0, $params, 120));
      print $log "end\\n"`
    const walls = {
      owner,
      root,
      hasNetwork: false,
      entrance: [],
      shown: [],
      shared: [],
      logs,
      fileBytes: 1e6,
    }
    await spawnConfined(['perl', '-MIO::Handle', '-e', script], walls, async () => {})
    const said = () =>
      existsSync(join(logs, 'serial.log')) ? readFileSync(join(logs, 'serial.log'), 'utf8') : ''
    await expect.poll(said).toContain('end')
    expect(said().trim().split('\n')).toEqual([
      ...['socket 1 yes', 'socket 2 yes', 'socket 10 yes'],
      ...[16, 17, 38, 40].map((family) => `socket ${family} errno 97`),
      ...['pair 1 yes', 'pair 40 errno 97', 'x32 errno 1', 'io_uring errno 1', 'bpf errno 1', 'end'],
    ])
  },
)
