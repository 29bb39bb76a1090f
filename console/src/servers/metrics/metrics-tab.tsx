import type { ServerMetrics } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useFormats } from '../../format.ts'
import { Button } from '../../ui/button.tsx'
import { Segments } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Chart } from './chart.tsx'
import { isRange, metricsQuery, ranges } from './queries.ts'
import { charts, csvOf, type Series, written } from './series.ts'
import { useMetricsText } from './text.ts'

const route = getRouteApi('/shell/servers/$serverId/metrics')

export function MetricsTab() {
  const t = useMetricsText()
  const { serverId } = route.useParams()
  const { range = '1h', from, to } = route.useSearch()
  const navigate = route.useNavigate()
  const [view, setView] = useState<'charts' | 'table'>('charts')
  const isZoomed = from !== undefined && to !== undefined
  const query = useQuery(metricsQuery(serverId, isZoomed ? { from, to } : range))
  const names = Object.keys(ranges)
    .filter(isRange)
    .map((value) => ({ value, title: t.ranges[value] }))
  const views = [
    { value: 'charts', title: t.charts },
    { value: 'table', title: t.table },
  ] as const
  return (
    <div className="stack">
      <div className="row between">
        <span className="row">
          <Segments
            label={t.range}
            value={range}
            options={names}
            onChange={(next) => void navigate({ search: { range: next }, replace: true })}
          />
          {isZoomed ? (
            <Button kind="quiet" onClick={() => void navigate({ search: { range } })}>
              {t.zoomedIn}
            </Button>
          ) : (
            <span className="muted small">{t.zoomHint}</span>
          )}
        </span>
        <span className="row">
          <Segments label={t.view} value={view} options={views} onChange={setView} />
          <Button disabled={!query.data} onClick={() => query.data && save(query.data)}>
            {t.csv}
          </Button>
        </span>
      </div>
      <Loaded query={query}>
        {(metrics) =>
          view === 'table' ? (
            <Numbers metrics={metrics} />
          ) : (
            <Charts
              metrics={metrics}
              onZoom={(first, last) =>
                void navigate({ search: { range, from: Math.floor(first), to: Math.ceil(last) } })
              }
            />
          )
        }
      </Loaded>
    </div>
  )
}

function save(metrics: ServerMetrics): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([csvOf(metrics)], { type: 'text/csv' }))
  link.download = `metrics-${metrics.server_id}.csv`
  link.click()
  URL.revokeObjectURL(link.href)
}

interface ChartsProps {
  metrics: ServerMetrics
  onZoom: (from: number, to: number) => void
}

function Charts({ metrics, onZoom }: ChartsProps) {
  const t = useMetricsText()
  const format = useFormats()
  const drawn = useMemo(
    () =>
      charts.map(({ title, names }) => {
        const wanted: readonly Series['name'][] = names
        return {
          title,
          series: metrics.series.filter(({ name }) => wanted.includes(name)),
          titles: wanted.map((name) => t.series[name]),
        }
      }),
    [metrics, t],
  )
  const [from, to] = [Date.parse(metrics.start) / 1000, Date.parse(metrics.end) / 1000]
  return (
    <div className="columns">
      {drawn.map(({ title, series, titles }) => {
        const last = series[0]?.points.at(-1)?.[1] ?? null
        const label = t.summary(t[title], written(format, series[0]?.unit ?? 'percent', last))
        return (
          <Card key={title} title={t[title]}>
            <Chart label={label} series={series} titles={titles} from={from} to={to} onZoom={onZoom} />
          </Card>
        )
      })}
    </div>
  )
}

/** A table of the same data for users who can't see charts. */
function Numbers({ metrics: { series } }: { metrics: ServerMetrics }) {
  const t = useMetricsText()
  const format = useFormats()
  const times = (series[0]?.points ?? []).map(([at], index) => ({ at, index })).reverse()
  return (
    <Table
      label={t.table}
      rows={times}
      idOf={({ at }) => String(at)}
      columns={[
        { title: t.time, cell: ({ at }) => format.exact(at * 1000) },
        ...series.map(({ name, unit, points }) => ({
          title: t.series[name],
          isNumber: true,
          cell: ({ index }: { index: number }) => written(format, unit, points[index]?.[1] ?? null),
        })),
      ]}
    />
  )
}
