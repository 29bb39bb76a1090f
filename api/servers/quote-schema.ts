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
        code: Type.Enum(['cpu', 'ram', 'disk', 'preset', 'ipv4'], {
          description: 'What it is the price of',
          examples: ['preset'],
        }),
        quantity: Type.Number({ description: 'How many units', examples: [1] }),
        unit: Type.Enum(['core', 'gb', 'preset', 'address'], {
          description: 'What one unit is',
          examples: ['preset'],
        }),
        price_unit_month_rub: money('Price of one unit per month'),
        price_month_rub: money('Price of all units per month'),
      }),
      { description: 'What the price is the sum of' },
    ),
    is_available: Type.Boolean({ description: 'Whether there is enough capacity for it now' }),
    can_create: Type.Boolean({ description: 'Whether creating it would succeed now' }),
    blockers: Type.Array(
      Type.Object({
        code: Type.String({ description: 'Code of the problem that creating it would reply with' }),
        detail: Type.String({ description: 'What stands in the way, for people' }),
      }),
      { description: 'Why it cannot be created now; empty if it can', examples: [[]] },
    ),
    quoted_at: timestamp('When it was quoted; prices and room may change afterwards'),
  },
  { title: 'Quote', description: 'The price of a server, and whether it can be created' },
)
export type Quote = Static<typeof Quote>
