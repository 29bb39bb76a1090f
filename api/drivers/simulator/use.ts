import type { MachineSpec } from '../driver.ts'
import type { Measurement } from '../measurement.ts'

const MIB = 2 ** 20
const GIB = 2 ** 30
const DAY_MS = 86_400_000

/**
 * Returns the usage of a simulated machine, always the same for the same machine and moment. Its id sets its level,
 * which varies with the hour of the day as that of real servers does.
 * @param startedAt null if it is off
 */
export function simulatedUse(
  { serverId, cpu, ramMb, diskGb }: Pick<MachineSpec, 'serverId' | 'cpu' | 'ramMb' | 'diskGb'>,
  startedAt: number | null,
  now: number,
): Measurement {
  const level = levelOf(serverId)
  const diskUsedBytes = Math.round(diskGb * GIB * (0.05 + 0.5 * level))
  const off = { cpuMs: null, memoryUsedBytes: null, diskReadBytes: null, diskWriteBytes: null }
  const measured = { measuredAt: now, startedAt, cores: cpu, diskUsedBytes }
  if (startedAt === null) return { ...measured, ...off, networkRxBytes: null, networkTxBytes: null }
  /** Counts units since the start, at this mean rate per second. */
  const counted = (mean: number) => Math.floor(mean * busySeconds(startedAt, now, level))
  return {
    ...measured,
    cpuMs: counted(1000 * cpu * (0.05 + 0.4 * level)),
    memoryUsedBytes: Math.round(ramMb * MIB * (0.2 + 0.5 * level)),
    diskReadBytes: counted(20_000 + 200_000 * level),
    diskWriteBytes: counted(10_000 + 100_000 * level),
    networkRxBytes: counted(5_000 + 50_000 * level),
    networkTxBytes: counted(15_000 + 150_000 * level),
    counts: {
      rxPackets: counted(20 + 100 * level),
      txPackets: counted(20 + 200 * level),
      opened: counted(0.1 + level),
      mailsRefused: 0,
    },
  }
}

/** Maps an id to a level from 0 to 1 (FNV-1a). */
function levelOf(serverId: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < serverId.length; at++)
    hash = Math.imul(hash ^ serverId.charCodeAt(at), 0x01000193) >>> 0
  return hash / 2 ** 32
}

/** Weights the seconds between two moments, from 0.2 at night to 1.8 at the peak: the integral of 1 + 0.8 sin. */
function busySeconds(from: number, until: number, phase: number): number {
  const angle = (at: number) => ((at % DAY_MS) / DAY_MS + phase) * 2 * Math.PI
  const swing = ((Math.cos(angle(from)) - Math.cos(angle(until))) * DAY_MS) / (2 * Math.PI)
  return (until - from + 0.8 * swing) / 1000
}
