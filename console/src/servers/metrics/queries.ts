import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { berth } from '../../client.ts'

const HOUR_MS = 3_600_000

/** The time span of a chart, by its name in the page's address. */
export const ranges = {
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 168 * HOUR_MS,
  '30d': 720 * HOUR_MS,
}
export type RangeName = keyof typeof ranges

export const isRange = (name: unknown): name is RangeName =>
  typeof name === 'string' && Object.hasOwn(ranges, name)

/** A time span up to this moment, or one that was selected by dragging, in seconds. */
export type Period = RangeName | { from: number; to: number }

export const metricsQuery = (id: string, period: Period) =>
  queryOptions({
    queryKey: ['metrics', id, period],
    queryFn: ({ signal }) => berth.servers.metrics(id, boundsOf(period), { signal }),
    refetchInterval: typeof period === 'string' ? (period === '1h' ? 15_000 : 60_000) : false,
    placeholderData: keepPreviousData,
  })

function boundsOf(period: Period): { start: string; end: string } {
  const now = Date.now()
  const [start, end] =
    typeof period === 'string' ? [now - ranges[period], now] : [period.from * 1000, period.to * 1000]
  return { start: new Date(start).toISOString(), end: new Date(end).toISOString() }
}
