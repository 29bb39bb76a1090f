import Type, { type Static } from 'typebox'
import { nullable, timestamp, uuid } from '../http/contract/fields.ts'
import { seriesTable, seriesTypes } from './series.ts'
import { LONGEST_SPAN } from './tiers.ts'

const UNKNOWN = 'null if it cannot be measured'
const count = (what: string) =>
  nullable(Type.Integer({ minimum: 0, examples: [52_428_800] }), {
    description: `Bytes ${what} since the server was created; ${UNKNOWN}`,
  })
const rate = (what: string) =>
  nullable(Type.Number({ minimum: 0, examples: [4096] }), {
    description: `Bytes per second ${what} since the last sample, a few seconds ago; ${UNKNOWN}`,
  })

/** Resources of a server's machine, and their usage. */
export const figures = {
  collected_at: timestamp('When it was measured'),
  cpu: Type.Object(
    {
      cores: Type.Integer({ description: 'Cores of the server', examples: [1] }),
      usage_percent: nullable(Type.Number({ minimum: 0, maximum: 100, examples: [12.5] }), {
        description: `Usage of all cores together: at 100 all are busy; ${UNKNOWN}`,
      }),
    },
    { description: 'Processor' },
  ),
  memory: Type.Object(
    {
      total_mb: Type.Integer({ description: 'Memory of the server in MB', examples: [512] }),
      used_mb: nullable(Type.Number({ minimum: 0, examples: [181.3] }), {
        description: `MB in use as the guest reports it, without caches that it could free at once; ${UNKNOWN}`,
      }),
    },
    { description: 'Memory' },
  ),
  disk: Type.Object(
    {
      total_gb: Type.Integer({ description: 'Size of the disk in GB', examples: [10] }),
      used_gb: nullable(Type.Number({ minimum: 0, examples: [0.42] }), {
        description: `GB that the server has written to, without the image below its disk; ${UNKNOWN}`,
      }),
      read_bytes_total: count('read'),
      write_bytes_total: count('written'),
      read_bytes_per_second: rate('read'),
      write_bytes_per_second: rate('written'),
    },
    { description: 'Disk' },
  ),
  network: Type.Object(
    {
      rx_bytes_total: count('received'),
      tx_bytes_total: count('sent'),
      rx_bytes_per_second: rate('received'),
      tx_bytes_per_second: rate('sent'),
    },
    { description: 'Network, counted outside of the guest' },
  ),
}
const Figures = Type.Object(figures)
export type Figures = Static<typeof Figures>

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

export const MetricsQuery = Type.Object({
  start: time('Beginning of the period; default: one hour before `end`'),
  end: time('End of the period, after `start` and at most 30 days from it; default: now'),
  step: Type.Optional(
    Type.Integer({
      minimum: 10,
      maximum: LONGEST_SPAN,
      description: 'Seconds between points; by default such that there are at most 200 points',
    }),
  ),
  type: Type.Optional(
    Type.String({
      description: `One or more of ${seriesTypes.join(', ')}, separated by commas; default: all`,
    }),
  ),
})
export type MetricsQuery = Static<typeof MetricsQuery>

const Point = Type.Unsafe<[number, number | null]>({
  type: 'array',
  prefixItems: [{ type: 'integer' }, { anyOf: [{ type: 'number' }, { type: 'null' }] }],
  // A point has exactly two items. Spectral refuses `items: false`, and client generators take most other
  // schemas for a third item.
  items: { anyOf: [{ type: 'integer' }, { type: 'number' }] },
  minItems: 2,
  maxItems: 2,
  examples: [[1_795_172_400, 12.5]],
  description: 'Time in seconds since the epoch, and the mean from then to the next point; null if unknown',
})

export const ServerMetrics = Type.Object(
  {
    server_id: uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403', 'Id of the server'),
    start: timestamp('Beginning of the period', '2026-11-20T11:00:00.000Z'),
    end: timestamp('End of the period'),
    step: Type.Integer({
      description: 'Seconds between points; may be more than requested',
      examples: [20],
    }),
    series: Type.Array(
      Type.Object({
        name: Type.Enum(
          seriesTable.map(({ name }) => name),
          { description: 'Name of the metric' },
        ),
        type: Type.Enum([...seriesTypes], { description: 'Type of the series, as in the query' }),
        unit: Type.Enum([...new Set(seriesTable.map(({ unit }) => unit))], {
          description: 'Unit of its values',
        }),
        points: Type.Array(Point, { description: 'Oldest first, at multiples of `step`' }),
      }),
      { description: 'One series for each thing that was measured' },
    ),
  },
  { title: 'ServerMetrics', description: 'The resource usage of a server over a period' },
)
export type ServerMetrics = Static<typeof ServerMetrics>
