import Type, { type Static } from 'typebox'
import { cpuTypes } from '../drivers/driver.ts'
import { HourPrice, Money, Timestamp, Uuid } from '../http/fields.ts'

export const CpuTypeName = Type.Enum([...cpuTypes])

export const Zone = Type.Object(
  {
    zone_slug: Type.String(),
    title: Type.String(),
    city: Type.String(),
    country_code: Type.String({ description: 'ISO 3166-1 alpha-2' }),
    cpu_types: Type.Array(CpuTypeName),
    is_available: Type.Boolean({ description: 'Whether any server can be made here now' }),
  },
  { title: 'Zone' },
)
export type Zone = Static<typeof Zone>

export const Template = Type.Object(
  {
    template_id: Uuid,
    slug: Type.String(),
    title: Type.String(),
    os_family: Type.String(),
    min_disk_gb: Type.Integer(),
    default_username: Type.String({ description: 'Who logs in with ssh' }),
  },
  { title: 'Template' },
)
export type Template = Static<typeof Template>

export const Preset = Type.Object(
  {
    preset_id: Uuid,
    slug: Type.String(),
    cpu: Type.Integer(),
    ram_mb: Type.Integer(),
    disk_gb: Type.Integer(),
    price_month_rub: Money,
    price_hour_rub: HourPrice,
    is_available: Type.Boolean({ description: 'Whether it can be ordered now' }),
  },
  { title: 'Preset' },
)
export type Preset = Static<typeof Preset>

const Size = Type.Object({ cpu: Type.Integer(), ram_mb: Type.Integer(), disk_gb: Type.Integer() })

export const Capacity = Type.Object(
  {
    zone_slug: Type.String(),
    cpu_type: CpuTypeName,
    is_available: Type.Boolean(),
    level: Type.Enum(['high', 'low', 'none']),
    max_server: Size,
    updated_at: Timestamp,
  },
  { title: 'Capacity' },
)
export type Capacity = Static<typeof Capacity>

export const ZoneAndCpu = Type.Object({
  zone_slug: Type.String({ description: 'Code of a zone' }),
  cpu_type: CpuTypeName,
})

const Range = Type.Object({ min: Type.Integer(), max: Type.Integer(), step: Type.Integer() })

export const Limits = Type.Object(
  {
    zone_slug: Type.String(),
    cpu_type: CpuTypeName,
    cpu: Range,
    ram_mb: Range,
    disk_gb: Range,
    unit_prices: Type.Object({ cpu_month_rub: Money, ram_gb_month_rub: Money, disk_gb_month_rub: Money }),
  },
  { title: 'Limits' },
)
export type Limits = Static<typeof Limits>

export const CapacityFilter = Type.Object({
  zone_slug: Type.Optional(Type.String()),
  cpu_type: Type.Optional(CpuTypeName),
})
