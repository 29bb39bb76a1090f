import { readdir, readFile, stat } from 'node:fs/promises'
import type { Measurement, Traffic } from '../measurement.ts'
import { statFields } from './host/proc.ts'
import type { MachineRecord } from './layout.ts'
import type { Qmp } from './qmp.ts'

/** If QEMU does not answer within this time, only the figures of the host are returned. */
const ANSWER_MS = 1500
/** The guest reports its memory every 5 s; a guest that has crashed or is rebooting stops reporting. */
const MEMORY_NEWS_MS = 30_000
/** The kernel counts CPU time for user space in hundredths of a second (USER_HZ), regardless of its own tick. */
const MS_PER_TICK = 10

/** A running machine. */
interface Running {
  pid: number
  qmp: Qmp
  startedAt: number
}

/**
 * Reads CPU time from the host's kernel for QEMU's virtual CPU threads, disk traffic from QEMU, and memory from the
 * guest's balloon driver. Network traffic is counted by firewall rules for all machines at once
 * (GuestNetwork.traffic).
 */
export async function measureMachine(
  spec: MachineRecord['spec'],
  disk: string,
  running: Running | null,
  now: number,
): Promise<Measurement> {
  const [cpuMs, memoryUsedBytes, traffic, diskUsedBytes] = await Promise.all([
    running && orNull(cpuTime(running, spec.cpu)),
    running && orNull(memoryUsed(running.qmp, spec.ramMb, now)),
    running && orNull(diskTraffic(running.qmp)),
    orNull(stat(disk).then(({ blocks }) => blocks * 512)),
  ])
  return {
    measuredAt: now,
    startedAt: running?.startedAt ?? null,
    cores: spec.cpu,
    cpuMs,
    memoryUsedBytes,
    diskUsedBytes,
    diskReadBytes: traffic?.read ?? null,
    diskWriteBytes: traffic?.written ?? null,
    networkRxBytes: null,
    networkTxBytes: null,
  }
}

/** Adds the traffic of a machine, as far as the network of guests has counted it. */
export function withTraffic(measured: Measurement, traffic: Traffic | undefined): Measurement {
  const { rx = null, tx = null, counts = null, ended = null } = traffic ?? {}
  return { ...measured, networkRxBytes: rx, networkTxBytes: tx, counts, ended }
}

/** Returns null for a failed reading. Its cause shows when the machine is started or inspected. */
function orNull<T>(value: Promise<T>): Promise<T | null> {
  return value.catch(() => null)
}

async function cpuTime({ qmp, pid }: Running, cores: number): Promise<number> {
  const cpus = listOf(await qmp.run('query-cpus-fast', {}, ANSWER_MS))
  if (cpus.length === 0) throw new Error('QEMU reports no CPU')
  // Each thread costs the service an open file.
  if (cpus.length > cores) throw new Error('QEMU reports more CPUs than the machine has')
  const numbers = cpus.map((cpu) => counter(cpu['thread-id']))
  let threads = known.get(qmp)
  if (!threads || numbers.some((number) => !threads?.has(number))) {
    threads = await threadsOf(pid)
    known.set(qmp, threads)
  }
  const times = await Promise.all(numbers.map((number) => threadTime(pid, threads.get(number))))
  return times.reduce((sum, time) => sum + time, 0)
}

/** The host's thread ids of each QEMU by QEMU's own: in its pid namespace they differ. */
const known = new WeakMap<Qmp, Map<number, string>>()

async function threadsOf(pid: number): Promise<Map<number, string>> {
  const threads = await readdir(`/proc/${pid}/task`)
  const numbers = await Promise.all(
    threads.map(async (thread) => {
      const status = await readFile(`/proc/${pid}/task/${thread}/status`, 'utf8').catch(() => '')
      return Number(/^NSpid:.*?(\d+)$/m.exec(status)?.[1])
    }),
  )
  return new Map(numbers.map((number, index) => [number, threads[index] ?? '']))
}

/**
 * Reads the CPU time of a thread. It must belong to this process: a QEMU that its guest has taken over may name
 * others.
 */
async function threadTime(pid: number, thread = ''): Promise<number> {
  const text = await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')
  const [user, system] = statFields(text).slice(11, 13)
  return counter(Number(user) + Number(system)) * MS_PER_TICK
}

async function memoryUsed(qmp: Qmp, ramMb: number, now: number): Promise<number> {
  const path = '/machine/peripheral/balloon0'
  const answer = await qmp.run('qom-get', { path, property: 'guest-stats' }, ANSWER_MS)
  const { stats, 'last-update': updatedAt } = fieldsOf(answer)
  if (now - counter(updatedAt) * 1000 > MEMORY_NEWS_MS) throw new Error('the guest is silent')
  const { 'stat-total-memory': total, 'stat-available-memory': available } = fieldsOf(stats)
  const used = counter(counter(total) - counter(available))
  return Math.min(used, ramMb * 2 ** 20)
}

async function diskTraffic(qmp: Qmp): Promise<{ read: number; written: number }> {
  const devices = listOf(await qmp.run('query-blockstats', {}, ANSWER_MS))
  const disk = devices.find(({ qdev }) => String(qdev).includes('/disk0/'))
  const { rd_bytes, wr_bytes } = fieldsOf(disk?.stats)
  return { read: counter(rd_bytes), written: counter(wr_bytes) }
}

/**
 * True if the guest's operating system has brought its network card up. Boot loaders have no driver for the card, and
 * a card without a driver receives everything.
 */
export async function isCardDriven(qmp: Qmp): Promise<boolean> {
  const cards = listOf(await qmp.run('query-rx-filter', {}, ANSWER_MS))
  return cards.some(({ promiscuous }) => promiscuous === false)
}

/** @throws Error if the value is not a counter; QEMU reports one that the guest does not know as 2^64 - 1 */
function counter(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new Error(`${String(value)} counts nothing`)
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

function fieldsOf(value: unknown): Record<string, unknown> {
  // An object that is not null can be read by any key.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
