import Type, { type Static } from 'typebox'
import { CreatedAt, money, nullable, timestamp, uuid } from '../http/contract/fields.ts'
import { defineProblems } from '../http/contract/problem.ts'
import { AmountOf } from '../payments/schema.ts'

export const transferProblems = defineProblems({
  transfers_not_offered: { status: 409, title: 'Bank transfer is not offered' },
  too_many_transfers: { status: 409, title: 'The account has too many open invoices' },
  transfer_not_found: { status: 404, title: 'No such invoice for a bank transfer' },
  bank_transaction_taken: { status: 409, title: 'This transaction of the bank was booked otherwise' },
})

/** Limits the invoices of an account that are neither paid nor expired. */
export const MOST_OPEN = 10

export const Reference = Type.String({
  pattern: String.raw`^\d{4}-\d{4}-\d{4}$`,
  description: 'The reference to state as the purpose of the transfer; its last two digits check the others',
  examples: ['4821-0937-5557'],
  errorMessage: 'must be twelve digits in groups of four, such as 4821-0937-5557.',
})

export const TransferCreate = Type.Object(
  { amount_rub: AmountOf('The sum to pay in rubles') },
  { title: 'TransferCreate', description: 'A sum to pay by bank transfer' },
)
export type TransferCreate = Static<typeof TransferCreate>

const BankText = (description: string, example: string) => Type.String({ description, examples: [example] })

export const Payee = Type.Object(
  {
    name: BankText('Name of the payee', 'Example LLC'),
    address: BankText('Address of the payee', '1 Main Street, Moscow'),
    tax_id: BankText('Tax id of the payee', '7701234567'),
    bank_name: BankText('Name of the bank', 'Example Bank'),
    bank_account: BankText('Account at the bank', '40702810900000000001'),
    bank_bic: BankText('BIC of the bank', '044525000'),
    correspondent_account: nullable(BankText("The bank's correspondent account", '30101810400000000000'), {
      description: "The bank's correspondent account; null if it has none",
      examples: ['30101810400000000000'],
    }),
  },
  {
    title: 'Payee',
    description: 'Recipient of the transfer and their bank, as they were at the time of issue',
  },
)
export type Payee = Static<typeof Payee>

export const Transfer = Type.Object(
  {
    transfer_id: uuid('01a1fb44-5a10-7c1d-8e4b-2b3c4d5e6f7a', 'Id of the invoice'),
    reference: Reference,
    status: Type.Enum(['open', 'paid', 'expired'], {
      description: 'Open until money arrives or it expires. Money that arrives later is booked nevertheless',
      examples: ['open'],
    }),
    amount_rub: money('The sum to pay', '5000.00'),
    arrived_rub: money('The sum that arrived and is in the balance; it may differ', '0.00'),
    payee: Payee,
    arrived_at: nullable(timestamp('When money arrived last'), {
      description: 'When money arrived last; null before',
      examples: [null],
    }),
    expires_at: timestamp('When it expires if no money arrives', '2026-12-20T12:00:00.000Z'),
    created_at: CreatedAt,
  },
  { title: 'Transfer', description: 'An invoice that the account pays by bank transfer' },
)
export type Transfer = Static<typeof Transfer>

export const Arrival = Type.Object(
  {
    reference: Reference,
    amount_rub: AmountOf('The sum that arrived, in rubles'),
    bank_transaction_id: Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: '^[A-Za-z0-9._/-]+$',
      description: "The bank's own id of the transaction: it is booked once, whatever is sent twice",
      examples: ['20261127-000153'],
      errorMessage: 'must be letters, digits, dots, dashes, underscores and slashes.',
    }),
  },
  { title: 'Arrival', description: 'Money that arrived at the bank' },
)
export type Arrival = Static<typeof Arrival>
