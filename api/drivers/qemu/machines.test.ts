import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { RESOLVER } from '../addresses.ts'
import { DriverError } from '../driver.ts'
import { createDisk, diskFailure } from './disk.ts'
import { microSpec } from './images/test-image.ts'
import { endOfLog } from './logs.ts'
import { forgePid, isRunning, QemuWorld } from './test-world.ts'

const GIB = 1024 ** 3

let world: QemuWorld
let onLoopback: Server
let everywhere: Server
beforeAll(async () => {
  // The name is too long for sockets, so all of this runs with sockets in a temporary folder.
  world = await QemuWorld.open({ under: `data-${'with-a-long-name-'.repeat(5)}` })
  onLoopback = await hello('127.0.0.1')
  everywhere = await hello('0.0.0.0')
})
afterAll(async () => {
  onLoopback?.close()
  everywhere?.close()
  await world?.close()
})

async function hello(host: string): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => {}).end('hello from the host\n'))
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return server
}

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/** Returns what the guest reads from an address and port. */
const heard = (id: string, host: string, server: Server) =>
  world.ssh(id, `timeout 10 nc -w 2 ${host} ${portOf(server)} </dev/null 2>/dev/null || true`)

const own = (id: string) => world.spec(id).interfaces[0]?.addresses[0] ?? { address: '', gateway: '' }

/** Sends packets for 127.0.0.1 from the guest to its gateway. */
const stray = ({ address, gateway }: { address: string; gateway: string }) =>
  [
    'sudo -n sh -c "ip addr del 127.0.0.1/8 dev lo',
    'ip route del local 127.0.0.0/8 dev lo table local',
    'echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet; echo 1 > /proc/sys/net/ipv4/conf/eth0/route_localnet',
    'echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter; echo 0 > /proc/sys/net/ipv4/conf/eth0/rp_filter',
    `ip route add 127.0.0.0/8 via ${gateway} dev eth0 src ${address}"`,
  ].join('; ')

/** True if the driver keeps guests away from this host; otherwise it warns. */
const isGuarded = async () =>
  !(await world.driver.host()).warnings.join().includes('do not rent servers to the public')

const hasPasst = !spawnSync('passt', ['--version']).error

test('a customer logs in, the disk grows while in use, and data survives a change to a bigger plan', async () => {
  const id = 'life'
  await world.make(id, { cpuType: 'intel' })
  expect(await world.driver.start(id)).toBe('started')
  await world.untilReady(id)
  expect(await world.ssh(id, 'hostname; whoami; grep -m1 vendor_id /proc/cpuinfo')).toMatch(
    /^host-life\nann\nvendor_id\s*: GenuineIntel$/,
  )
  expect(readFileSync(join(world.dataDir, 'vms', id, 'log/serial.log'), 'utf8')).toContain('login:')

  await world.until('its agent runs', async () => /qemu-ga/.test(await world.ssh(id, 'ps')))
  await world.driver.growDisk(id, 2)
  await world.until('the file system is larger', async () => (await sizeOfRoot(id)) > 1850)

  const guarded = await isGuarded()
  if (hasPasst || guarded)
    for (const host of [own(id).gateway, '127.0.0.1', RESOLVER])
      expect(await heard(id, host, onLoopback)).toBe('')
  // A guest that sends packets for 127.0.0.1 to its gateway speaks as a user of this host: only the firewall stops
  // it.
  if (guarded) {
    await world.ssh(id, stray(own(id)))
    expect(await heard(id, '127.0.0.1', onLoopback)).toBe('')
    for (const host of ownAddresses()) expect(await heard(id, host, everywhere)).toBe('')
  }

  await world.ssh(id, 'echo precious > file; sync')
  await frozenIsHung(id)
  await world.driver.powerOff(id)

  // The next service has no passt.
  await world.restart('slirp')
  await world.make(id, { diskGb: 3, ramMb: 256, cpuType: 'amd' })
  expect(await world.driver.start(id)).toBe('started')
  await world.untilReady(id)
  const [vendor, file, memory] = (
    await world.ssh(id, 'grep -m1 vendor_id /proc/cpuinfo; cat file; grep MemTotal /proc/meminfo')
  ).split('\n')
  expect(vendor).toContain('AuthenticAMD')
  expect(file).toBe('precious')
  expect(await sizeOfRoot(id)).toBeGreaterThan(2800)
  expect(Number(memory?.split(/ +/)[1])).toBeGreaterThan(200_000)
  // The guest's gateway stands for this host's loopback; the warning about it is true.
  expect(await heard(id, own(id).gateway, onLoopback)).toBe((await isGuarded()) ? '' : 'hello from the host')

  // The guest shuts down while no service runs.
  await world.driver.shutdown(id)
  await world.driver.close()
  const serialLog = join(world.dataDir, 'vms', id, 'log/serial.log')
  await world.until('the guest is down', async () => (await endOfLog(serialLog, 500)).includes('Power down'))
  await world.restart('slirp')
  expect(await world.driver.inspect(id)).toEqual({ power: 'stopped', reason: 'guest_shutdown' })
  await world.driver.destroy(id)
  expect(await world.leftovers(id)).toEqual([])
  await world.restart()
})

/** The size of the guest's root file system in MiB. */
async function sizeOfRoot(id: string): Promise<number> {
  return Number((await world.ssh(id, 'df -m / | tail -1')).trim().split(/ +/)[1])
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).filter((one) => one.family === 'IPv4' && !one.internal).map((one) => one.address),
  )
}

/** Checks that a machine that hangs delays a measurement for a bounded time only, and has just the host's figures. */
async function measuresWithout(id: string): Promise<void> {
  // Without a bound, the call would last as long as the machine hangs.
  const { cpuMs, memoryUsedBytes, diskReadBytes, diskUsedBytes } =
    (await world.driver.measure([id])).get(id) ?? {}
  expect([cpuMs, memoryUsedBytes, diskReadBytes, diskUsedBytes]).toEqual([
    null,
    null,
    null,
    expect.any(Number),
  ])
}

async function frozenIsHung(id: string): Promise<void> {
  const pid = world.pidOf(id)
  process.kill(pid, 'SIGSTOP')
  try {
    await measuresWithout(id)
    expect(await world.driver.inspect(id)).toEqual({ power: 'hung' })
    await expect(world.driver.start(id)).rejects.toMatchObject({ code: 'start_failed' })
    await world.restart()
    await measuresWithout(id)
    expect(await world.driver.inspect(id)).toEqual({ power: 'hung' })
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await world.until('it goes on', async () => (await world.driver.inspect(id)).power === 'running')
  process.kill(pid, 'SIGSTOP')
  await world.driver.powerOff(id)
  expect(isRunning(pid)).toBe(false)
  await world.driver.start(id)
}

test('a port that another program uses is named in the error, and nothing is left behind', async () => {
  for (const network of hasPasst ? (['slirp', 'passt'] as const) : (['slirp'] as const)) {
    await world.restart(network)
    const id = `taken-${network}`
    await world.make(id)
    const ports = [{ protocol: 'tcp' as const, hostPort: portOf(onLoopback), port: 22 }]
    await world.driver.connect(new Map([[id, { ...world.network(id), ports }]]))
    await expect(world.driver.start(id)).rejects.toMatchObject({
      code: 'port_taken',
      message: `Port ${portOf(onLoopback)} is in use by another program on this host`,
    })
    expect(await world.driver.inspect(id)).toEqual({ power: 'stopped', reason: null })
    // The start works once the port is free, so the failed attempt left nothing behind.
    await world.make(id)
    expect(await world.driver.start(id)).toBe('started')
    await world.driver.destroy(id)
    expect(await world.leftovers(id)).toEqual([])
  }
})

test('a process that has since received the pid is left alone', async () => {
  const id = 'stale'
  await world.make(id)
  await world.driver.start(id)
  await world.crash(id)
  await world.until('it is off', async () => (await world.driver.inspect(id)).power === 'stopped')
  const bystander = spawn('sleep', ['600'])
  forgePid(world, id, bystander.pid ?? 0)
  await world.restart()
  expect(await world.driver.inspect(id)).toEqual({ power: 'stopped', reason: 'crashed' })
  await world.driver.destroy(id)
  expect(bystander.exitCode ?? bystander.signalCode).toBeNull()
  bystander.kill()
  await once(bystander, 'exit')
})

test('a guest started by an earlier version is found, answers, and can be restarted', async () => {
  const id = 'upgraded'
  await world.restart('passt')
  await world.make(id)
  await world.driver.start(id)
  await world.untilReady(id)
  // This is the record of the version in which a machine had one card and one port.
  const file = join(world.dataDir, 'vms', id, 'spec.json')
  const { spec, network, ...record } = JSON.parse(readFileSync(file, 'utf8'))
  const { interfaces, ...rest } = spec
  const sshPort = network.ports[0].hostPort
  const old = { ...rest, image: microSpec, mac: interfaces[0].mac, sshPort }
  writeFileSync(file, JSON.stringify({ ...record, spec: old }))
  await world.restart()
  expect((await world.driver.inspect(id)).power).toBe('running')
  await world.untilReady(id)
  await world.driver.powerOff(id)
  await world.make(id, { image: null })
  await world.driver.start(id)
  await world.untilReady(id)
  expect(await world.ssh(id, 'hostname')).toBe(`host-${id}`)
  await world.driver.destroy(id)
})

test('a QEMU whose pid was never recorded is found', async () => {
  const id = 'lost-pid'
  await world.make(id)
  await world.driver.start(id)
  const pid = world.pidOf(id)
  forgePid(world, id, 0)
  await world.restart()
  expect((await world.driver.inspect(id)).power).toBe('running')
  await world.driver.destroy(id)
  expect(isRunning(pid)).toBe(false)
})

test('files on the host contain no plain password, and other users cannot read them', async () => {
  const id = 'secret'
  await world.make(id, { password: 'correct horse', userData: 'customer token 123' })
  const dir = join(world.dataDir, 'vms', id)
  for (const name of ['spec.json', 'seed.img', 'disk.qcow2']) {
    expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(dir, name)).includes('correct horse')).toBe(false)
  }
  const record = readFileSync(join(dir, 'spec.json'), 'utf8')
  expect(record).not.toContain('customer token')
  await world.make(id, { password: 'correct horse' })
  const again = readFileSync(join(dir, 'spec.json'), 'utf8')
  expect(JSON.parse(again).passwordHash).toBe(JSON.parse(record).passwordHash)
  await world.driver.start(id)
  const [, uid] = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${world.pidOf(id)}/status`, 'utf8')) ?? []
  if (process.getuid?.() === 0) expect(Number(uid)).toBeGreaterThan(60_000)
  await world.driver.destroy(id)
})

test('an image that is too large, is missing or finds no space is refused', async () => {
  const disk = join(world.dataDir, 'refused.qcow2')
  const image = {
    ...{ id: 'x', disk: '/nowhere/image.qcow2', direct: null, virtualSizeBytes: GIB },
    ...{ bytes: 1, source: 'nowhere' },
  }
  const code = (call: Promise<unknown>) =>
    call.then(
      () => 'made',
      (error: unknown) => (error instanceof DriverError ? error.code : String(error)),
    )
  const elsewhere = { slug: 'none', sources: [] }
  expect(await code(world.driver.define({ ...world.spec('new'), image: elsewhere }))).toBe('image_not_ready')
  await world.driver.destroy('new')
  expect(await code(createDisk(disk, 1, { ...image, virtualSizeBytes: 2 * GIB }, null))).toBe(
    'image_unusable',
  )
  expect(await code(createDisk(disk, 1, image, null))).toBe('image_unusable')
  for (const said of ['ENOSPC: no space left on device, write', 'qemu-img: x: No space left on device'])
    expect(diskFailure(new Error(said))).toMatchObject({ code: 'disk_full' })
})
