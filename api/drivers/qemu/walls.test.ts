import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addressesOf } from '../addresses.ts'
import { MOST_VOLUME_GB } from '../volumes.ts'
import { raisesLimits } from './host/confine.ts'
import { Qmp } from './qmp.ts'
import { QemuWorld } from './test-world.ts'

let world: QemuWorld
let onLoopback: Server
let hasWalls = false
beforeAll(async () => {
  world = await QemuWorld.open()
  onLoopback = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => onLoopback.listen(0, '127.0.0.1', resolve))
  hasWalls = !(await world.driver.host()).warnings.join().includes('sees files and processes of this host')
})
afterAll(async () => {
  onLoopback?.close()
  await world?.close()
})

const isRoot = process.getuid?.() === 0
const folderOf = (id: string) => join(world.dataDir, 'vms', id)

/**
 * Returns the output of a shell that runs like the machine's QEMU: in its namespaces and root, as its user, without
 * capabilities.
 */
function inside(id: string, script: string, ...args: string[]): string {
  const pid = world.pidOf(id)
  const [, uid] = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  const enter = [
    '-t',
    `${pid}`,
    '-m',
    '-p',
    '-n',
    '-i',
    '-u',
    '-r',
    '-w',
    ...(isRoot ? [] : ['-U', '--preserve-credentials']),
  ]
  const user = isRoot ? [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'] : []
  const none = ['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', ...user]
  const shell = ['bash', '-c', `exec 2>&1; ${script}`, 'bash', ...args]
  return spawnSync('nsenter', [...enter, '--', 'setpriv', ...none, ...shell], { encoding: 'utf8' }).stdout
}

function statusOf(pid: number, field: string): string {
  return new RegExp(`^${field}:\\s+(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? ''
}

test('a guest that breaks out of QEMU finds nothing of the host or its neighbours', async () => {
  if (!hasWalls) return
  for (const id of ['broken', 'neighbour']) {
    await world.make(id)
    await world.driver.start(id)
  }
  const disk = join(folderOf('neighbour'), 'disk.qcow2')
  const image = readdirSync(join(world.dataDir, 'images')).find((name) => name.length === 64) ?? ''
  const base = join(world.dataDir, 'images', image, 'disk.qcow2')

  // QEMU sees its own files and those that its program needs.
  expect(inside('broken', 'cd /; echo *').trim()).toBe(
    `bin dev etc lib lib64 ${world.dataDir.split('/')[1]} usr`,
  )
  expect(inside('broken', 'cd "$1"; echo *', dirname(folderOf('x'))).trim()).toBe('broken')
  expect(inside('broken', 'cat "$1"', disk)).toContain('No such file')
  expect(inside('broken', 'cat "$1"', join(world.dataDir, 'id'))).toContain('No such file')
  expect(inside('broken', 'echo x >>"$1"', base)).toMatch(/Read-only|Permission denied/)
  expect(inside('broken', 'chmod 777 "$1"; echo x >>"$1"', base)).toMatch(/Read-only|not permitted/)
  expect(inside('broken', 'echo x >/usr/bin/berth-test')).toMatch(/Read-only|Permission denied/)
  expect(inside('broken', 'echo x >/new')).toContain('Read-only')
  if (isRoot)
    expect(inside('broken', 'echo x >"$1"', join(folderOf('broken'), 'run/new'))).toContain(
      'Permission denied',
    )
  // QEMU sees no other processes.
  expect(inside('broken', 'ls /proc')).toContain('No such file')
  expect(inside('broken', 'kill -0 "$1"', `${world.pidOf('neighbour')}`)).toContain('No such process')
  expect(inside('broken', 'kill -0 "$1"', `${process.pid}`)).toContain('No such process')
  // QEMU's network is that of all guests, with one card of its own; or that of passt.
  const address = onLoopback.address()
  const port = typeof address === 'object' ? address?.port : 0
  expect(inside('broken', 'exec 3<>"/dev/tcp/127.0.0.1/$1"', `${port}`)).toMatch(/unreachable|refused/)
  const { gateway } = addressesOf(world.network('neighbour').number).ipv4
  for (const host of [addressesOf(world.network('neighbour').number).ipv4.address, gateway, '192.0.2.80'])
    expect(inside('broken', 'exec 3<>"/dev/tcp/$1/22"', host)).toMatch(
      /unreachable|refused|not permitted|prohibited|No route/,
    )
  // QEMU can't gain further privileges.
  expect(inside('broken', 'unshare -Ur true')).toContain('not permitted')

  const pid = world.pidOf('broken')
  expect([
    statusOf(pid, 'CapEff'),
    statusOf(pid, 'CapBnd'),
    statusOf(pid, 'NoNewPrivs'),
    statusOf(pid, 'Seccomp'),
  ]).toEqual(['0000000000000000', '0000000000000000', '1', '2'])
  // There are two filters: the service's and QEMU's own.
  expect(Number(statusOf(pid, 'Seccomp_filters'))).toBeGreaterThanOrEqual(process.arch === 'x64' ? 2 : 1)
  await world.driver.destroy('broken')
  await world.driver.destroy('neighbour')
  for (const id of ['broken', 'neighbour']) expect(await world.leftovers(id)).toEqual([])
})

test('QEMU has only its own descriptors, and keeps its limits', async () => {
  const id = 'bounded'
  await world.make(id)
  await world.driver.start(id)
  const pid = world.pidOf(id)
  const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
  const files = open.filter((name) => !/^(socket|pipe|anon_inode):|^\/dev\/null$/.test(name))
  const names = files.map((name) => name.split('/').at(-1) ?? '').filter((name) => name !== 'tun')
  expect(names.sort()).toEqual(['disk.qcow2', 'disk.qcow2', 'seed.img'])
  // The pipes are stderr and the console's log; a service in a terminal or under a manager has others.
  expect(new Set(open.filter((name) => name.startsWith('pipe:'))).size).toBe(2)
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8')
  expect(limits).toMatch(/Max core file size +0 +0/)
  // The disk, the one file that QEMU may write, may grow to its full size plus 2 %.
  const most = Number(/Max file size +(\d+)/.exec(limits)?.[1])
  const measured = spawnSync('qemu-img', ['measure', '--output=json', '-O', 'qcow2', '--size', '1G'])
  expect(most).toBeGreaterThan(JSON.parse(String(measured.stdout))['fully-allocated'])
  // A limit that can't be raised when it gets a volume allows for any volume.
  expect(most).toBeLessThanOrEqual(raisesLimits() ? Math.ceil(1.02 * 2 ** 30) : MOST_VOLUME_GB * 2 ** 30)
  expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toMatch(/^PATH=[^\0]*\0$/)
  await world.driver.destroy(id)
})

test('a guest that prints for ever fills no disk, whether the service runs or not', async () => {
  const id = 'loud'
  await world.make(id)
  await world.driver.start(id)
  await world.untilReady(id)
  await world.ssh(
    id,
    'sudo -n sh -c "setsid yes 0123456789abcdefghijklmnopqrstuvwxyz >/dev/ttyS0 2>&1 &" >/dev/null 2>&1',
  )
  await world.driver.close()
  const kept = ['serial.log', 'serial.log.1'].map((name) => join(folderOf(id), 'log', name))
  const seen = new Set<string>()
  // The log rotates between two names: three files seen means more than two are kept. A new file may get the inode of
  // a deleted one, but not its time of birth.
  await world.until('the guest has printed more than is kept', async () => {
    const present = kept
      .filter((path) => existsSync(path))
      .map((path) => statSync(path, { throwIfNoEntry: false }))
    expect(present.reduce((sum, file) => sum + (file?.size ?? 0), 0)).toBeLessThanOrEqual(512 * 1024)
    for (const file of present) if (file) seen.add(`${file.ino} ${file.birthtimeMs}`)
    return seen.size >= 3
  })
  await world.restart()
  expect((await world.driver.inspect(id)).power).toBe('running')
  expect(await world.ssh(id, 'echo fine')).toBe('fine')
  await world.driver.destroy(id)
  expect(await world.leftovers(id)).toEqual([])
})

test("a disk is as fast as its server's plan, also after a resize", async () => {
  const id = 'plan'
  const limits = async (cpu: number) => {
    await world.make(id, { cpu })
    await world.driver.start(id)
    // The monitor allows one client, which is the driver.
    await world.driver.close()
    const qmp = await Qmp.connect(join(folderOf(id), 'run/qmp.sock'), 5000)
    const group = await qmp.run('qom-get', { path: '/objects/plan', property: 'limits' })
    const devices = JSON.stringify(await qmp.run('query-blockstats'))
    qmp.close()
    await world.restart()
    await world.driver.powerOff(id)
    expect(devices).toMatch(/"node-name": ?"t0"/)
    return group
  }
  expect(await limits(1)).toMatchObject({ 'iops-total': 3000, 'bps-total': 150 * 2 ** 20 })
  expect(await limits(2)).toMatchObject({ 'iops-total': 4000, 'bps-total': 200 * 2 ** 20 })
  await world.driver.destroy(id)
})

test('the log writers end with the machine', async () => {
  const id = 'ends'
  await world.make(id)
  await world.driver.start(id)
  const keepers = () =>
    readdirSync('/proc').filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`) === join(folderOf(id), 'log')
      } catch {
        return false
      }
    })
  expect(keepers().length).toBeGreaterThan(0)
  await world.crash(id)
  await world.until('they are gone', async () => keepers().length === 0)
  expect((await world.driver.inspect(id)).power).toBe('stopped')
  await world.driver.destroy(id)
})
