import Type, { type Static } from 'typebox'
import { HourPrice, Money, nullable, Timestamp, Uuid } from '../http/fields.ts'

export const Balance = Type.Object(
  {
    balance: Money,
    currency: Type.Enum(['RUB']),
    cost_hour_rub: HourPrice,
    cost_month_rub: Money,
    hours_left: nullable(
      Type.Integer({ description: 'Whole hours that the balance lasts; null when nothing is billed' }),
    ),
    generated_at: Timestamp,
  },
  { title: 'Balance' },
)
export type Balance = Static<typeof Balance>

export const Transaction = Type.Object(
  {
    transaction_id: Uuid,
    type: Type.Enum(['charge', 'payment', 'refund', 'correction']),
    amount: Money,
    balance_after: Money,
    server_id: nullable(Uuid),
    description: Type.String(),
    created_at: Timestamp,
  },
  { title: 'Transaction' },
)
export type Transaction = Static<typeof Transaction>

const Month = Type.String({
  examples: ['2026-11'],
  pattern: String.raw`^20\d\d-(0[1-9]|1[0-2])$`,
  description: 'A calendar month in UTC, such as 2026-11',
  errorMessage: 'must be a month such as 2026-11.',
})

export const UsageQuery = Type.Object({
  month: Type.Optional(Month),
})
export type UsageQuery = Static<typeof UsageQuery>

export const Usage = Type.Object(
  {
    month: Month,
    currency: Type.Enum(['RUB']),
    amount: Type.String({
      ...Money,
      description: 'What the hours of this month were charged with, all together',
    }),
    items: Type.Array(
      Type.Object(
        {
          server_id: Uuid,
          server_name: Type.String(),
          project_id: Uuid,
          hours: Type.Number({ description: 'Hours that were billed, to four decimals' }),
          amount: Money,
        },
        { title: 'UsageItem', description: 'What a server cost while it was in a project' },
      ),
    ),
    generated_at: Timestamp,
  },
  { title: 'Usage' },
)
export type Usage = Static<typeof Usage>

export const UsageCsv = Type.String({
  description: 'RFC 4180, with a header line',
  examples: [
    [
      'month,server_id,server_name,project_id,hours,amount_rub',
      '2026-11,01a1fb45-1ac2-75b7-a056-9ee82769d403,web-1,01a1fb44-5997-73df-a23c-ea72e7720849,720.0000,295.92',
      '',
    ].join('\r\n'),
  ],
})
