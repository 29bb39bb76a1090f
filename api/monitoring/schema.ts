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
        description: 'Of all cores together; 100 is all of them busy',
        examples: [12.5],
      }),
    ),
  }),
  memory: Type.Object({
    total_mb: Type.Integer({ examples: [512] }),
    used_mb: nullable(
      Type.Number({
        minimum: 0,
        description: 'As the guest says, without what it could give back at once',
        examples: [181.3],
      }),
    ),
  }),
  disk: Type.Object({
    total_gb: Type.Integer({ examples: [10] }),
    used_gb: nullable(
      Type.Number({
        minimum: 0,
        description: 'What it has written of its disk; the image below is not counted',
        examples: [0.42],
      }),
    ),
    read_bytes_total: count('Since the server was made'),
    write_bytes_total: count('Since the server was made'),
    read_bytes_per_second: rate('Since the last sample'),
    write_bytes_per_second: rate('Since the last sample'),
  }),
  network: Type.Object({
    rx_bytes_total: count('Received since the server was made'),
    tx_bytes_total: count('Sent since the server was made'),
    rx_bytes_per_second: rate('Received since the last sample'),
    tx_bytes_per_second: rate('Sent since the last sample'),
  }),
}
const Figures = Type.Object(figures)
export type Figures = Static<typeof Figures>

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

export const MetricsQuery = Type.Object({
  start: time('Without it an hour before the end'),
  end: time('Without it now'),
  step: Type.Optional(
    Type.Integer({
      minimum: 10,
      maximum: LONGEST_SPAN,
      description: 'Seconds from point to point; without it one that makes at most 200 points',
    }),
  ),
  type: Type.Optional(
    Type.String({
      description: `Of ${seriesTypes.join(', ')}, those that are wanted, with commas; all without it`,
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
  description:
    'When, in seconds since the epoch, and the mean from then to the next point; null is not known',
})

export const ServerMetrics = Type.Object(
  {
    server_id: uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403'),
    start: Type.String({ ...Timestamp, examples: ['2026-11-20T11:00:00.000Z'] }),
    end: Timestamp,
    step: Type.Integer({ description: 'Seconds from point to point, as was used', examples: [20] }),
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
