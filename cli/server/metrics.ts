import type { ServerMetrics } from '@berth/sdk'
import { Command, Option } from 'commander'
import { chart, mean } from '../chart.ts'
import { idOf } from '../find.ts'
import { repeatedOf, wholeNumber } from '../flags.ts'
import { styled } from '../output.ts'
import { action, type Session } from '../session.ts'
import { bytes, bytesPerSecond, percent } from '../units.ts'
import { serverKind } from './kind.ts'

/** The default when the terminal does not report its width. */
const WIDTH = 80
const MINUTE = 60_000

const spans = { '1h': 3_600, '24h': 86_400, '7d': 7 * 86_400, '30d': 30 * 86_400 }

const types: Series['type'][] = ['cpu', 'memory', 'disk', 'network']

interface MetricsOptions {
  since: keyof typeof spans
  type?: Series['type'][]
  step?: number
}

type Series = ServerMetrics['series'][number]

export function metricsCommand(): Command {
  return new Command('metrics')
    .description('chart the resource usage of a server')
    .argument('<server>', 'name or id')
    .addOption(
      new Option('--since <span>', 'start of the chart, as the time before now')
        .choices(Object.keys(spans))
        .default('1h'),
    )
    .addOption(
      new Option('--type <type>', 'chart to show (repeatable; default: all)')
        .choices(types)
        .argParser(repeatedOf(types)),
    )
    .option(
      '--step <seconds>',
      'seconds between points (default: chosen for at most 200 points)',
      wholeNumber,
    )
    .action(
      action(async (session, given: string, { since, type, step }: MetricsOptions) => {
        const { berth, format, terminal, show } = session
        const server_id = await idOf(berth, serverKind, given)
        // By the service's clock: with a fast local one, 30 days back would be before any metrics.
        const [{ collected_at: end }, { created_at }] = await Promise.all([
          berth.servers.stats(server_id),
          berth.servers.get(server_id),
        ])
        const requested = new Date(Date.parse(end) - spans[since] * 1000).toISOString()
        const start = format === 'table' ? startOfChart(requested, created_at, end) : requested
        const metrics = await berth.servers.metrics(server_id, { start, end, step, type: type?.join() })
        if (format !== 'table') return show(metrics, {})
        terminal.stdout.write(charts(session, metrics))
      }),
    )
}

/** Starts no earlier than the server's creation, but shows at least a minute. */
function startOfChart(requested: string, created: string, end: string): string {
  const latest = Date.parse(end) - MINUTE
  return new Date(Math.min(Math.max(Date.parse(requested), Date.parse(created)), latest)).toISOString()
}

function charts({ terminal: { stdout } }: Session, { start, end, series }: ServerMetrics): string {
  const width = stdout.columns ?? WIDTH
  return series
    .map(({ name, unit, points }) => {
      const label = labels[unit]
      const values = points.map(([, value]) => value)
      const title = `${styled(name, 'bold', stdout)}  ${summaryOf(values, label)}`
      const lines = chart(values, { width, label, start: minute(start), end: minute(end) })
      return [title, ...lines].map((line) => `${line}\n`).join('')
    })
    .join('\n')
}

const labels: Record<Series['unit'], (value: number) => string> = {
  percent,
  bytes,
  bytes_per_second: bytesPerSecond,
}

function summaryOf(values: (number | null)[], label: (value: number) => string): string {
  const known = values.filter((value) => value !== null)
  const average = mean(known)
  if (average === null) return 'not measured'
  return `min ${label(Math.min(...known))}, mean ${label(average)}, max ${label(Math.max(...known))}`
}

/** `2026-11-21T12:00Z`: seconds are too fine for a chart. */
const minute = (at: string) => at.replace(/:\d\d(\.\d+)?Z$/, 'Z')
