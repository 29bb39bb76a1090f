import Type, { type Static } from 'typebox'
import { HourPrice, Money, nullable, Timestamp, uuid } from '../http/fields.ts'
import { defineProblems } from '../http/problem.ts'

export const billingProblems = defineProblems({
  insufficient_balance: {
    status: 402,
    title: 'The balance is too low',
    members: {
      required: Type.String({ ...Money, description: 'Rubles that are needed', examples: ['9.87'] }),
      available: Type.String({ ...Money, description: 'Rubles of the balance', examples: ['0.00'] }),
    },
  },
})

const ServerId = uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403')

export const Balance = Type.Object(
  {
    balance: Money,
    currency: Type.Enum(['RUB']),
    cost_hour_rub: HourPrice,
    cost_month_rub: Money,
    hours_left: nullable(
      Type.Integer({
        description: 'Full hours that the balance will last; null if nothing is billed',
        examples: [729],
      }),
    ),
    generated_at: Timestamp,
  },
  { title: 'Balance' },
)
export type Balance = Static<typeof Balance>

export const Transaction = Type.Object(
  {
    transaction_id: uuid('01a1fb44-5a10-7c1d-8e4b-6d5c4b3a2f1e'),
    type: Type.Enum(['charge', 'payment', 'refund', 'correction']),
    amount: Money,
    balance_after: Money,
    server_id: nullable(ServerId),
    description: Type.String({ examples: ['Server web-1'] }),
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
      description: 'Sum of the charges for the hours of this month',
    }),
    items: Type.Array(
      Type.Object(
        {
          server_id: ServerId,
          server_name: Type.String({ examples: ['web-1'] }),
          project_id: uuid('01a1fb44-5997-73df-a23c-ea72e7720849'),
          hours: Type.Number({ description: 'Hours that were billed, to four decimals', examples: [720] }),
          amount: Money,
        },
        { title: 'UsageItem', description: 'Cost of a server while it was in a project' },
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
