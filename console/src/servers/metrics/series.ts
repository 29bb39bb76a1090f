import type { ServerMetrics } from '@berth/sdk'
import type { Formats } from '../../format.ts'

export type Series = ServerMetrics['series'][number]

/** The charts, and their series. */
export const charts = [
  { title: 'cpu', names: ['cpu.usage'] },
  { title: 'memory', names: ['memory.used'] },
  { title: 'disk', names: ['disk.read.bandwidth', 'disk.write.bandwidth'] },
  { title: 'network', names: ['network.rx.bandwidth', 'network.tx.bandwidth'] },
] as const satisfies readonly { title: string; names: readonly Series['name'][] }[]

export function written(format: Formats, unit: Series['unit'], value: number | null): string {
  if (unit === 'percent') return format.percent(value)
  return unit === 'bytes' ? format.bytes(value) : format.rate(value)
}

/** All series side by side, by time; missing values are empty. */
export function csvOf({ series }: ServerMetrics): string {
  const times = series[0]?.points.map(([at]) => at) ?? []
  const head = ['time', ...series.map(({ name, unit }) => `${name} (${unit})`)]
  const rows = times.map((at, index) => [
    new Date(at * 1000).toISOString(),
    ...series.map(({ points }) => points[index]?.[1] ?? ''),
  ])
  return [head, ...rows].map((row) => row.join(',')).join('\n')
}
