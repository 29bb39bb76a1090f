import Type, { type Static } from 'typebox'
import { secondCurrency } from '../catalog/schema.ts'
import { CreatedAt, Currency, HourPrice, money, nullable, timestamp, uuid } from '../http/contract/fields.ts'
import { defineProblems } from '../http/contract/problem.ts'
import { itemTypes } from './tables.ts'

export const billingProblems = defineProblems({
  insufficient_balance: {
    status: 402,
    title: 'The balance is too low',
    members: {
      required: money(
        'Balance that is required: 24 hours of everything that the account pays for, including this',
        '9.87',
      ),
      available: money('Balance of the account and its credit limit', '0.00'),
    },
  },
})

const ITEM_TYPE =
  'Type of the item that was charged for: a server, a public address, a snapshot or an image. More types will be added; show an unknown type by its name.'
const ITEM_ID =
  'Id of the item: a `server_id`, an `address_id`, a `snapshot_id`, an `image_id` or an `iso_id`, by `item_type`. The item may be deleted by now.'
const ITEM_NAME = 'Most recent name of the server, snapshot or image, or the public address itself'
export const Hours = Type.Number({ description: 'Hours that were billed, to four decimals', examples: [720] })
const NO_CHARGE = 'null if the transaction is not a charge'
export const ItemType = Type.Enum([...itemTypes], { description: ITEM_TYPE, examples: ['server'] })
export const ItemId = uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403', ITEM_ID)
const ItemName = Type.String({ description: ITEM_NAME, examples: ['web-1'] })
const ServerId = uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403', 'Id of the server, which may be deleted by now')
const ItemServerId = nullable(ServerId, {
  description: 'The same as `item_id` if the item is a server; null if it is not, or if there is no item',
})

export const Balance = Type.Object(
  {
    balance: money('Sum of all transactions; negative if the account owes money'),
    credit_limit_rub: money('Amount that the account may owe; 0.00 if it pays in advance', '0.00'),
    currency: Currency,
    cost_hour_rub: Type.String({
      ...HourPrice,
      description: 'Cost per hour of everything that is billed now, in rubles with four decimals',
    }),
    cost_month_rub: money('Cost per month of 730 hours of everything that is billed now'),
    hours_left: nullable(Type.Integer({ examples: [729] }), {
      description: 'Full hours that the balance and the credit limit will last; null if nothing is billed',
    }),
    top_up_to_resume_rub: nullable(money('Amount to pay before suspended servers resume'), {
      description:
        'Amount to pay before suspended servers resume, in rubles; null if none is suspended because of the balance',
      examples: [null],
    }),
    top_up_url: nullable(Type.String({ examples: ['https://pay.example.com/'] }), {
      description: 'Page where the account is topped up; null if the operator has none: contact them',
      examples: [null],
    }),
    second_currency: secondCurrency,
    takes_transfers: Type.Boolean({
      description: 'True if the account can be topped up by bank transfer: `POST /account/transfers`',
      examples: [false],
    }),
    generated_at: timestamp('The time that these figures are for'),
  },
  { title: 'Balance', description: 'The balance of the account, and how long it will last' },
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
    item_type: nullable(ItemType, {
      description: `${ITEM_TYPE} It is ${NO_CHARGE}.`,
      examples: ['server'],
    }),
    item_id: nullable(ItemId, { description: `${ITEM_ID} It is ${NO_CHARGE}.` }),
    item_name: nullable(ItemName, { description: `${ITEM_NAME}; ${NO_CHARGE}` }),
    server_id: ItemServerId,
    hour: nullable(timestamp('Start of the hour'), {
      description: `Start of the hour in which the charged time begins, of several charges that of the first; ${NO_CHARGE}`,
      examples: ['2026-11-20T13:00:00.000Z'],
    }),
    seconds: nullable(Type.Integer({ examples: [3600] }), {
      description: `Length of the charged time in seconds; ${NO_CHARGE}`,
    }),
    traffic_bytes: nullable(Type.Integer({ examples: [12_345_000_000] }), {
      description:
        'Traffic that was charged for in this time, in bytes; null if the charge is for the time itself, and for other transactions',
      examples: [null],
    }),
    description: Type.String({
      description:
        'Short text in English: for a charge its hour and time or traffic, for several charges their first and last hour, otherwise the text of the operator',
      examples: ['2026-11-20 13:00 UTC, 1 h'],
    }),
    created_at: CreatedAt,
  },
  {
    title: 'Transaction',
    description:
      'An entry of the ledger. Entries are never changed or deleted, but charges are rolled up when they are as old as the operator says, usually a year: those for an item that no other entry divides become one, and no balance changes.',
  },
)
export type Transaction = Static<typeof Transaction>

export const Month = Type.String({
  examples: ['2026-11'],
  pattern: String.raw`^20\d\d-(0[1-9]|1[0-2])$`,
  description: 'A calendar month in UTC, such as 2026-11',
  errorMessage: 'must be a month such as 2026-11.',
})

/** The most items of one reply. An account can reserve and release addresses all day, and each leaves an item. */
export const MOST_ITEMS = 5_000

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
          item_type: ItemType,
          item_id: ItemId,
          item_name: ItemName,
          server_id: ItemServerId,
          server_name: nullable(ItemName, {
            description: 'The same as `item_name` if the item is a server, else null',
          }),
          project_id: uuid(
            '01a1fb44-5997-73df-a23c-ea72e7720849',
            'The project that the item was in when it was charged',
          ),
          hours: Hours,
          amount: money('Sum of its charges, including those for traffic', '295.92'),
          traffic_amount: money('Sum of its charges for traffic', '0.00'),
        },
        { title: 'UsageItem', description: 'Cost of an item while it was in a project' },
      ),
      {
        description: `One entry for each item (server or public address) and project: the ${MOST_ITEMS} that cost the most`,
      },
    ),
    more_items: Type.Integer({
      description: `Number of entries that \`items\` leaves out, because it has at most ${MOST_ITEMS}`,
      examples: [0],
    }),
    more_amount: money('Sum of the charges of these entries, which is a part of `amount`', '0.00'),
    traffic: Type.Array(
      Type.Object(
        {
          server_id: ServerId,
          server_name: Type.String({ description: 'Most recent name of the server', examples: ['web-1'] }),
          in_bytes: Type.Integer({ description: 'Bytes that it received', examples: [48_318_382_080] }),
          out_bytes: Type.Integer({ description: 'Bytes that it sent', examples: [214_748_364_800] }),
        },
        { title: 'UsageTraffic', description: 'Traffic of a server in the month' },
      ),
      {
        description: `One item for each server with traffic, which is counted outside of the guest every few seconds, and kept for a year: the ${MOST_ITEMS} that sent the most`,
      },
    ),
    generated_at: timestamp('The time that these figures are for'),
  },
  { title: 'Usage', description: 'Costs of a calendar month so far' },
)
export type Usage = Static<typeof Usage>

export const UsageCsv = Type.String({
  description: 'RFC 4180, with a header line',
  examples: [
    [
      'month,item_type,item_id,item_name,server_id,server_name,project_id,hours,amount_rub',
      '2026-11,server,01a1fb45-1ac2-75b7-a056-9ee82769d403,web-1,01a1fb45-1ac2-75b7-a056-9ee82769d403,web-1,01a1fb44-5997-73df-a23c-ea72e7720849,720.0000,295.92',
      '2026-11,address,01a1fb46-2c6e-7a51-9d3f-0b1c2d3e4f50,192.0.2.7,,,01a1fb44-5997-73df-a23c-ea72e7720849,720.0000,150.00',
      '',
    ].join('\r\n'),
  ],
})
