import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { QemuWorld } from '../api/drivers/qemu/test-world.ts'
import { benchNight, bytesOf, fill, textOf } from './night.ts'

const [LATENCY_TARGET, RATE_TARGET] = [2, 0.5]
const MIB = 2 ** 20
/** Half of the data is random, as on a server's disk. */
const DATA_MB = 1024
const CHANGED_MB = 64
/** The first seconds of a copy do not count toward the target. */
const FIRST_MS = 3_000
const id = 'bench'

/** A guest writes pieces of 256 KB through to the disk, and records the time of each. */
const WRITER =
  '(while [ ! -e stop ]; do dd if=/dev/zero of=noise bs=256k count=1 conv=fsync 2>/dev/null; cut -d" " -f1 /proc/uptime; done > times) >/dev/null 2>&1 &'

/**
 * Measures what the copy of a running server's disk costs its guest, by its writes during a snapshot and during a
 * backup that becomes a difference, beside those without a copy, and what each copy takes.
 */
export async function benchDisk(rounds: number): Promise<void> {
  const world = await QemuWorld.open()
  try {
    await world.make(id, { diskGb: 5 })
    const bytes = (DATA_MB / 2) * MIB
    fill(world, id, 3 * 1024, randomBytes(bytes))
    fill(world, id, 4 * 1024, textOf(bytes))
    await world.driver.start(id)
    await world.untilReady(id)
    await world.copied(id, 'full')
    for (let round = 1; round <= rounds; round++) await measure(world, round)
    await world.driver.destroy(id)
    await benchNight(world)
  } finally {
    await world.close()
  }
}

async function measure(world: QemuWorld, round: number): Promise<void> {
  const snapshot = await beside(world, () => world.copied(id, `snapshot-${round}`))
  const alone = await beside(world, () => sleep(Math.max(snapshot.ms, 2 * FIRST_MS)))
  await world.ssh(id, `head -c ${CHANGED_MB * MIB} /dev/urandom > changed; sync`)
  const backup = await beside(world, () => world.copied(id, `backup-${round}`, 'full'))
  console.log(`round ${round}: alone ${say(alone)}`)
  for (const [name, one] of [
    ['snapshot', snapshot],
    ['backup', backup],
  ] as const) {
    console.log(
      `  ${name}: ${(bytesOf(one.result) / MIB).toFixed(0)} MB in ${(one.ms / 1000).toFixed(1)} s; ${say(one)}`,
    )
    const [latency, rate] = [one.meanMs / alone.meanMs, alone.meanMs / one.meanMs]
    const targets = `targets: at most ${LATENCY_TARGET}, at least ${RATE_TARGET}`
    console.log(`    latency ${latency.toFixed(2)} times alone, rate ${rate.toFixed(2)} (${targets})`)
  }
}

interface Written<Result> {
  ms: number
  result: Result
  /** Writes in the time that counts, and how long they took. */
  count: number
  meanMs: number
  worstMs: number
}

const say = ({ count, meanMs, worstMs }: Written<unknown>) =>
  `${count} writes, ${meanMs.toFixed(0)} ms each, at most ${worstMs.toFixed(0)} ms`

/** Lets the guest write while something else is done. */
async function beside<Result>(world: QemuWorld, work: () => Promise<Result>): Promise<Written<Result>> {
  await world.ssh(id, `rm -f stop times; ${WRITER}`)
  const start = performance.now()
  const result = await work()
  const ms = performance.now() - start
  const times = (await world.ssh(id, 'touch stop; cat times')).split('\n').map((line) => Number(line) * 1000)
  const first = (times[0] ?? 0) + FIRST_MS
  const counted = times.filter((time) => time >= first)
  const took = counted.slice(1).map((time, at) => time - (counted[at] ?? time))
  const meanMs = took.reduce((sum, one) => sum + one, 0) / Math.max(took.length, 1)
  return { ms, result, count: took.length, meanMs, worstMs: Math.max(0, ...took) }
}
