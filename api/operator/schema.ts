import Type, { type Static } from 'typebox'
import { ownPrices } from '../accounts/schema.ts'
import { defaultModule } from '../drivers/modules/modules.ts'
import type { Quota } from '../feature.ts'
import { CreatedAt, money, nullable, timestamp, uuid, visibleName } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'
import type { OperationSchemas } from '../operations/schema.ts'
import { EmailAddress } from '../people/person/schema.ts'

export const operatorProblems = defineProblems({
  account_not_found: { status: 404, title: 'No such account' },
  account_status_conflict: { status: 409, title: 'The status of the account does not allow this' },
  account_exists: { status: 409, title: 'There is an account with this address or external id' },
  owner_unclear: { status: 409, title: 'No person can be signed in as the owner' },
  catalog_changed: { status: 409, title: 'The catalogue has changed' },
  catalog_not_writable: { status: 409, title: 'The catalogue can only be changed on the host' },
  reference_taken: { status: 409, title: 'The reference was used for another amount or account' },
})

export const AccountId = uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11', 'Id of the account')
const Status = Type.Enum(['active', 'suspended', 'closed'], { description: 'Status of the account' })

export const OperatedAccount = Type.Object(
  {
    account_id: AccountId,
    email: Type.String({
      description: 'Contact address of the account',
      examples: ['ann@example.com'],
    }),
    external_id: nullable(Type.String({ examples: ['shop-1042'] }), {
      description: "The operator's own id of the account; null if they gave none",
    }),
    name: Type.String({ description: 'Name of the customer', examples: ['Ann'] }),
    tags: Type.Array(Type.String({ examples: ['reseller'] }), {
      description: "The operator's own words for the account, which its customer does not see",
      examples: [['reseller']],
    }),
    notes: nullable(Type.String({ examples: ['Calls on Mondays'] }), {
      description: "The operator's own notes, which the customer does not see; null if there are none",
    }),
    status: Status,
    status_reason: nullable(Type.String({ examples: [null] }), {
      description: 'Reason for the status; null if it never changed',
    }),
    status_since: nullable(timestamp('When it got its status'), {
      description: 'When the status changed; null if it never did',
      examples: [null],
    }),
    is_frozen: Type.Boolean({
      description:
        'True if the operator has frozen it: it is suspended, cut off, and kept as evidence until it is resumed',
      examples: [false],
    }),
    balance: money('Sum of all transactions; negative if the account owes money'),
    credit_limit: money('Amount that the account may owe; 0.00 if it pays in advance', '0.00'),
    paid: money('Sum of the payments of the account, less chargebacks'),
    quotas: Type.Unsafe<Partial<Record<string, number>>>({
      type: 'object',
      additionalProperties: { type: 'integer' },
      description: 'The limits that the operator set for the account, by name; all others are the defaults',
      examples: [{ servers: 5 }],
    }),
    ...ownPrices,
    is_depleted: Type.Boolean({
      description: 'Whether the balance is used up while something is billed',
      examples: [false],
    }),
    server_count: Type.Integer({ description: 'Servers of the account', examples: [1] }),
    created_at: CreatedAt,
  },
  { title: 'OperatedAccount', description: 'An account of this installation, as its operator sees it' },
)
export type OperatedAccount = Static<typeof OperatedAccount>

const ExternalId = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: String.raw`^[\x21-\x7e]+$`,
  description: "The operator's own id of the account, unique in the installation, without spaces",
  examples: ['shop-1042'],
  errorMessage: 'must be letters, digits and signs, without spaces.',
})

const Tag = Type.String({
  pattern: '^[a-z0-9][a-z0-9_-]{0,39}$',
  description: 'Up to 40 lower-case letters, digits, - and _',
  examples: ['reseller'],
  errorMessage: 'must be up to 40 lower-case letters, digits, - and _, such as "reseller".',
})

export const AccountQuery = Type.Object({
  ...pagingQuery,
  search: Type.Optional(
    Type.String({
      maxLength: 254,
      description: 'Part of the e-mail address or the name, in upper or lower case, or the whole id',
      examples: ['ann@'],
    }),
  ),
  status: Type.Optional(Status),
  external_id: Type.Optional(ExternalId),
  tag: Type.Optional(Tag),
})

const CustomerName = Type.String({
  maxLength: 100,
  pattern: String.raw`^[^\p{C}]*$`,
  description: 'Name of the customer (default: the e-mail address)',
  examples: ['Ann'],
  errorMessage: 'must not contain control characters.',
})

const limit = ({ description, limit }: Quota) =>
  Type.Optional(
    nullable(Type.Integer({ minimum: 0, maximum: 999_999_999 }), {
      description: `${description}; null for the default`,
      examples: [limit],
    }),
  )
const limitsOf = (quotas: readonly Quota[]) =>
  Object.fromEntries(quotas.map((quota) => [quota.name, limit(quota)]))

/** Describes a new account, perhaps with its own limits by the names of quotas. */
export function accountCreate(quotas: readonly Quota[]) {
  return Type.Object(
    {
      email: EmailAddress,
      name: Type.Optional(CustomerName),
      external_id: Type.Optional(ExternalId),
      quotas: Type.Optional(
        Type.Object(limitsOf(quotas), {
          title: 'AccountQuotas',
          description: 'Limits that differ from the defaults (default: none)',
          examples: [{ servers: 5 }],
        }),
      ),
    },
    { title: 'AccountCreate', description: 'A new account for a customer' },
  )
}
export type AccountCreate = Static<ReturnType<typeof accountCreate>>

export const AccountUpdate = Type.Object(
  {
    name: Type.Optional(visibleName(100, 'Ann')),
    external_id: Type.Optional(
      nullable(ExternalId, {
        description: "The operator's own id of the account, unique in the installation; null for none",
      }),
    ),
    tags: Type.Optional(
      Type.Array(Tag, {
        maxItems: 20,
        uniqueItems: true,
        description: "The operator's own words for the account, which its customer does not see",
        examples: [['reseller']],
      }),
    ),
    notes: Type.Optional(
      nullable(Type.String({ maxLength: 2000, examples: ['Calls on Mondays'] }), {
        description: "The operator's own notes, which the customer does not see; null for none",
      }),
    ),
  },
  { title: 'OperatedAccountUpdate', description: 'The changes of an account; other fields stay' },
)
export type AccountUpdate = Static<typeof AccountUpdate>

export const Reason = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: String.raw`^(?=.*\S)[^\u0000-\u001f\u007f-\u009f]*$`,
  description: 'Reason, at most 200 characters; the customer sees it',
  examples: ['Paid by bank transfer'],
  errorMessage: 'must not be blank or contain control characters.',
})

/** Describes the limits that an operator sets for an account, by the names of quotas. */
export function limitChange(quotas: readonly Quota[]) {
  return Type.Object(
    {
      limits: Type.Object(limitsOf(quotas), {
        description: 'The limits to set; others stay',
        minProperties: 1,
      }),
      reason: Reason,
    },
    { title: 'LimitChange', description: 'Limits of an account that differ from the defaults' },
  )
}

export const PriceChange = Type.Object(
  { ...ownPrices, reason: Reason },
  {
    title: 'PriceChange',
    description: 'All prices of an account that differ from the catalogue, in place of earlier ones',
  },
)
export type PriceChange = Static<typeof PriceChange>

export const CreditLimitChange = Type.Object(
  {
    credit_limit_rub: Type.String({
      pattern: String.raw`^\d{1,9}(\.\d{1,2})?$`,
      description:
        'Amount in rubles that the account may owe, with at most two decimals; 0 if it pays in advance',
      examples: ['5000.00'],
      errorMessage: 'must be an amount such as "5000.00", or "0".',
    }),
    reason: Reason,
  },
  { title: 'CreditLimitChange', description: 'The amount that an account may owe, and why' },
)
export type CreditLimitChange = Static<typeof CreditLimitChange>

export const StatusChange = Type.Object(
  { reason: Reason },
  { title: 'StatusChange', description: 'Why the status of an account changes' },
)

export const AccountClose = Type.Object(
  {
    reason: Reason,
    force: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether to close it even if servers of it have `delete_protection`',
        examples: [false],
      }),
    ),
  },
  { title: 'AccountClose', description: 'Why an account is closed' },
)

const Amount = Type.String({
  pattern: String.raw`^(?=.*[1-9])\d{1,9}(\.\d{1,2})?$`,
  description: 'Amount in rubles, above zero, with at most two decimals',
  examples: ['500.00'],
  errorMessage: 'must be an amount above zero such as "500.00".',
})

const Reference = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: String.raw`^[\x21-\x7e]+$`,
  description:
    'Reference of the payment, without spaces, unique in the installation; a repeated one is booked only once',
  examples: ['bank-2026-11-20-17'],
  errorMessage: 'must be letters, digits and signs, without spaces.',
})

export const Credit = Type.Object(
  {
    amount: Amount,
    type: Type.Enum(['payment', 'correction'], {
      description: '`payment` for money received, `correction` for a gift, which does not count as a payment',
    }),
    reason: Reason,
    reference: Reference,
  },
  { title: 'Credit', description: 'An amount to add to the balance of an account' },
)
export type Credit = Static<typeof Credit>

export const Debit = Type.Object(
  {
    amount: Amount,
    type: Type.Enum(['payment', 'correction'], {
      description:
        '`payment` for money that the customer took back, which counts less as paid; `correction` for all else',
    }),
    reason: Reason,
    reference: Reference,
  },
  { title: 'Debit', description: 'An amount to take from the balance of an account' },
)

const CorrectionLine = Type.Object(
  {
    amount_rub: Type.String({
      ...Amount,
      description:
        'Amount in rubles, above zero, with at most two decimals, as the items of the invoice: with VAT only if its prices include it',
      examples: ['95.92'],
    }),
    item_id: Type.Optional(
      uuid('01a1fb45-1ac2-75b7-a056-9ee82769d403', 'Id of an item that has a line in the invoice'),
    ),
  },
  { title: 'CorrectionLineCreate', description: 'A change of the charges, perhaps of those for one item' },
)

export const CorrectionCreate = Type.Object(
  {
    type: Type.Enum(['credit_note', 'debit_note'], {
      description: '`credit_note` lowers the invoice and adds to the balance; `debit_note` does the opposite',
      examples: ['credit_note'],
    }),
    lines: Type.Array(CorrectionLine, {
      minItems: 1,
      maxItems: 50,
      description: 'The changes of the charges, at most 50',
    }),
    reason: Reason,
    reference: Reference,
  },
  { title: 'CorrectionCreate', description: 'How an invoice is corrected, and why' },
)

const size = {
  cpu: Type.Integer({ description: 'Cores', examples: [64] }),
  ram_mb: Type.Integer({ description: 'Memory in MB', examples: [524_288] }),
  disk_gb: Type.Integer({ description: 'Disk in GB', examples: [10_000] }),
}

export const ZoneRoom = Type.Object(
  {
    zone_slug: Type.String({ description: 'Short name of the zone', examples: ['local-1'] }),
    title: Type.String({ description: 'Name of the zone', examples: ['Local 1'] }),
    pool: Type.String({
      description:
        'Pool of the machines on which its servers run; zones with the same pool share its capacity',
      examples: [defaultModule.name],
    }),
    is_retired: Type.Boolean({ description: 'Whether the zone is no longer on sale', examples: [false] }),
    total: nullable(
      Type.Object(size, { description: 'Capacity of its hosts, times the overcommit of the catalogue' }),
      {
        description:
          'Capacity of its hosts, times the overcommit of the catalogue; null if they do not answer within 3 seconds',
      },
    ),
    used: Type.Object(size, { description: 'Capacity that the servers of the pool use' }),
  },
  { title: 'ZoneRoom', description: 'The capacity of a zone, and how much of it is sold' },
)

export const OperatedImage = Type.Object(
  {
    template: Type.String({ description: 'Short name of the template or ISO', examples: ['debian-13'] }),
    pool: Type.String({
      description: 'Pool of machines that the image is for',
      examples: [defaultModule.name],
    }),
    is_retired: Type.Boolean({
      description: 'Whether it is no longer on offer',
      examples: [false],
    }),
    status: Type.Enum(['absent', 'preparing', 'ready', 'failed', 'unknown'], {
      description:
        'Whether servers can start from it. `absent`: it is prepared for the first server that needs it; `unknown`: the host does not answer within 3 seconds',
      examples: ['preparing'],
    }),
    progress: nullable(
      Type.Integer({ minimum: 0, maximum: 100, description: 'In percent', examples: [34] }),
      {
        description: 'How far it is prepared, in percent; null unless `status` is `preparing`',
      },
    ),
    detail: nullable(Type.String({ examples: ['downloading 34%'] }), {
      description:
        'The current step, the reason of the failure, or the source of the image; null if there is none',
    }),
    bytes: nullable(Type.Integer({ examples: [null] }), {
      description: 'Size of its files in bytes; null unless `status` is `ready`',
    }),
  },
  { title: 'OperatedImage', description: 'The image of a template, or an ISO, on one kind of machines' },
)
export type OperatedImage = Static<typeof OperatedImage>

export function operatedOperation({ Operation }: Pick<OperationSchemas, 'Operation'>) {
  return Type.Object(
    { account_id: AccountId, ...Operation.properties },
    { title: 'OperatedOperation', description: 'An operation of any account' },
  )
}

export const OperatedOperationQuery = Type.Object({
  ...pagingQuery,
  state: Type.Optional(
    Type.Enum(['active', 'failed'], {
      default: 'active',
      description: 'Operations in progress (`active`), or failed ones among the last 10,000 (`failed`)',
    }),
  ),
})
