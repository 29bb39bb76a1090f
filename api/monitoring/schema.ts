import Type, { type Static } from 'typebox'
import { nullable, Timestamp, uuid } from '../http/fields.ts'
import { seriesTable, seriesTypes } from './series.ts'
import { LONGEST_SPAN } from './tiers.ts'

const count = (description: string) =>
  nullable(Type.Integer({ minimum: 0, description, examples: [52_428_800] }))
const rate = (description: string) => nullable(Type.Number({ minimum: 0, description, examples: [4096] }))

/** What a server's machine has and uses. */
export const figures = {
  collected_at: Timestamp,
  cpu: Type.Object({
    cores: Type.Integer({ examples: [1] }),
    usage_percent: nullable(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description: 'Of all cores together; 100 means all are busy',
        examples: [12.5],
      }),
    ),
  }),
  memory: Type.Object({
    total_mb: Type.Integer({ examples: [512] }),
    used_mb: nullable(
      Type.Number({
        minimum: 0,
        description: 'As the guest reports it, without what it could free at once',
        examples: [181.3],
      }),
    ),
  }),
  disk: Type.Object({
    total_gb: Type.Integer({ examples: [10] }),
    used_gb: nullable(
      Type.Number({
        minimum: 0,
        description: 'Data written to the disk, without the image below it',
        examples: [0.42],
      }),
    ),
    read_bytes_total: count('Since the server was created'),
    write_bytes_total: count('Since the server was created'),
    read_bytes_per_second: rate('Since the last sample'),
    write_bytes_per_second: rate('Since the last sample'),
  }),
  network: Type.Object({
    rx_bytes_total: count('Received since the server was created'),
    tx_bytes_total: count('Sent since the server was created'),
    rx_bytes_per_second: rate('Received since the last sample'),
    tx_bytes_per_second: rate('Sent since the last sample'),
  }),
}
const Figures = Type.Object(figures)
export type Figures = Static<typeof Figures>

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

export const MetricsQuery = Type.Object({
  start: time('Default: one hour before the end'),
  end: time('Default: now'),
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
  items: false,
  minItems: 2,
  maxItems: 2,
  examples: [[1_795_172_400, 12.5]],
  description: 'Time in seconds since the epoch, and the mean from then to the next point; null if unknown',
})

export const ServerMetrics = Type.Object(
  {
    server_id: uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403'),
    start: Type.String({ ...Timestamp, examples: ['2026-11-20T11:00:00.000Z'] }),
    end: Timestamp,
    step: Type.Integer({ description: 'Seconds between points', examples: [20] }),
    series: Type.Array(
      Type.Object({
        name: Type.Enum(seriesTable.map(({ name }) => name)),
        type: Type.Enum([...seriesTypes]),
        unit: Type.Enum([...new Set(seriesTable.map(({ unit }) => unit))]),
        points: Type.Array(Point),
      }),
    ),
  },
  { title: 'ServerMetrics' },
)
export type ServerMetrics = Static<typeof ServerMetrics>
