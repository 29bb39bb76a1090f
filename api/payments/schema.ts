import Type, { type Static } from 'typebox'
import { CreatedAt, money, nullable, timestamp, uuid } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'
import { parseMoney } from '../money.ts'
import { providerNames } from './provider.ts'

export const paymentProblems = defineProblems({
  payment_not_found: { status: 404, title: 'No such payment' },
  payments_off: { status: 409, title: 'This provider takes no payments here' },
  payment_refused: { status: 409, title: 'The payment provider refuses the payment' },
  too_many_open_payments: { status: 409, title: 'Too many payments are waiting' },
  payment_method_not_found: { status: 404, title: 'No such saved payment method' },
  too_many_payment_methods: { status: 409, title: 'Too many saved payment methods' },
  refund_too_large: { status: 409, title: 'The payment does not have as much left' },
})

/** The most pending payments of an account. */
export const MOST_OPEN = 10
/** The most saved methods of an account, including those that its payments are about to save. */
export const MOST_METHODS = 10
/** The number of declined automatic payments in a row that turns automatic top-ups off. */
export const MOST_DECLINES = 3
export const LEAST = '10.00'
export const MOST = '500000.00'

export const PaymentId = uuid('01a1fb44-5a10-7c1d-8e4b-2f1e0d9c8b7a', 'Id of the payment')
const MethodId = uuid('01a1fb44-5b20-7e2d-9f5c-3a2f1e0d9c8b', 'Id of the saved payment method')
const Provider = Type.Enum([...providerNames], {
  description: 'The payment provider. More will be added; show an unknown one by its name.',
  examples: ['yookassa'],
})

export const Providers = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          provider: Provider,
          title: Type.String({ description: 'Name of the provider for people', examples: ['YooKassa'] }),
          min_amount_rub: money('Smallest payment', LEAST),
          max_amount_rub: money('Largest payment', MOST),
          currencies: Type.Array(Type.String(), {
            description: 'Currencies that it can charge here (ISO 4217), rubles first',
            examples: [['RUB', 'EUR']],
          }),
        },
        { title: 'PaymentProvider', description: 'A service through which the account can be topped up' },
      ),
      { description: 'The providers; none if the operator has set up none' },
    ),
    total: Type.Integer({ description: 'Number of providers', examples: [1] }),
  },
  { title: 'PaymentProviderList', description: 'The services through which the account can be topped up' },
)

const charge = {
  charge_currency: nullable(Type.String({ examples: ['EUR'] }), {
    description: 'Currency that the provider charges (ISO 4217); null: rubles',
    examples: [null],
  }),
  charge_amount: nullable(Type.String({ examples: ['5.08'] }), {
    description: 'Sum that the provider charges, in `charge_currency`; null: rubles',
    examples: [null],
  }),
}

export const Payment = Type.Object(
  {
    payment_id: PaymentId,
    provider: Provider,
    status: Type.Enum(['pending', 'succeeded', 'canceled', 'refunded', 'disputed', 'held'], {
      description:
        '`pending`: waits for the customer or the bank; `succeeded`: added to the balance; `canceled`: not paid; `refunded`: paid back in whole; `disputed`: the bank has taken it back; `held`: the operator has to look at it before it is added',
      examples: ['pending'],
    }),
    amount_rub: money(
      'Amount of the payment; of a charge in another currency an estimate, and what arrived once it is booked',
      '500.00',
    ),
    ...charge,
    refunded_rub: money('Part of it that was paid back or disputed', '0.00'),
    url: nullable(Type.String({ examples: ['https://yoomoney.ru/checkout/payments/v2?orderId=2d'] }), {
      description:
        'Page of the provider where it is paid; null if it waits for nothing, or until the provider answers',
    }),
    is_automatic: Type.Boolean({
      description: 'True if an automatic top-up began it',
      examples: [false],
    }),
    created_at: CreatedAt,
    booked_at: nullable(timestamp('When it was added to the balance'), {
      description: 'When it was added to the balance; null if it was not',
      examples: [null],
    }),
  },
  { title: 'Payment', description: 'A top-up of the balance through a payment provider' },
)
export type Payment = Static<typeof Payment>

export const PaymentMethod = Type.Object(
  {
    payment_method_id: MethodId,
    provider: Provider,
    brand: Type.String({
      description: "Brand of the card, or the type of another method, in the provider's words",
      examples: ['MasterCard'],
    }),
    last_four: nullable(Type.String({ examples: ['4477'] }), {
      description: 'Last four digits of the card; null if it is not a card',
    }),
    expires: nullable(Type.String({ examples: ['2029-04'] }), {
      description: 'Last month in which it can be charged; null if the provider does not say',
    }),
    created_at: CreatedAt,
  },
  {
    title: 'PaymentMethod',
    description: 'A saved payment method, which is charged without the page of the provider',
  },
)
export type PaymentMethod = Static<typeof PaymentMethod>

/** Amounts in range, so that a wrong one is refused with the field that has it. */
export const AmountOf = (description: string) =>
  Type.String({
    pattern: String.raw`^(?=.*[1-9])\d{1,9}(\.\d{1,2})?$`,
    description,
    examples: ['500.00'],
    errorMessage: 'must be an amount in rubles such as "500.00".',
  })

export const PaymentCreate = Type.Object(
  {
    amount_rub: Type.Optional(
      AmountOf(`Amount in rubles, from ${LEAST} to ${MOST}; required without \`charge_amount\``),
    ),
    charge_currency: Type.Optional(
      Type.String({
        pattern: '^[A-Z]{3}$',
        description:
          'Currency to charge in place of rubles (ISO 4217), of those in `currencies` of `GET /account/payment_providers`. The balance gets the rubles that arrive',
        examples: ['EUR'],
        errorMessage: 'must be the ISO 4217 code of a currency, such as EUR.',
      }),
    ),
    charge_amount: Type.Optional(
      Type.String({
        pattern: String.raw`^(?=.*[1-9])\d{1,9}(\.\d{1,2})?$`,
        description: 'Sum in `charge_currency`, in place of `amount_rub`',
        examples: ['5.08'],
        errorMessage: 'must be a sum such as "5.08".',
      }),
    ),
    provider: Type.Optional(
      Type.Enum([...providerNames], {
        description: 'The payment provider (default: the first of `GET /account/payment_providers`)',
        examples: ['yookassa'],
      }),
    ),
    payment_method_id: Type.Optional(
      uuid(
        '01a1fb44-5b20-7e2d-9f5c-3a2f1e0d9c8b',
        'Saved payment method to charge, instead of a page of the provider',
      ),
    ),
    method_id: Type.Optional(
      uuid('01a1fb44-5b20-7e2d-9f5c-3a2f1e0d9c8b', 'Another name of `payment_method_id`; give one of them'),
    ),
    save_method: Type.Optional(
      Type.Boolean({
        description:
          'If true, the method is saved once it has paid. It must be false with `payment_method_id`',
        default: false,
        examples: [false],
      }),
    ),
    return_url: Type.Optional(
      Type.String({
        maxLength: 500,
        pattern: String.raw`^https?://[^\s"<>\\^\x60{|}]+$`,
        description:
          'Page to which the provider sends the customer back, paid or not (default: the billing page of the console)',
        examples: ['https://shop.example.com/paid'],
        errorMessage: 'must be the address of a page, such as https://shop.example.com/paid.',
      }),
    ),
  },
  { title: 'PaymentCreate', description: 'A top-up of the balance', examples: [{ amount_rub: '500.00' }] },
)
export type PaymentCreate = Static<typeof PaymentCreate>

export const AutoTopUpSet = Type.Object(
  {
    below_rub: AmountOf('Balance in rubles below which the account is topped up, at most 500000.00'),
    amount_rub: AmountOf(`Amount of each payment in rubles, from ${LEAST} to ${MOST}`),
    monthly_limit_rub: AmountOf(
      'The most that automatic payments may take in a calendar month (UTC), in rubles; at least `amount_rub`',
    ),
    payment_method_id: uuid('01a1fb44-5b20-7e2d-9f5c-3a2f1e0d9c8b', 'Saved payment method to charge'),
  },
  {
    title: 'AutoTopUpSet',
    description: 'Settings for automatic top-ups',
    examples: [
      {
        ...{ below_rub: '500.00', amount_rub: '1000.00', monthly_limit_rub: '5000.00' },
        payment_method_id: '01a1fb44-5b20-7e2d-9f5c-3a2f1e0d9c8b',
      },
    ],
  },
)
export type AutoTopUpSet = Static<typeof AutoTopUpSet>

const amountOrNull = (what: string, example: string) =>
  nullable(money(what, example), {
    description: `${what}, in rubles with two decimals; null if it was never set`,
  })

export const AutoTopUp = Type.Object(
  {
    is_on: Type.Boolean({
      description: 'True if the account is topped up when its balance falls below the line',
      examples: [true],
    }),
    below_rub: amountOrNull('The line', '500.00'),
    amount_rub: amountOrNull('Amount of each payment', '1000.00'),
    monthly_limit_rub: amountOrNull('The most in a calendar month (UTC)', '5000.00'),
    payment_method_id: nullable(MethodId, {
      description: 'Id of the saved payment method that is charged; null if it was never set',
    }),
    charged_month_rub: money('Sum of the automatic payments of this month, without canceled ones', '1000.00'),
    declines: Type.Integer({
      description: `Automatic payments in a row that were declined; ${MOST_DECLINES} turn it off`,
      examples: [0],
    }),
    waits_until: nullable(timestamp('The earliest time of the next payment'), {
      description:
        'The earliest time of the next payment after a declined one, or after the monthly limit was reached; null if it waits for nothing',
      examples: [null],
    }),
    off_reason: nullable(Type.Enum(['declined', 'method_deleted', 'account_closed']), {
      description:
        'Why it was turned off: `declined` payments, the payment method was deleted, or the account is closed; null if nothing turned it off',
      examples: [null],
    }),
  },
  {
    title: 'AutoTopUp',
    description: 'Automatic top-ups of the balance by charging a saved payment method',
  },
)
export type AutoTopUp = Static<typeof AutoTopUp>

/** @param amount units. @returns the mistake in the amount of a payment, if there is one */
export function outOfRange(amount: number): 'below_minimum' | 'above_maximum' | null {
  if (amount < parseMoney(LEAST)) return 'below_minimum'
  return amount > parseMoney(MOST) ? 'above_maximum' : null
}

const Return = Type.Object(
  {
    kind: Type.Enum(['refund', 'dispute'], { description: 'A refund, or a dispute of the bank' }),
    amount_rub: money('Amount that goes back', '100.00'),
    charge_amount: charge.charge_amount,
    status: Type.Enum(['requested', 'taken', 'reversed', 'failed'], {
      description:
        '`requested`: not confirmed by the provider yet; `taken` from the balance; `reversed`: taken, and given back to the balance; `failed`: nothing was taken',
      examples: ['taken'],
    }),
    provider_id: nullable(Type.String({ examples: ['2d0c8f3a-0015-5000-8000-1f2e3d4c5b6a'] }), {
      description: 'Id at the provider; null until it was sent',
    }),
    reason: nullable(Type.String({ examples: ['Paid twice'] }), {
      description: "The operator's reason, or why it failed; null if it came from the provider",
    }),
    created_at: CreatedAt,
  },
  { title: 'PaymentReturn', description: 'Money of a payment that goes back' },
)

export const OperatedPayment = Type.Object(
  {
    account_id: uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11', 'Id of the account'),
    ...Payment.properties,
    provider_id: nullable(Type.String({ examples: ['2d0c8f3a-000f-5000-8000-145f6df21d6f'] }), {
      description: 'Id at the provider; null until the provider knows the payment',
    }),
    reference: nullable(Type.String({ examples: ['yookassa:2d0c8f3a-000f-5000-8000-145f6df21d6f'] }), {
      description:
        'Reference of its entry in the ledger; null without `provider_id`. A credit with it books a held payment by hand, once.',
    }),
    problem: nullable(Type.String({ examples: [null] }), {
      description: 'Why something of it was not booked; null if there is no problem',
    }),
    looked_at: nullable(timestamp('When the provider was last asked about it'), {
      description: 'When the provider was last asked about it; null if it never was',
    }),
    returns: Type.Array(Return, { description: 'Its refunds and disputes, oldest first' }),
  },
  { title: 'OperatedPayment', description: 'A payment of any account, as the operator sees it' },
)
export type OperatedPayment = Static<typeof OperatedPayment>

export const OperatedPaymentQuery = Type.Object({
  ...pagingQuery,
  account_id: Type.Optional(uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11', 'Payments of this account only')),
  has_problem: Type.Optional(
    Type.Boolean({ description: 'Only payments with a problem', examples: [true], default: false }),
  ),
})

export const RefundCreate = Type.Object(
  {
    amount_rub: AmountOf('Amount in rubles, at most what is left of the payment'),
    reason: Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: String.raw`^(?=.*\S)[^\u0000-\u001f\u007f-\u009f]*$`,
      description: 'Reason, at most 200 characters; the customer may see it at the provider',
      examples: ['Paid twice'],
      errorMessage: 'must not be blank or contain control characters.',
    }),
  },
  { title: 'RefundCreate', description: 'A part of a payment to pay back' },
)
export type RefundCreate = Static<typeof RefundCreate>
