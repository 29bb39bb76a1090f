import Type, { type Static } from 'typebox'
import { scopeNames } from '../http/auth.ts'
import { nullable, Timestamp, Uuid, visibleName } from '../http/fields.ts'

export const Project = Type.Object(
  {
    project_id: Uuid,
    name: Type.String(),
    description: nullable(Type.String()),
    is_default: Type.Boolean({ description: 'Takes the servers that name no project' }),
    server_count: Type.Integer(),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Project' },
)
export type Project = Static<typeof Project>

export const ProjectCreate = Type.Object(
  {
    name: visibleName(64),
    description: Type.Optional(nullable(Type.String({ maxLength: 255 }))),
  },
  { title: 'ProjectCreate' },
)

export const ProjectUpdate = Type.Object(
  {
    name: Type.Optional(visibleName(64)),
    description: Type.Optional(nullable(Type.String({ maxLength: 255 }))),
  },
  { title: 'ProjectUpdate', minProperties: 1 },
)

export const SshKey = Type.Object(
  {
    ssh_key_id: Uuid,
    name: Type.String(),
    public_key: Type.String(),
    fingerprint: Type.String({ description: 'As OpenSSH prints it: SHA256:…' }),
    key_type: Type.String(),
    created_at: Timestamp,
  },
  { title: 'SshKey' },
)
export type SshKey = Static<typeof SshKey>

export const SshKeyCreate = Type.Object(
  {
    name: visibleName(64),
    public_key: Type.String({ minLength: 1, maxLength: 16_384, description: 'One line of a .pub file' }),
  },
  { title: 'SshKeyCreate' },
)

const ScopeName = Type.Enum([...scopeNames])

export const Token = Type.Object(
  {
    token_id: Uuid,
    name: Type.String(),
    scopes: Type.Array(ScopeName),
    expires_at: nullable(Timestamp),
    last_used_at: nullable(Timestamp),
    created_at: Timestamp,
  },
  { title: 'Token' },
)
export type Token = Static<typeof Token>

export const NewToken = Type.Object(
  {
    ...Token.properties,
    token: Type.String({ description: 'The value: shown this once' }),
  },
  { title: 'NewToken' },
)

export const TokenCreate = Type.Object(
  {
    name: visibleName(64),
    scopes: Type.Array(ScopeName, { minItems: 1, uniqueItems: true }),
    expires_at: Type.Optional(nullable(Timestamp)),
  },
  { title: 'TokenCreate' },
)

const Quota = Type.Object({ limit: Type.Integer(), used: Type.Integer() })

export const Me = Type.Object(
  {
    account_id: Uuid,
    email: Type.String(),
    name: Type.String(),
    status: Type.Enum(['active', 'suspended', 'closed']),
    created_at: Timestamp,
    default_project_id: Uuid,
    token: Type.Object({
      token_id: Uuid,
      name: Type.String(),
      scopes: Type.Array(Type.String()),
      expires_at: nullable(Timestamp),
    }),
    quotas: Type.Object({
      projects: Quota,
      ssh_keys: Quota,
      servers: Quota,
      cpu: Quota,
      ram_mb: Quota,
      disk_gb: Quota,
    }),
  },
  { title: 'Account' },
)
export type Me = Static<typeof Me>
