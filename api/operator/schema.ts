import Type, { type Static } from 'typebox'
import { defaultModule } from '../drivers/modules/modules.ts'
import { CreatedAt, money, nullable, uuid } from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'
import type { OperationSchemas } from '../operations/schema.ts'

export const operatorProblems = defineProblems({
  account_not_found: { status: 404, title: 'No such account' },
  account_status_conflict: { status: 409, title: 'The status of the account does not allow this' },
  reference_taken: { status: 409, title: 'The reference is that of another amount' },
})

const AccountId = uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11', 'Id of the account')
const Status = Type.Enum(['active', 'suspended', 'closed'], { description: 'Status of the account' })

export const OperatedAccount = Type.Object(
  {
    account_id: AccountId,
    email: Type.String({
      description: 'Address that the account is known by',
      examples: ['ann@example.com'],
    }),
    name: Type.String({ description: 'Name of the customer', examples: ['Ann'] }),
    status: Status,
    balance: money('Sum of all transactions; below zero if more was used than paid'),
    paid: money('What the account has paid in all, less what was charged back'),
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

export const AccountQuery = Type.Object({
  ...pagingQuery,
  search: Type.Optional(
    Type.String({
      maxLength: 254,
      description: 'Part of the e-mail address, in capital letters or not, or the whole id',
      examples: ['ann@'],
    }),
  ),
  status: Type.Optional(Status),
})

const Reason = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: String.raw`^(?=.*\S)[^\u0000-\u001f\u007f-\u009f]*$`,
  description: 'Why, at most 200 characters; the customer sees it',
  examples: ['Paid by bank transfer'],
  errorMessage: 'must not be blank or contain control characters.',
})

export const StatusChange = Type.Object(
  { reason: Reason },
  { title: 'StatusChange', description: 'Why the status of an account changes' },
)

export const Credit = Type.Object(
  {
    amount: Type.String({
      pattern: String.raw`^(?=.*[1-9])\d{1,9}(\.\d{1,2})?$`,
      description: 'Amount in rubles, above zero, with at most two decimals',
      examples: ['500.00'],
      errorMessage: 'must be an amount above zero such as "500.00".',
    }),
    type: Type.Enum(['payment', 'correction'], {
      description: 'Money that came in (`payment`), or a gift, which counts as no payment (`correction`)',
    }),
    reason: Reason,
    reference: Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: String.raw`^[\x21-\x7e]+$`,
      description: 'Reference of the payment, without spaces; a repeated one is booked only once',
      examples: ['bank-2026-11-20-17'],
      errorMessage: 'must be letters, digits and signs, without spaces.',
    }),
  },
  { title: 'Credit', description: 'What to add to the balance of an account' },
)
export type Credit = Static<typeof Credit>

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
      description: 'The machines that it sells of; zones with the same pool share them',
      examples: [defaultModule.name],
    }),
    is_retired: Type.Boolean({ description: 'Whether nothing more is sold in it', examples: [false] }),
    total: nullable(
      Type.Object(size, { description: 'What its hosts have, times the overcommit of the catalogue' }),
      {
        description:
          'What its hosts have, times the overcommit of the catalogue; null if they do not answer within 3 seconds',
      },
    ),
    used: Type.Object(size, { description: 'What the servers of the pool hold' }),
  },
  { title: 'ZoneRoom', description: 'How much of a zone is sold' },
)

export const OperatedImage = Type.Object(
  {
    template: Type.String({ description: 'Short name of the template', examples: ['debian-13'] }),
    pool: Type.String({ description: 'The machines that it is for', examples: [defaultModule.name] }),
    is_retired: Type.Boolean({
      description: 'Whether the template is not on offer any more',
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
      description: 'What is done now, why it failed, or where it came from; null if there is nothing to say',
    }),
    bytes: nullable(Type.Integer({ examples: [null] }), {
      description: 'Size of its files in bytes; null unless `status` is `ready`',
    }),
  },
  { title: 'OperatedImage', description: 'The image of a template on one kind of machines' },
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
      description: 'Those that wait or run (`active`), or those of the last 10,000 that failed (`failed`)',
    }),
  ),
})
