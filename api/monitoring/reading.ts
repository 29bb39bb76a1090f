import type { EndedTraffic, Measurement, NetworkCounts } from '../drivers/measurement.ts'

type CounterName = 'cpuMs' | 'diskReadBytes' | 'diskWriteBytes' | 'networkRxBytes' | 'networkTxBytes'
type Counters = Record<CounterName, number | null>

/** A measurement of a running machine, kept for the next one. */
export interface Reading {
  at: number
  /** Identifies the machine's process, whose counters began at 0 at this time. */
  startedAt: number
  /** The counters of the process. */
  counters: Counters
  /** The totals of all earlier processes of the machine. */
  before: Counters
  /** The sums of both; counters that were never known are missing. */
  totals: Counters
  /** The totals up to which traffic is recorded by month; missing: no traffic is recorded. */
  written?: Pick<Counters, 'networkRxBytes' | 'networkTxBytes'>
  /** The process's counters of its network card; missing: unknown. */
  counts?: NetworkCounts
  /** The traffic of the machine's ended processes, as the driver knew it then. */
  ended?: EndedTraffic
}

/** Usage between two measurements: percent of all cores, and bytes a second. */
export interface Usage {
  cpu: number | null
  diskRead: number | null
  diskWrite: number | null
  networkRx: number | null
  networkTx: number | null
}

/**
 * In a shorter time the host's count of CPU time, which has steps of 10 ms, is off by more than 2 percent. The value is
 * well below a second, the shortest interval between samples, since timers end some milliseconds early.
 */
export const SHORTEST_MS = 500

/**
 * Carries totals over the end of a process, when its counters are lost.
 * @returns null if the machine is off
 */
export function nextReading(previous: Reading | null, measured: Measurement): Reading | null {
  const { measuredAt, startedAt } = measured
  if (startedAt === null) return null
  const isSame = previous?.startedAt === startedAt
  const before = (isSame ? previous.before : endedTotals(previous, measured)) ?? none
  const totals = each((name) => {
    const counted = measured[name]
    if (counted === null) return previous?.totals[name] ?? null
    return (before[name] ?? 0) + counted
  })
  const { counts, ended } = measured
  const counters = each((name) => measured[name])
  const known = { ...(counts ? { counts } : {}), ...(ended ? { ended } : {}) }
  return { at: measuredAt, startedAt, counters, before, totals, ...known }
}

/**
 * Returns the totals of ended processes, with their traffic after the last measurement. Otherwise a customer
 * who stops a server right before each measurement would send for free.
 */
function endedTotals(previous: Reading | null, { ended }: Measurement): Counters | undefined {
  if (!ended) return previous?.totals
  if (!previous) return { ...none, networkRxBytes: ended.rx, networkTxBytes: ended.tx }
  const { totals, counters, ended: seen } = previous
  if (seen?.life !== ended.life) return totals
  const unseen = (name: 'networkRxBytes' | 'networkTxBytes', sum: number) =>
    (totals[name] ?? 0) + Math.max(0, sum - (counters[name] ?? 0))
  return {
    ...totals,
    networkRxBytes: unseen('networkRxBytes', ended.rx - seen.rx),
    networkTxBytes: unseen('networkTxBytes', ended.tx - seen.tx),
  }
}

/**
 * Returns the rates since the last measurement, or since the start of a process that was not seen before.
 * They are unknown after a pause of more than `longestMs`, whose usage says nothing about the present.
 */
export function usageSince(previous: Reading | null, measured: Measurement, longestMs: number): Usage {
  const since = sinceWhen(previous, measured)
  const ms = measured.measuredAt - (since?.at ?? Number.NEGATIVE_INFINITY)
  const perSecond = (name: CounterName, scale = 1) => {
    const [from, until] = [since?.counters[name] ?? null, measured[name]]
    if (from === null || until === null || until < from || ms < SHORTEST_MS || ms > longestMs) return null
    return ((until - from) * 1000 * scale) / ms
  }
  // 1000 ms of CPU time a second and core are 100 percent; coarse counting can yield slightly more.
  const cpu = perSecond('cpuMs', 1 / (10 * measured.cores))
  return {
    cpu: cpu === null ? null : Math.min(100, cpu),
    diskRead: perSecond('diskReadBytes'),
    diskWrite: perSecond('diskWriteBytes'),
    networkRx: perSecond('networkRxBytes'),
    networkTx: perSecond('networkTxBytes'),
  }
}

function sinceWhen(
  previous: Reading | null,
  { startedAt }: Measurement,
): Pick<Reading, 'at' | 'counters'> | null {
  if (startedAt === null) return null
  return previous?.startedAt === startedAt ? previous : { at: startedAt, counters: each(() => 0) }
}

function each(value: (name: CounterName) => number | null): Counters {
  return {
    cpuMs: value('cpuMs'),
    diskReadBytes: value('diskReadBytes'),
    diskWriteBytes: value('diskWriteBytes'),
    networkRxBytes: value('networkRxBytes'),
    networkTxBytes: value('networkTxBytes'),
  }
}

const none = each(() => null)
