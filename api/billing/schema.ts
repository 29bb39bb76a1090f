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
