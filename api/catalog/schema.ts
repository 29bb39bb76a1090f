import Type, { type Static } from 'typebox'
import { cpuTypes } from '../drivers/driver.ts'
import { HourPrice, Money, Timestamp, uuid } from '../http/fields.ts'
import { defineProblems } from '../http/problem.ts'

export const CpuTypeName = Type.Enum([...cpuTypes])

export const ZoneSlug = Type.String({ maxLength: 64, examples: ['local-1'] })

export const catalogProblems = defineProblems({
  capacity_unavailable: {
    status: 409,
    title: 'Not enough capacity for this plan',
    members: {
      max_server: Type.Object(
        {
          cpu: Type.Integer({ examples: [2] }),
          ram_mb: Type.Integer({ examples: [4096] }),
          disk_gb: Type.Integer({ examples: [40] }),
        },
        { description: 'The largest server that fits there now' },
      ),
      alternatives: Type.Array(Type.Object({ zone_slug: ZoneSlug, cpu_type: CpuTypeName }), {
        description: 'Where the plan fits now',
      }),
    },
  },
})

export const TemplateId = uuid('9ef5d402-7877-5f38-9a75-eb3232b25976')
export const PresetId = uuid('b9c43e68-d1e3-58c7-a042-2cef0167acdb')
export const size = {
  cpu: Type.Integer({ examples: [1] }),
  ram_mb: Type.Integer({ examples: [512] }),
  disk_gb: Type.Integer({ examples: [10] }),
}

export const Zone = Type.Object(
  {
    zone_slug: ZoneSlug,
    title: Type.String({ examples: ['Local'] }),
    city: Type.String({ examples: ['Local'] }),
    country_code: Type.String({ description: 'ISO 3166-1 alpha-2', examples: ['ZZ'] }),
    cpu_types: Type.Array(CpuTypeName),
    is_available: Type.Boolean({ description: 'Whether any server can be created here now' }),
  },
  { title: 'Zone' },
)
export type Zone = Static<typeof Zone>

export const Template = Type.Object(
  {
    template_id: TemplateId,
    slug: Type.String({ examples: ['debian-12'] }),
    title: Type.String({ examples: ['Debian 12 (bookworm)'] }),
    os_family: Type.String({ examples: ['debian'] }),
    min_disk_gb: Type.Integer({ examples: [5] }),
    default_username: Type.String({ description: 'Username for SSH', examples: ['debian'] }),
  },
  { title: 'Template' },
)
export type Template = Static<typeof Template>

export const Preset = Type.Object(
  {
    preset_id: PresetId,
    slug: Type.String({ examples: ['micro-1'] }),
    ...size,
    price_month_rub: Money,
    price_hour_rub: HourPrice,
    is_available: Type.Boolean({ description: 'Whether it can be ordered now' }),
  },
  { title: 'Preset' },
)
export type Preset = Static<typeof Preset>

export const Capacity = Type.Object(
  {
    zone_slug: ZoneSlug,
    cpu_type: CpuTypeName,
    is_available: Type.Boolean(),
    level: Type.Enum(['high', 'low', 'none']),
    max_server: Type.Object(size),
    updated_at: Timestamp,
  },
  { title: 'Capacity' },
)
export type Capacity = Static<typeof Capacity>

export const ZoneAndCpu = Type.Object({
  zone_slug: Type.String({ description: 'Zone', examples: ['local-1'] }),
  cpu_type: CpuTypeName,
})

const range = (min: number, max: number, step: number) =>
  Type.Object({
    min: Type.Integer({ examples: [min] }),
    max: Type.Integer({ examples: [max] }),
    step: Type.Integer({ examples: [step] }),
  })

export const Limits = Type.Object(
  {
    zone_slug: ZoneSlug,
    cpu_type: CpuTypeName,
    cpu: range(1, 16, 1),
    ram_mb: range(256, 65_536, 256),
    disk_gb: range(5, 500, 5),
    unit_prices: Type.Object({ cpu_month_rub: Money, ram_gb_month_rub: Money, disk_gb_month_rub: Money }),
  },
  { title: 'Limits' },
)
export type Limits = Static<typeof Limits>

export const CapacityFilter = Type.Object({
  zone_slug: Type.Optional(ZoneSlug),
  cpu_type: Type.Optional(CpuTypeName),
})
