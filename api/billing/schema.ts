import Type, { type Static } from 'typebox'
import { CreatedAt, Currency, HourPrice, money, nullable, timestamp, uuid } from '../http/contract/fields.ts'
import { defineProblems } from '../http/contract/problem.ts'

export const billingProblems = defineProblems({
  insufficient_balance: {
    status: 402,
    title: 'The balance is too low',
    members: {
      required: money(
        'Balance that is needed: 24 hours of everything that the account has, with this',
        '9.87',
      ),
      available: money('Balance of the account', '0.00'),
    },
  },
})

const ServerId = uuid(
  '01a1fb45-1ac2-75b7-a056-9ee82769d403',
  'Id of the server, or of the public address, which may be deleted since',
)

export const Balance = Type.Object(
  {
    balance: money('Sum of all transactions; below zero if more was used than paid'),
    currency: Currency,
    cost_hour_rub: Type.String({
      ...HourPrice,
      description: 'Cost per hour of everything that is billed now, in rubles with four decimals',
    }),
    cost_month_rub: money('Cost per month of 730 hours of everything that is billed now'),
    hours_left: nullable(Type.Integer({ examples: [729] }), {
      description: 'Full hours that the balance will last; null if nothing is billed',
    }),
    top_up_to_resume_rub: nullable(money('What is missing for suspended servers to resume'), {
      description:
        'What is missing for suspended servers to resume, in rubles; null if none is suspended for want of money',
      examples: [null],
    }),
    generated_at: timestamp('The time that these figures are for'),
  },
  { title: 'Balance', description: 'What the account has left, and how fast it is used up' },
)
export type Balance = Static<typeof Balance>

export const Transaction = Type.Object(
  {
    transaction_id: uuid('01a1fb44-5a10-7c1d-8e4b-6d5c4b3a2f1e', 'Id of the transaction'),
    type: Type.Enum(['charge', 'payment', 'refund', 'correction'], {
      description: 'Why the balance changed: use (`charge`), or an entry by the operator',
    }),
    amount: money('Change of the balance; negative for charges', '-0.41'),
    balance_after: money('Balance after this transaction'),
    server_id: nullable(ServerId, {
      description: 'The server, or the public address, that is charged for; null for other transactions',
    }),
    description: Type.String({ description: 'What it is for, for people', examples: ['Server web-1'] }),
    created_at: CreatedAt,
  },
  { title: 'Transaction', description: 'An entry of the ledger; entries are never changed or deleted' },
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
    currency: Currency,
    amount: money('Sum of the charges for the hours of this month', '295.92'),
    items: Type.Array(
      Type.Object(
        {
          server_id: ServerId,
          server_name: Type.String({
            description: 'Its last name; of a public address the address',
            examples: ['web-1'],
          }),
          project_id: uuid(
            '01a1fb44-5997-73df-a23c-ea72e7720849',
            'The project that it was in when it was charged',
          ),
          hours: Type.Number({ description: 'Hours that were billed, to four decimals', examples: [720] }),
          amount: money('Sum of its charges, those for traffic included', '295.92'),
          traffic_amount: money('Sum of its charges for traffic', '0.00'),
        },
        { title: 'UsageItem', description: 'Cost of a server while it was in a project' },
      ),
      { description: 'One item for each server, or public address, and project' },
    ),
    traffic: Type.Array(
      Type.Object(
        {
          server_id: ServerId,
          server_name: Type.String({ description: 'Its last name', examples: ['web-1'] }),
          in_bytes: Type.Integer({ description: 'Bytes that came to it', examples: [48_318_382_080] }),
          out_bytes: Type.Integer({ description: 'Bytes that it sent', examples: [214_748_364_800] }),
        },
        { title: 'UsageTraffic', description: 'What a server got and sent in the month' },
      ),
      {
        description:
          'One item for each server that got or sent anything, counted outside of it every few seconds; kept for a year',
      },
    ),
    generated_at: timestamp('The time that these figures are for'),
  },
  { title: 'Usage', description: 'What a calendar month has cost so far' },
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
