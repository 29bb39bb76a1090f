import Type, { type Static } from 'typebox'
import { CreatedAt, LAST_MOMENT, money, nullable, timestamp, uuid } from '../http/contract/fields.ts'
import { defineProblems } from '../http/contract/problem.ts'
import { AmountOf } from '../payments/schema.ts'

export const creditProblems = defineProblems({
  promo_code_invalid: { status: 409, title: 'The promo code is not valid' },
  promo_code_redeemed: { status: 409, title: 'The account has redeemed this promo code' },
  too_many_credits: { status: 409, title: 'The account has too many credits' },
  promo_code_not_found: { status: 404, title: 'No such promo code' },
  promo_code_exists: { status: 409, title: 'This code exists with other terms' },
})

/** Limits the credits of an account that have not ended, because each check of one reads all. */
export const MOST_CREDITS = 50

const CODE = '^[A-Za-z0-9]([ -]?[A-Za-z0-9]){11,39}$'
const Code = (description: string) =>
  Type.String({
    pattern: CODE,
    description,
    examples: ['7KQ2-MX4H-PT9D-W3ZB'],
    errorMessage: 'must be 12 to 40 letters and digits, perhaps with dashes.',
  })

export const Redemption = Type.Object(
  { code: Code('The promo code; dashes, spaces and upper or lower case do not matter') },
  { title: 'Redemption', description: 'A promo code to redeem' },
)

export const AccountCredit = Type.Object(
  {
    credit_id: uuid('01a1fb44-5a10-7c1d-8e4b-1a2b3c4d5e6f', 'Id of the credit'),
    source: Type.Enum(['promo_code', 'trial'], {
      description: 'A promo code, or the trial of people who sign up. More may be added',
      examples: ['promo_code'],
    }),
    amount_rub: money('The whole credit', '300.00'),
    left_rub: money('The part that charges have not used, at most the balance', '120.50'),
    expired_rub: money('The part that has expired', '0.00'),
    expires_at: timestamp('When what is left of it expires', '2026-12-20T12:00:00.000Z'),
    ended_at: nullable(timestamp('When it was used up or has expired'), {
      description: 'When it was used up or has expired; null before',
      examples: [null],
    }),
    created_at: CreatedAt,
  },
  { title: 'AccountCredit', description: 'Credit of the account that ends' },
)
export type AccountCredit = Static<typeof AccountCredit>

const Days = (description: string) => Type.Integer({ minimum: 1, maximum: 9999, description, examples: [30] })

const terms = {
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: String.raw`^(?=.*\S)[^\u0000-\u001f\u007f-\u009f]*$`,
    description: 'Name of it for operators, at most 100 characters',
    examples: ['Conference 2026'],
    errorMessage: 'must not be blank or contain control characters.',
  }),
  credit_days: Days('Days after the redemption until the rest of the credit expires'),
  max_uses: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    description: 'Accounts that may redeem it, each once',
    examples: [100],
  }),
}

export const PromoCodeCreate = Type.Object(
  {
    ...terms,
    amount_rub: AmountOf('The credit of each account in rubles'),
    expires_at: timestamp('The end of its validity, in the future', new Date(LAST_MOMENT).toISOString()),
    code: Type.Optional(
      Code(
        'The code, if it is to be one of yours; a repeat with it finds the first one (default: 16 random letters and digits)',
      ),
    ),
  },
  { title: 'PromoCodeCreate', description: 'A promo code to create' },
)
export type PromoCodeCreate = Static<typeof PromoCodeCreate>

export const PromoCode = Type.Object(
  {
    promo_code_id: uuid('01a1fb44-5a10-7c1d-8e4b-6f5e4d3c2b1a', 'Id of the promo code'),
    ...terms,
    amount_rub: money('The credit of each account'),
    uses: Type.Integer({ description: 'Accounts that have redeemed it', examples: [17] }),
    expires_at: timestamp('The end of its validity', '2026-12-31T00:00:00.000Z'),
    revoked_at: nullable(timestamp('When it was revoked'), {
      description: 'When it was revoked; null if it was not',
      examples: [null],
    }),
    created_at: CreatedAt,
  },
  { title: 'PromoCode', description: 'A promo code, without the code itself, which is not stored' },
)
export type PromoCode = Static<typeof PromoCode>

export const NewPromoCode = Type.Object(
  { ...PromoCode.properties, code: Code('The code, which no other reply has') },
  { title: 'NewPromoCode', description: 'A promo code with the code itself' },
)
