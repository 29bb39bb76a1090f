import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Service, until } from './harness/service.ts'

const service = new Service()
const FLAGS = ['--sample-seconds', '2']
let identity = ''
let id = ''

beforeAll(async () => {
  await service.prepare()
  await service.start(FLAGS)
  const key = await service.addKey()
  identity = key.identity
  id = (await service.create({ ssh_key_ids: [key.sshKeyId] })).server_id
  await service.settle(id)
})

afterAll(() => service.dispose())

const stats = async () => (await service.call('GET', `/servers/${id}/stats`)).body
const guest = (command: string) => service.ssh(id, command, identity)

/** Seconds that the virtual CPUs have run, as the kernel of this host counts. */
function hostCpuSeconds(): number {
  const [qemu = ''] = service.processesOf(id).filter((line) => line.includes(' qemu-system'))
  const tasks = `/proc/${qemu.split(' ')[0]}/task`
  const ticks = readdirSync(tasks).map((task) => {
    const stat = readFileSync(`${tasks}/${task}/stat`, 'latin1')
    const [user = 0, system = 0] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
      .map(Number)
    return / \(CPU \d+\//.test(stat) ? user + system : 0
  })
  return ticks.reduce((sum, value) => sum + value, 0) / 100
}

/** Bytes that the guest has read from its disk and written to it, as its own kernel counts. */
async function guestTraffic(): Promise<{ read: number; written: number }> {
  const fields = (await guest("sync; grep ' vda ' /proc/diskstats")).trim().split(/ +/)
  return { read: Number(fields[5]) * 512, written: Number(fields[9]) * 512 }
}

/** The values of a series between two moments, both in seconds. */
async function points(name: string, from: number, to: number): Promise<(number | null)[]> {
  const [start, end] = [from, to].map((at) => new Date(at * 1000).toISOString())
  const { body } = await service.call('GET', `/servers/${id}/metrics?start=${start}&end=${end}&step=10`)
  const found = body.series.find((series: { name: string }) => series.name === name)
  return found.points.map(([, value]: [number, number | null]) => value)
}

/** A rate above that of the load below, and below a spike of everything that the guest has written before. */
const SPIKE = 4 * 2 ** 20

const sum = (values: (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0)
const seconds = () => Date.now() / 1000
const passed = (at: number) => until('that time has come', 240_000, () => seconds() >= at)
const nextSlot = () => (Math.floor(seconds() / 10) + 1) * 10

test('the CPU is hardly busy when the guest idles', () =>
  until('it rests', 240_000, async () => ((await stats()).cpu.usage_percent ?? 100) < 20))

test('a busy loop uses all of the CPU, as this host counts it', async () => {
  await guest('(while :; do :; done) >/dev/null 2>&1 </dev/null & echo $! > loop')
  await passed(seconds() + 3)
  const from = nextSlot()
  await passed(from)
  const before = hostCpuSeconds()
  await passed(from + 20)
  const seen = (hostCpuSeconds() - before) * 5 // percent of 20 s
  // The loop gets a whole core only if other programs leave it one.
  expect(seen).toBeGreaterThan(10)
  // Samples may be late, and the share of other programs changes between two of them.
  const off = async () => {
    const told = await points('cpu.usage', from, from + 20)
    return told.length === 2 && !told.includes(null) ? Math.abs(sum(told) / 2 - seen) : Number.NaN
  }
  await expect.poll(off).toBeLessThan(seen / 4)
  expect((await stats()).cpu.usage_percent).toBeGreaterThan(10)
  await guest('kill $(cat loop)')
  const { memory, disk, network } = await stats()
  const [total = 0, available = 0] = (await guest("awk '/MemTotal|MemAvailable/ {print $2}' /proc/meminfo"))
    .split('\n')
    .map(Number)
  expect(Math.abs(memory.used_mb - (total - available) / 1024)).toBeLessThan(0.1 * (total / 1024))
  expect([memory.total_mb, disk.total_gb]).toEqual([256, 5])
  expect(Math.min(network.rx_bytes_total, network.tx_bytes_total)).toBeGreaterThan(1_000)
})

test('disk totals and rates match the counters of the guest', async () => {
  const begun = await stats()
  const before = await guestTraffic()
  const from = nextSlot() - 10
  // About 64 MB in 20 s or more, in pieces.
  await guest(
    'for i in $(seq 32); do dd if=/dev/urandom of=$HOME/load bs=64k count=32 conv=fsync 2>/dev/null || exit 1; sleep 0.5; done',
  )
  const after = await guestTraffic()
  const ended = await stats()
  const to = nextSlot()
  const written = after.written - before.written
  expect(written).toBeGreaterThan(60e6)
  const counted = ended.disk.write_bytes_total - begun.disk.write_bytes_total
  expect(Math.abs(counted - written)).toBeLessThan(written / 10)
  const told = async () => sum(await points('disk.write.bandwidth', from, to)) * 10
  await expect.poll(async () => Math.abs((await told()) - written)).toBeLessThan(written / 10)
  expect(ended.disk.used_gb).toBeGreaterThan(0)
})

test('totals continue without a spike after a restart of the service or of the server', async () => {
  const from = nextSlot() - 10
  const load =
    'while :; do dd if=/dev/urandom of=$HOME/load bs=64k count=8 conv=fsync 2>/dev/null; sleep 0.5; done'
  await guest(`timeout 120 sh -c '${load}' >/dev/null 2>&1 </dev/null &`)
  await passed(from + 22)
  const before = await stats()
  await service.stop('SIGKILL')
  await passed(seconds() + 9)
  await service.start(FLAGS)
  await passed(seconds() + 7)
  const between = await stats()
  expect(between.disk.write_bytes_total).toBeGreaterThan(before.disk.write_bytes_total)
  expect(between.disk.write_bytes_per_second).toBeLessThan(SPIKE)
  await service.act(id, 'stop')
  expect((await stats()).cpu.usage_percent).toBeNull()
  await service.act(id, 'start')
  await until('it is measured', 240_000, async () => (await stats()).disk.write_bytes_total !== null)
  expect((await stats()).disk.write_bytes_total).toBeGreaterThanOrEqual(between.disk.write_bytes_total)
  for (const value of await points('disk.write.bandwidth', from, nextSlot()))
    expect(value ?? 0).toBeLessThan(SPIKE)
  for (const value of await points('cpu.usage', from, nextSlot())) expect(value ?? 0).toBeLessThanOrEqual(100)
})
