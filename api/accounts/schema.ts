import Type, { type Static } from 'typebox'
import type { Quota } from '../feature.ts'
import { fineScopes, roleNames, scopeNames } from '../http/contract/auth.ts'
import {
  CreatedAt,
  LabelSelector,
  Labels,
  money,
  NewLabels,
  nullable,
  timestamp,
  UpdatedAt,
  uuid,
  visibleName,
} from '../http/contract/fields.ts'
import { pagingQuery } from '../http/contract/paging.ts'
import { defineProblems } from '../http/contract/problem.ts'

export const accountProblems = defineProblems({
  quota_exceeded: {
    status: 403,
    title: 'Quota exceeded',
    members: {
      quota: Type.Object(
        {
          name: Type.String({ description: 'Name of the quota', examples: ['servers'] }),
          limit: Type.Integer({ description: 'How much the account may have', examples: [20] }),
          used: Type.Integer({ description: 'How much the account has', examples: [20] }),
          requested: Type.Integer({ description: 'How much more the request asks for', examples: [1] }),
        },
        { description: 'The quota that would be exceeded' },
      ),
    },
  },
  account_suspended: { status: 403, title: 'The account is suspended' },
  token_not_revocable: { status: 403, title: 'The token may be used longer or from more addresses' },
  project_not_found: { status: 404, title: 'No such project' },
  ssh_key_not_found: { status: 404, title: 'No such SSH key' },
  token_not_found: { status: 404, title: 'No such token' },
  project_not_empty: { status: 409, title: 'The project has servers' },
  project_is_default: { status: 409, title: 'The default project cannot be deleted' },
  ssh_key_exists: {
    status: 409,
    title: 'The SSH key already exists',
    members: { ssh_key_id: uuid('01a1fb45-1ab5-76a6-be1c-72070ab457ce', 'Id of the key that exists') },
  },
})

export const PersonId = uuid('01a1fb44-5b00-7c3e-9d1f-4a5b6c7d8e9f', 'Id of a person')
export const RoleName = Type.Enum([...roleNames], {
  description:
    'Role of a person in the account: `owner` and `admin` can do everything, `member` manages servers, `billing` manages the account and its balance, and `viewer` can only read',
  examples: ['owner'],
})

/** The project of the examples. */
export const PROJECT = '01a1fb44-5997-73df-a23c-ea72e7720849'
export const ProjectId = uuid(PROJECT, 'Id of a project', 'GET /account/projects')
export const SshKeyId = uuid(
  '01a1fb45-1ab5-76a6-be1c-72070ab457ce',
  'Id of an SSH key',
  'GET /account/ssh_keys',
)
const TokenId = uuid('01a1fb44-5a01-7b9e-9f55-3a0e9a1b2c3d', 'Id of a token, which is not secret')
const projectName = visibleName(64, 'Shop')
const keyName = visibleName(64, 'laptop')
const ProjectDescription = nullable(
  Type.String({ maxLength: 255, examples: ['The shop and its database'] }),
  {
    description: 'Text of your choice, up to 255 characters; null for none',
  },
)

export const Project = Type.Object(
  {
    project_id: ProjectId,
    name: Type.String({ description: 'Name of your choice', examples: ['Shop'] }),
    description: nullable(Type.String({ examples: ['The shop and its database'] }), {
      description: 'Text of your choice; null if there is none',
    }),
    is_default: Type.Boolean({
      description: 'Whether servers are created in it if no project is given; it cannot be deleted',
    }),
    server_count: Type.Integer({ description: 'Number of servers in it', examples: [1] }),
    created_at: CreatedAt,
    updated_at: UpdatedAt,
  },
  { title: 'Project', description: 'A folder for servers; every server is in one' },
)
export type Project = Static<typeof Project>

export const ProjectCreate = Type.Object(
  {
    name: projectName,
    description: Type.Optional(ProjectDescription),
  },
  { title: 'ProjectCreate', description: 'A project to create' },
)

export const ProjectUpdate = Type.Object(
  {
    name: Type.Optional(projectName),
    description: Type.Optional(ProjectDescription),
  },
  { title: 'ProjectUpdate', description: 'Fields to change; the others stay as they are', minProperties: 1 },
)

const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGMoMIFDVDohmm63YQ52UEi7TFEZ74Msn8Vi7fKlJwH0 ann@laptop'

export const SshKey = Type.Object(
  {
    ssh_key_id: SshKeyId,
    name: Type.String({ description: 'Name of your choice', examples: ['laptop'] }),
    public_key: Type.String({ description: 'The key as in a .pub file', examples: [PUBLIC_KEY] }),
    fingerprint: Type.String({
      description: 'As OpenSSH prints it, `SHA256:…`; unique in the account',
      examples: ['SHA256:BG2L77QnDhh1ECY49/Cdlc8DfQd+VK7WLhpBisLHfiQ'],
    }),
    key_type: Type.String({ description: 'Type of the key as OpenSSH names it', examples: ['ssh-ed25519'] }),
    labels: Labels,
    created_at: CreatedAt,
  },
  { title: 'SshKey', description: 'A public key that new servers can accept' },
)
export type SshKey = Static<typeof SshKey>

export const SshKeyCreate = Type.Object(
  {
    name: keyName,
    public_key: Type.String({
      minLength: 1,
      maxLength: 16_384,
      description:
        'One line of a .pub file: ed25519, ecdsa, rsa with 2048 (Packer: 2014) to 16384 bits, or a security key; no options before it',
      examples: [PUBLIC_KEY],
    }),
    labels: Type.Optional(NewLabels),
  },
  { title: 'SshKeyCreate', description: 'A public key to add' },
)

export const SshKeyUpdate = Type.Object(
  { name: Type.Optional(keyName), labels: Type.Optional(NewLabels) },
  { title: 'SshKeyUpdate', description: 'Fields to change', minProperties: 1 },
)

export const SshKeyQuery = Type.Object({ ...pagingQuery, label: Type.Optional(LabelSelector) })

const ScopeName = Type.Enum([...scopeNames])
export const Scopes = Type.Array(ScopeName, {
  minItems: 1,
  uniqueItems: true,
  description:
    'What the token may do; `read` and `write` stand for both scopes of their kind, and write does not include read',
})

const cidr = Type.String({ examples: ['203.0.113.0/24'] })
const Cidrs = Type.Array(cidr, {
  description: 'Addresses that the token may be used from, in CIDR notation; empty if any address is allowed',
})

const ExpiresAt = nullable(timestamp('When it expires'), {
  description: 'When it stops being valid; null if never',
  examples: [null],
})

export const Token = Type.Object(
  {
    token_id: TokenId,
    name: Type.String({ description: 'Name of your choice', examples: ['deploy'] }),
    scopes: Scopes,
    parent_token_id: nullable(TokenId, {
      description:
        'The token that it was created with, and is revoked with; null if a person or the operator created it',
    }),
    person_id: nullable(PersonId, {
      description:
        'The person who created it, or the token before it in a rotation; it is revoked when they leave the account. Null if no person did',
    }),
    project_id: nullable(ProjectId, {
      description: "The project that a token for hcloud's tools sees; null for a token of this API",
      examples: [null],
    }),
    cidrs: Cidrs,
    expires_at: ExpiresAt,
    last_used_at: nullable(timestamp('When it was last used'), {
      description: 'When it was last used, to the minute; null if never',
    }),
    created_at: CreatedAt,
  },
  { title: 'Token', description: 'A token without its value' },
)
export type Token = Static<typeof Token>

export const NewToken = Type.Object(
  {
    ...Token.properties,
    token: Type.String({
      description: 'The value, shown only once',
      examples: ['berth_fTXkWatBsdn82aEM5WuXbnyIDIa8sEqZo5tXGcsSKSD0PeVXc'],
    }),
  },
  { title: 'NewToken', description: 'A token with its value' },
)

export const TokenCreate = Type.Object(
  {
    name: visibleName(64, 'deploy'),
    scopes: Scopes,
    expires_at: Type.Optional(
      nullable(timestamp('When it expires'), {
        description:
          'When it stops being valid, at the latest with the token that creates it, which is also the default (null: the same)',
        examples: ['2027-11-20T12:00:00.000Z'],
      }),
    ),
    cidrs: Type.Optional(
      nullable(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 20 }), {
        description:
          'Addresses and ranges that it may be used from, within those of the token that creates it, which are the default',
        examples: [['203.0.113.0/24', '2001:db8::7']],
      }),
    ),
    kind: Type.Optional(
      Type.Enum(['api', 'hcloud'], {
        description:
          'The API that it is for: this one, the default, or only `/hcloud/v1`, for tools that speak the hcloud API; its value has 64 letters and digits',
        examples: ['api'],
      }),
    ),
    project_id: Type.Optional({
      ...ProjectId,
      description:
        'The project that a token of the kind `hcloud` sees. Default: the default project of the account',
    }),
  },
  {
    title: 'TokenCreate',
    description: 'A token to create',
    examples: [{ name: 'deploy', scopes: ['read', 'write'] }],
  },
)

export const TokenRevocation = Type.Object({
  keep_children: Type.Optional(
    Type.Boolean({
      default: false,
      examples: [true],
      description: 'Whether tokens created with it stay valid; its parent and person become theirs',
    }),
  ),
})

const quotaSchema = ({ description, limit, example }: Quota) =>
  Type.Object(
    {
      limit: Type.Integer({ description: 'The most that the account may have', examples: [limit] }),
      used: Type.Integer({ description: 'How much the account has', examples: [example] }),
    },
    { description },
  )

const LimitReason = Type.Object(
  {
    reason: Type.Enum(['default', 'unpaid', 'paid', 'own'], {
      description:
        '`default`: all accounts have it. `unpaid`: the account has not paid enough for more. `paid`: what it has paid raised it. `own`: the operator set it for this account',
      examples: ['paid'],
    }),
    next: nullable(
      Type.Object({
        paid_rub: money('The sum of payments that raises it, less refunds and chargebacks', '5000.00'),
        limit: Type.Integer({ description: 'The limit from then on', examples: [20] }),
      }),
      {
        description: 'The next sum that raises it; null if further payments do not raise it',
        examples: [null],
      },
    ),
  },
  { title: 'LimitReason', description: 'Why a quota has its limit, and what raises it' },
)

const standing = {
  status: Type.Enum(['active', 'suspended', 'closed'], {
    description:
      'A suspended account can read, stop, delete, pay and answer complaints; a closed one can only read. The operator sets the status',
  }),
  status_reason: nullable(Type.String({ examples: ['Sends spam'] }), {
    description: "The operator's reason for the status; null if the operator never changed it",
    examples: [null],
  }),
  status_since: nullable(timestamp('When it got its status'), {
    description: 'When the operator set the status; null if the operator never changed it',
    examples: [null],
  }),
}

/** Prices of an account that differ from the catalogue. */
export const ownPrices = {
  price_percent: Type.Integer({
    minimum: -100,
    maximum: 100,
    description:
      "Percent that the operator adds to the catalogue's prices for the account; below zero: a discount. Backups follow the price of their server",
    examples: [-10],
  }),
  preset_prices_rub: Type.Unsafe<Record<string, string>>({
    type: 'object',
    maxProperties: 100,
    propertyNames: {
      pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
      errorMessage: 'must have slugs of presets as names.',
    },
    additionalProperties: {
      type: 'string',
      pattern: String.raw`^\d{1,7}(\.\d{1,2})?$`,
      errorMessage: 'must be an amount in rubles such as "99.00", below ten million.',
    },
    description:
      'Prices per month of presets that have one of their own for the account, by slug; the percent does not change them',
    examples: [{ nano: '99.00' }],
  }),
}

const quotaFields = (quotas: readonly Quota[]) => ({
  quotas: Type.Object(Object.fromEntries(quotas.map((quota) => [quota.name, quotaSchema(quota)])), {
    description: 'Quotas of the account; a request that exceeds one returns 403 `quota_exceeded`',
  }),
  limit_reasons: Type.Object(Object.fromEntries(quotas.map(({ name }) => [name, LimitReason])), {
    description: 'Why each quota has its limit, and what raises it',
  }),
})

/** The account as `GET /account/me` shows it, with the quotas of all features. */
export const accountSchema = (quotas: readonly Quota[]) =>
  Type.Object(
    {
      account_id: uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11', 'Id of the account'),
      email: Type.String({
        description: 'Contact address of the account, for the operator',
        examples: ['ann@example.com'],
      }),
      name: Type.String({ description: 'Name of the customer', examples: ['Ann'] }),
      ...standing,
      created_at: CreatedAt,
      default_project_id: uuid(PROJECT, 'Id of the project that servers are created in if none is given'),
      ...ownPrices,
      is_smtp_open: Type.Boolean({
        description:
          'Whether its servers may connect to port 25 (SMTP) of other hosts, as mail servers do; ask the operator. Ports 465 and 587 are open to all',
        examples: [false],
      }),
      has_hcloud: Type.Boolean({
        description: 'Whether this installation has `/hcloud/v1`, and so creates tokens of the kind `hcloud`',
        examples: [false],
      }),
      token: nullable(
        Type.Object({
          token_id: TokenId,
          name: Type.String({ description: 'Name of the token', examples: ['deploy'] }),
          scopes: Scopes,
          cidrs: Cidrs,
          expires_at: ExpiresAt,
        }),
        { description: 'The token of this request; null if a person is signed in instead' },
      ),
      person: nullable(
        Type.Object({
          person_id: PersonId,
          email: Type.String({ description: 'E-mail address of the person', examples: ['ann@example.com'] }),
          name: Type.String({ description: 'Name of the person', examples: ['Ann'] }),
          role: RoleName,
          is_operator: Type.Boolean({
            description: 'Whether the person runs this installation',
            examples: [false],
          }),
        }),
        { description: 'The person who is signed in, with their role in this account; null with a token' },
      ),
      scopes: Type.Array(Type.Enum([...fineScopes]), {
        description:
          'Scopes of this request, by token or by role; `read` and `write` are listed as the scopes that they stand for',
        examples: [[...fineScopes]],
      }),
      ...quotaFields(quotas),
    },
    { title: 'Account', description: 'A customer, who owns everything else and pays for it' },
  )
export type Me = Static<ReturnType<typeof accountSchema>>
