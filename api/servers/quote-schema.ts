import Type, { type Static } from 'typebox'
import { CpuTypeName, PresetId, size, traffic, ZoneSlug } from '../catalog/schema.ts'
import { Currency, HourPrice, MonthPrice, money, nullable, timestamp } from '../http/contract/fields.ts'
import { PlanType } from './schema.ts'

export const Quote = Type.Object(
  {
    zone_slug: ZoneSlug,
    cpu_type: CpuTypeName,
    plan_type: PlanType,
    preset_id: nullable(PresetId, { description: 'The preset; null for a custom plan' }),
    ...size,
    currency: Currency,
    price_hour_rub: HourPrice,
    price_month_rub: MonthPrice,
    ...traffic,
    items: Type.Array(
      Type.Object({
        code: Type.Enum(['cpu', 'ram', 'disk', 'preset', 'ipv4', 'backups'], {
          description: 'Part of the plan that the price is for',
          examples: ['preset'],
        }),
        quantity: Type.Number({ description: 'Number of units', examples: [1] }),
        unit: Type.Enum(['core', 'gb', 'preset', 'address', 'server'], {
          description: 'The unit',
          examples: ['preset'],
        }),
        price_unit_month_rub: money('Price of one unit per month'),
        price_month_rub: money('Price of all units per month'),
      }),
      { description: 'Items that add up to the price' },
    ),
    is_available: Type.Boolean({ description: 'Whether there is enough capacity for it now' }),
    can_create: Type.Boolean({ description: 'Whether creating it would succeed now' }),
    blockers: Type.Array(
      Type.Object({
        code: Type.String({ description: 'Error code that creating the server would return' }),
        detail: Type.String({ description: 'Explanation of the obstacle, for people' }),
      }),
      { description: 'Why it cannot be created now; empty if it can', examples: [[]] },
    ),
    quoted_at: timestamp('When it was quoted; prices and capacity may change afterwards'),
  },
  { title: 'Quote', description: 'The price of a server, and whether it can be created' },
)
export type Quote = Static<typeof Quote>
