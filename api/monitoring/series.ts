import type { ValueColumn } from './store.ts'

export const seriesTypes = ['cpu', 'memory', 'disk', 'network'] as const
export type SeriesType = (typeof seriesTypes)[number]

interface Series {
  name: string
  type: SeriesType
  unit: string
  /** The column of its values, and the factor that converts them to its unit. */
  column: ValueColumn
  scale: number
}

const MIB = 2 ** 20

/** All series of the metrics, in the order in which they are shown. */
export const seriesTable = [
  { name: 'cpu.usage', type: 'cpu', unit: 'percent', column: 'cpu', scale: 0.01 },
  { name: 'memory.used', type: 'memory', unit: 'bytes', column: 'memory_mb', scale: MIB },
  { name: 'disk.used', type: 'disk', unit: 'bytes', column: 'disk_mb', scale: MIB },
  { name: 'disk.read.bandwidth', type: 'disk', unit: 'bytes_per_second', column: 'disk_read', scale: 1 },
  { name: 'disk.write.bandwidth', type: 'disk', unit: 'bytes_per_second', column: 'disk_write', scale: 1 },
  { name: 'network.rx.bandwidth', type: 'network', unit: 'bytes_per_second', column: 'network_rx', scale: 1 },
  { name: 'network.tx.bandwidth', type: 'network', unit: 'bytes_per_second', column: 'network_tx', scale: 1 },
] as const satisfies readonly Series[]
