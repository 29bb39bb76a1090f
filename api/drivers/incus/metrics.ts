import type { Measurement, NetworkCounts } from '../measurement.ts'

type Counters = Pick<
  Measurement,
  'cpuMs' | 'memoryUsedBytes' | 'diskReadBytes' | 'diskWriteBytes' | 'networkRxBytes' | 'networkTxBytes'
> & { counts: NetworkCounts | null }

export const NOTHING: Counters = {
  cpuMs: null,
  memoryUsedBytes: null,
  diskReadBytes: null,
  diskWriteBytes: null,
  networkRxBytes: null,
  networkTxBytes: null,
  counts: null,
}
/** Incus counts packets, but no connections. */
const UNCOUNTED: NetworkCounts = { rxPackets: null, txPackets: null, opened: null, mailsRefused: null }

/** CPU modes that are not usage. */
const IDLE = ['idle', 'iowait', 'steal']
const LINE =
  /^(?:incus|lxd)_(cpu_seconds_total|memory_MemTotal_bytes|memory_MemAvailable_bytes|disk_read_bytes_total|disk_written_bytes_total|network_receive_bytes_total|network_transmit_bytes_total|network_receive_packets_total|network_transmit_packets_total)\{([^}]*)\} (\S+)$/gm

/**
 * Reads the counters of a member's instances in a project, by name, from its metrics.
 * @param privateNames cards of an instance that do not count
 */
export function countersOf(
  text: string,
  project: string,
  privateNames: (instance: string) => readonly string[],
): Map<string, Counters> {
  const found = new Map<string, Counters & { total: number; available: number }>()
  for (const [, family = '', labels = '', figure = ''] of text.matchAll(LINE)) {
    const label = Object.fromEntries(
      [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
    )
    if (label.project !== project || label.name === undefined) continue
    const of = found.get(label.name) ?? { ...NOTHING, total: 0, available: 0 }
    found.set(label.name, of)
    const value = Number(figure)
    const { device = '' } = label
    if (family === 'memory_MemTotal_bytes') of.total = value
    else if (family === 'memory_MemAvailable_bytes') of.available = value
    else if (family === 'cpu_seconds_total')
      of.cpuMs = (of.cpuMs ?? 0) + (IDLE.includes(label.mode ?? '') ? 0 : value * 1000)
    else if (family === 'disk_read_bytes_total') of.diskReadBytes = (of.diskReadBytes ?? 0) + value
    else if (family === 'disk_written_bytes_total') of.diskWriteBytes = (of.diskWriteBytes ?? 0) + value
    else if (device === 'lo' || privateNames(label.name).includes(device)) continue
    else if (family === 'network_receive_bytes_total') of.networkRxBytes = (of.networkRxBytes ?? 0) + value
    else if (family === 'network_transmit_bytes_total') of.networkTxBytes = (of.networkTxBytes ?? 0) + value
    else of.counts = withPackets(of.counts ?? UNCOUNTED, family, value)
  }
  return new Map(
    [...found].map(([name, { total, available, ...counters }]) => [
      name,
      { ...counters, memoryUsedBytes: total > 0 ? Math.max(0, total - available) : null },
    ]),
  )
}

function withPackets(counts: NetworkCounts, family: string, packets: number): NetworkCounts {
  const way = family === 'network_receive_packets_total' ? 'rxPackets' : 'txPackets'
  return { ...counts, [way]: (counts[way] ?? 0) + packets }
}

interface CardCounters {
  bytes_received: number
  bytes_sent: number
  packets_received: number
  packets_sent: number
}

/** Reads the counters from the state of an instance: a more expensive request, but up to date. */
export interface InstanceState {
  cpu?: { usage: number }
  memory?: { usage: number }
  disk?: Record<string, { usage: number }> | null
  network?: Record<string, { counters: CardCounters }> | null
}

export function countersOfState({ cpu, memory, network }: InstanceState): Counters {
  const card = network?.eth0?.counters
  return {
    ...NOTHING,
    cpuMs: cpu ? cpu.usage / 1e6 : null,
    memoryUsedBytes: memory && memory.usage > 0 ? memory.usage : null,
    networkRxBytes: card?.bytes_received ?? null,
    networkTxBytes: card?.bytes_sent ?? null,
    counts: card ? { ...UNCOUNTED, rxPackets: card.packets_received, txPackets: card.packets_sent } : null,
  }
}
