import type { ServerMetrics } from '@berth/sdk'
import { Command, Option } from 'commander'
import { chart, mean } from '../chart.ts'
import { idOf } from '../find.ts'
import { repeatedOf, wholeNumber } from '../flags.ts'
import { styled } from '../output.ts'
import { action, type Session } from '../session.ts'
import { bytes, bytesPerSecond, percent } from '../units.ts'

/** Where the terminal does not say how wide it is. */
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
    .description('what a server has used over time, as charts')
    .argument('<server>', 'name or id')
    .addOption(new Option('--since <span>', 'how far back').choices(Object.keys(spans)).default('1h'))
    .addOption(
      new Option('--type <type>', 'which chart; again for each; all without it')
        .choices(types)
        .argParser(repeatedOf(types)),
    )
    .option(
      '--step <seconds>',
      'from point to point; without it one that makes at most 200 points',
      wholeNumber,
    )
    .action(
      action(async (session, given: string, { since, type, step }: MetricsOptions) => {
        const { berth, format, terminal, show } = session
        const server_id = await idOf(berth, 'server', given)
        // The service's clock counts: by one that is fast, 30 days would begin before there can be metrics.
        const [{ collected_at: end }, { created_at }] = await Promise.all([
          berth.servers.stats(server_id),
          berth.servers.get(server_id),
        ])
        const asked = new Date(Date.parse(end) - spans[since] * 1000).toISOString()
        const start = format === 'table' ? startOfChart(asked, created_at, end) : asked
        const metrics = await berth.servers.metrics(server_id, { start, end, step, type: type?.join() })
        if (format !== 'table') return show(metrics, {})
        terminal.stdout.write(charts(session, metrics))
      }),
    )
}

/** Before it was created a server has nothing to show; one that was just now gets a minute. */
function startOfChart(asked: string, created: string, end: string): string {
  const latest = Date.parse(end) - MINUTE
  return new Date(Math.min(Math.max(Date.parse(asked), Date.parse(created)), latest)).toISOString()
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

/** `2026-11-21T12:00Z`: seconds are below what a chart shows. */
const minute = (at: string) => at.replace(/:\d\d(\.\d+)?Z$/, 'Z')
