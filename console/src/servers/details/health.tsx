import type { ServerDetails, ServerMetrics } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { useFormats } from '../../format.ts'
import { Card } from '../../ui/page.tsx'
import { metricsQuery } from '../metrics/queries.ts'
import { statsQuery } from '../queries.ts'
import { Sparkline } from './sparkline.tsx'
import { useDetailsText } from './text.ts'

type Name = ServerMetrics['series'][number]['name']

/** Four small charts of the last hour, each with its current value. */
export function Health({ server }: { server: ServerDetails }) {
  const t = useDetailsText()
  const format = useFormats()
  const { data: stats } = useQuery(statsQuery(server.server_id))
  const { data: metrics } = useQuery(metricsQuery(server.server_id, '1h'))
  const points = (name: Name) => metrics?.series.find((series) => series.name === name)?.points ?? []
  const memory = stats?.memory.used_mb ?? null
  const charts = [
    { title: t.cpu, value: format.percent(stats?.cpu.usage_percent ?? null), name: 'cpu.usage', most: 100 },
    {
      title: t.memory,
      value:
        memory === null ? format.ram(server.ram_mb) : t.of(format.ram(memory), format.ram(server.ram_mb)),
      name: 'memory.used',
      most: server.ram_mb * 1024 ** 2,
    },
    {
      title: t.disk,
      value: format.rate(stats?.disk.write_bytes_per_second ?? null),
      name: 'disk.write.bandwidth',
      most: null,
    },
    {
      title: t.network,
      value: format.rate(stats?.network.rx_bytes_per_second ?? null),
      name: 'network.rx.bandwidth',
      most: null,
    },
  ] as const
  return (
    <Card title={t.health}>
      <div className="health">
        {charts.map(({ title, value, name, most }) => (
          <div key={name}>
            <span className="muted small">{title}</span>
            <strong>{value}</strong>
            <Sparkline points={points(name)} most={most} />
          </div>
        ))}
      </div>
    </Card>
  )
}
