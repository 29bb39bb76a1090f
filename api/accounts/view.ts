import type { AccountTable, ProjectTable, SshKeyTable, TokenTable } from '../database/schema.ts'
import { scopeNames } from '../http/auth.ts'
import { isoTime, isoTimeOrNull } from '../http/fields.ts'
import { quotasOf } from './quotas.ts'
import type { Me, Project, SshKey, Token } from './schema.ts'

/** A project, with what its account says of it. */
export type ProjectRow = ProjectTable & Pick<AccountTable, 'default_project_id'>

export function projectView(row: ProjectRow): Project {
  return {
    project_id: row.project_id,
    name: row.name,
    description: row.description,
    is_default: row.project_id === row.default_project_id,
    server_count: row.server_count,
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  }
}

export function sshKeyView(row: SshKeyTable): SshKey {
  return {
    ssh_key_id: row.ssh_key_id,
    name: row.name,
    public_key: row.public_key,
    fingerprint: row.fingerprint,
    key_type: row.key_type,
    created_at: isoTime(row.created_at),
  }
}

export function tokenView(row: TokenTable): Token {
  return {
    token_id: row.token_id,
    name: row.name,
    scopes: scopeNames.filter((name) => row.scopes.split(' ').includes(name)),
    parent_token_id: row.parent_token_id,
    expires_at: isoTimeOrNull(row.expires_at),
    last_used_at: isoTimeOrNull(row.last_used_at),
    created_at: isoTime(row.created_at),
  }
}

export function meView(
  account: AccountTable,
  token: TokenTable,
  counts: Readonly<Record<'projects' | 'ssh_keys' | 'tokens' | 'webhooks', number>>,
): Me {
  const limits = quotasOf(account.quotas)
  const quota = (name: keyof Me['quotas'], used: number) => ({ limit: limits[name], used })
  return {
    account_id: account.account_id,
    email: account.email,
    name: account.name,
    status: account.status,
    created_at: isoTime(account.created_at),
    default_project_id: account.default_project_id,
    token: {
      token_id: token.token_id,
      name: token.name,
      scopes: token.scopes.split(' '),
      expires_at: isoTimeOrNull(token.expires_at),
    },
    quotas: {
      projects: quota('projects', counts.projects),
      ssh_keys: quota('ssh_keys', counts.ssh_keys),
      tokens: quota('tokens', counts.tokens),
      webhooks: quota('webhooks', counts.webhooks),
      servers: quota('servers', account.servers_used),
      cpu: quota('cpu', account.cpu_used),
      ram_mb: quota('ram_mb', account.ram_mb_used),
      disk_gb: quota('disk_gb', account.disk_gb_used),
    },
  }
}
