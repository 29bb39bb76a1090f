import Type, { type Static } from 'typebox'
import { scopeNames } from '../http/auth.ts'
import { nullable, Timestamp, uuid, visibleName } from '../http/fields.ts'
import { defineProblems } from '../http/problem.ts'

export const accountProblems = defineProblems({
  quota_exceeded: {
    status: 403,
    title: 'Quota exceeded',
    members: {
      quota: Type.Object(
        {
          name: Type.String({ description: 'Name of the quota', examples: ['servers'] }),
          limit: Type.Integer({ description: 'How much the account may have', examples: [20] }),
          used: Type.Integer({ description: 'How much it has', examples: [20] }),
          requested: Type.Integer({ description: 'How much more the request needs', examples: [1] }),
        },
        { description: 'The quota that does not allow it' },
      ),
    },
  },
  account_suspended: { status: 403, title: 'The account is suspended' },
  project_not_found: { status: 404, title: 'No such project' },
  ssh_key_not_found: { status: 404, title: 'No such SSH key' },
  token_not_found: { status: 404, title: 'No such token' },
  project_not_empty: { status: 409, title: 'The project has servers' },
  project_is_default: { status: 409, title: 'The default project cannot be deleted' },
  ssh_key_exists: {
    status: 409,
    title: 'The SSH key already exists',
    members: { ssh_key_id: uuid('01a1fb45-1ab5-76a6-be1c-72070ab457ce', 'The key that exists') },
  },
})

export const ProjectId = uuid('01a1fb44-5997-73df-a23c-ea72e7720849')
export const SshKeyId = uuid('01a1fb45-1ab5-76a6-be1c-72070ab457ce')
const TokenId = uuid('01a1fb44-5a01-7b9e-9f55-3a0e9a1b2c3d')

export const Project = Type.Object(
  {
    project_id: ProjectId,
    name: Type.String({ examples: ['Shop'] }),
    description: nullable(Type.String({ examples: ['The shop and its database'] })),
    is_default: Type.Boolean({ description: 'Servers are created in it if no project is given' }),
    server_count: Type.Integer({ examples: [1] }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Project' },
)
export type Project = Static<typeof Project>

export const ProjectCreate = Type.Object(
  {
    name: visibleName(64),
    description: Type.Optional(
      nullable(Type.String({ maxLength: 255, examples: ['The shop and its database'] })),
    ),
  },
  { title: 'ProjectCreate' },
)

export const ProjectUpdate = Type.Object(
  {
    name: Type.Optional(visibleName(64)),
    description: Type.Optional(
      nullable(Type.String({ maxLength: 255, examples: ['The shop and its database'] })),
    ),
  },
  { title: 'ProjectUpdate', minProperties: 1 },
)

const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGMoMIFDVDohmm63YQ52UEi7TFEZ74Msn8Vi7fKlJwH0 ann@laptop'

export const SshKey = Type.Object(
  {
    ssh_key_id: SshKeyId,
    name: Type.String({ examples: ['laptop'] }),
    public_key: Type.String({ examples: [PUBLIC_KEY] }),
    fingerprint: Type.String({
      description: 'As OpenSSH prints it: SHA256:…',
      examples: ['SHA256:BG2L77QnDhh1ECY49/Cdlc8DfQd+VK7WLhpBisLHfiQ'],
    }),
    key_type: Type.String({ examples: ['ssh-ed25519'] }),
    created_at: Timestamp,
  },
  { title: 'SshKey' },
)
export type SshKey = Static<typeof SshKey>

export const SshKeyCreate = Type.Object(
  {
    name: visibleName(64),
    public_key: Type.String({
      minLength: 1,
      maxLength: 16_384,
      description: 'One line of a .pub file',
      examples: [PUBLIC_KEY],
    }),
  },
  { title: 'SshKeyCreate' },
)

export const SshKeyUpdate = Type.Object(
  { name: Type.Optional(visibleName(64)) },
  { title: 'SshKeyUpdate', minProperties: 1 },
)

const ScopeName = Type.Enum([...scopeNames])

export const Token = Type.Object(
  {
    token_id: TokenId,
    name: Type.String({ examples: ['deploy'] }),
    scopes: Type.Array(ScopeName),
    parent_token_id: nullable(TokenId, {
      description: 'The token that it was created with, and is revoked with; null if the operator created it',
    }),
    expires_at: nullable(Timestamp, { examples: [null] }),
    last_used_at: nullable(Timestamp),
    created_at: Timestamp,
  },
  { title: 'Token' },
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
  { title: 'NewToken' },
)

export const TokenCreate = Type.Object(
  {
    name: visibleName(64),
    scopes: Type.Array(ScopeName, { minItems: 1, uniqueItems: true }),
    expires_at: Type.Optional(
      nullable(Timestamp, {
        description: 'Not after that of the token that creates it, which is the default',
        examples: ['2027-11-20T12:00:00.000Z'],
      }),
    ),
  },
  { title: 'TokenCreate' },
)

export const TokenRevocation = Type.Object({
  keep_children: Type.Optional(
    Type.Boolean({
      default: false,
      examples: [true],
      description: 'Whether tokens created with it stay valid; they become those of its own parent',
    }),
  ),
})

const Quota = Type.Object({ limit: Type.Integer({ examples: [20] }), used: Type.Integer({ examples: [1] }) })

export const Me = Type.Object(
  {
    account_id: uuid('01a1fb44-5996-7d1c-8d2f-2b1f6a1f0c11'),
    email: Type.String({ examples: ['ann@example.com'] }),
    name: Type.String({ examples: ['Ann'] }),
    status: Type.Enum(['active', 'suspended', 'closed']),
    created_at: Timestamp,
    default_project_id: ProjectId,
    token: Type.Object({
      token_id: TokenId,
      name: Type.String({ examples: ['deploy'] }),
      scopes: Type.Array(Type.String({ examples: ['account:read'] })),
      expires_at: nullable(Timestamp, { examples: [null] }),
    }),
    quotas: Type.Object({
      projects: Quota,
      ssh_keys: Quota,
      tokens: Quota,
      webhooks: Quota,
      servers: Quota,
      cpu: Quota,
      ram_mb: Quota,
      disk_gb: Quota,
    }),
  },
  { title: 'Account' },
)
export type Me = Static<typeof Me>
