import { expect, test } from 'vitest'
import type { Measurement } from '../drivers/measurement.ts'
import { nextReading, type Reading, usageSince } from './reading.ts'

const unknown = {
  cpuMs: null,
  memoryUsedBytes: null,
  diskUsedBytes: null,
  diskReadBytes: null,
  diskWriteBytes: null,
  networkRxBytes: null,
  networkTxBytes: null,
}

const look = (measuredAt: number, more: Partial<Measurement>): Measurement => ({
  measuredAt,
  startedAt: 0,
  cores: 1,
  ...unknown,
  ...more,
})

/** Returns the readings and the usage after each of these measurements of one machine. */
function follow(...looks: Measurement[]) {
  let reading: Reading | null = null
  return looks.map((measured) => {
    const usage = usageSince(reading, measured, 30_000)
    reading = nextReading(reading, measured) ?? reading
    return { cpu: usage.cpu, read: usage.diskRead, total: reading?.totals.diskReadBytes ?? null }
  })
}

test('a rate is the usage since the last measurement; CPU usage is relative to all cores', () => {
  expect(
    follow(
      look(10_000, { cores: 2, cpuMs: 20_000, diskReadBytes: 5_000 }),
      look(20_000, { cores: 2, cpuMs: 30_000, diskReadBytes: 5_000 }),
      look(25_000, { cores: 2, cpuMs: 32_500, diskReadBytes: 6_000 }),
    ),
  ).toEqual([
    { cpu: 100, read: 500, total: 5_000 },
    { cpu: 50, read: 0, total: 5_000 },
    { cpu: 25, read: 200, total: 6_000 },
  ])
})

test('totals continue after a machine restarts, and its rates count from that start', () => {
  expect(
    follow(
      look(10_000, { diskReadBytes: 7_000 }),
      look(12_000, { startedAt: null }),
      look(20_000, { startedAt: 15_000, diskReadBytes: 1_000 }),
      look(30_000, { startedAt: 15_000, diskReadBytes: 4_000 }),
      look(40_000, { startedAt: 35_000, diskReadBytes: 500 }),
    ).map(({ read, total }) => [read, total]),
  ).toEqual([
    [700, 7_000],
    [null, 7_000],
    [200, 8_000],
    [300, 11_000],
    [100, 11_500],
  ])
})

test('a value that is unknown for a while leaves a gap without a spike, and the total catches up later', () => {
  expect(
    follow(
      look(10_000, { diskReadBytes: 1_000 }),
      look(20_000, {}),
      look(30_000, { diskReadBytes: 9_000 }),
      look(40_000, { diskReadBytes: 9_500 }),
      look(50_000, { startedAt: 45_000 }),
      look(60_000, { startedAt: 45_000, diskReadBytes: 500 }),
    ).map(({ read, total }) => [read, total]),
  ).toEqual([
    [100, 1_000],
    [null, 1_000],
    [null, 9_000],
    [50, 9_500],
    [null, 9_500],
    [null, 10_000],
  ])
})

test('a machine measured every second has rates, even if a timer fires some milliseconds early', () => {
  const looks = [10_000, 10_998, 12_001, 12_999].map((at) => look(at, { cpuMs: at / 2 }))
  for (const { cpu } of follow(...looks)) expect(cpu).toBeCloseTo(50)
})

test('a rate is unknown if the interval is too long or too short, or the counter decreased', () => {
  const at = (ms: number, cpuMs: number) =>
    follow(look(10_000, { cpuMs: 5_000 }), look(ms, { cpuMs }))[1]?.cpu
  expect([at(40_000, 20_000), at(40_001, 20_000)]).toEqual([50, null])
  expect([at(10_500, 5_050), at(10_499, 5_050), at(10_000, 5_000), at(9_000, 5_000)]).toEqual([
    10,
    null,
    null,
    null,
  ])
  expect(at(20_000, 4_999)).toBeNull()
  expect(at(11_000, 6_020)).toBe(100)
  // The machine was first seen long after its start, without an earlier reading to compare.
  expect(follow(look(500_000, { cpuMs: 400_000 }))).toEqual([{ cpu: null, read: null, total: null }])
})

test('traffic after the last measurement of a process counts, even if the process was never measured', () => {
  const ended = (tx: number, life = 'a') => ({ life, rx: 0, tx })
  let reading: Reading | null = null
  const totals = [
    // The first process ended before it was measured.
    look(10_000, { networkTxBytes: 5_000, ended: ended(40) }),
    // The second one sent 7,000 in all, and the third one 300.
    look(20_000, { startedAt: 15_000, networkTxBytes: 100, ended: ended(7_340) }),
    look(30_000, { startedAt: 15_000, networkTxBytes: 150, ended: ended(7_340) }),
    // A restarted driver does not know the processes that ended before.
    look(40_000, { startedAt: 35_000, networkTxBytes: 10, ended: ended(0, 'b') }),
    look(50_000, { startedAt: 45_000, networkTxBytes: 1, ended: ended(30, 'b') }),
  ].map((measured) => {
    reading = nextReading(reading, measured)
    return reading?.totals.networkTxBytes
  })
  expect(totals).toEqual([5_040, 7_440, 7_490, 7_500, 7_521])
})
