import type { ServerMetrics } from '../monitoring/schema.ts'
import { answer, type HcloudRoute } from './exchange.ts'

/** The series of /v1 under the names that these clients know. */
const names: Readonly<Record<string, string>> = {
  'cpu.usage': 'cpu',
  'disk.read.bandwidth': 'disk.0.bandwidth.read',
  'disk.write.bandwidth': 'disk.0.bandwidth.write',
  'network.rx.bandwidth': 'network.0.bandwidth.in',
  'network.tx.bandwidth': 'network.0.bandwidth.out',
}

export const metricRoutes: HcloudRoute[] = [
  answer({
    method: 'GET',
    path: '/servers/:id/metrics',
    run: async (x) => {
      const { server_id } = await x.server()
      const asked = ['start', 'end', 'step'].flatMap((name) => {
        const value = x.query.get(name)
        return value === null ? [] : [[name, value] as const]
      })
      const query = { ...Object.fromEntries(asked), type: x.query.getAll('type').join(',') || 'cpu' }
      const { start, end, step, series } = await x.v1<ServerMetrics>('getServerMetrics', {
        params: { server_id },
        query,
      })
      const known = series.flatMap(({ name, points }) => {
        const own = names[name]
        const values = points.flatMap(([at, value]) => (value === null ? [] : [[at, String(value)] as const]))
        // hcloud 1.30 draws a line, and panics if a series has a single point.
        return own === undefined ? [] : [[own, { values: values.length === 1 ? [] : values }] as const]
      })
      return { metrics: { start, end, step, time_series: Object.fromEntries(known) } }
    },
  }),
]
