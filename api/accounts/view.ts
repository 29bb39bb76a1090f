import { labelsOf } from '../database/labels.ts'
import { type Actor, covered, scopeNames } from '../http/contract/auth.ts'
import { isoTime, isoTimeOrNull } from '../http/contract/fields.ts'
import { formatMoney } from '../money.ts'
import type { Limit } from './quotas.ts'
import type { Me, Project, SshKey, Token } from './schema.ts'
import type { AccountTable, ProjectTable, SshKeyTable, TokenTable } from './tables.ts'

/** A project, with the default project of its account. */
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
    labels: labelsOf(row),
    created_at: isoTime(row.created_at),
  }
}

/** The ranges that the token may be used from; empty: any address. */
export function cidrsOf({ cidrs }: Pick<TokenTable, 'cidrs'>): string[] {
  const list: string[] = JSON.parse(cidrs)
  return list
}

export function tokenView(row: TokenTable): Token {
  return {
    token_id: row.token_id,
    name: row.name,
    scopes: scopeNames.filter((name) => row.scopes.split(' ').includes(name)),
    parent_token_id: row.parent_token_id,
    person_id: row.person_id,
    project_id: row.project_id,
    cidrs: cidrsOf(row),
    expires_at: isoTimeOrNull(row.expires_at),
    last_used_at: isoTimeOrNull(row.last_used_at),
    created_at: isoTime(row.created_at),
  }
}

/** The prices of an account that differ from the catalogue. */
export function ownPrices(account: Pick<AccountTable, 'price_percent' | 'price_presets'>) {
  const units: Record<string, number> = JSON.parse(account.price_presets)
  const presets = Object.entries(units).map(([slug, price]) => [slug, formatMoney(price)] as const)
  return { price_percent: account.price_percent, preset_prices_rub: Object.fromEntries(presets) }
}

function usedToken(row: TokenTable): Me['token'] {
  const { token_id, name, scopes, cidrs, expires_at } = tokenView(row)
  return { token_id, name, scopes, cidrs, expires_at }
}

function reasonView({ reason, next }: Limit): Me['limit_reasons'][string] {
  return { reason, next: next && { paid_rub: formatMoney(next.paid), limit: next.limit } }
}

/** Both parts of quotas on the wire: limits with their use, and the reasons of the limits. */
export function quotasView(
  limits: Readonly<Record<string, Limit>>,
  used: Readonly<Record<string, number>>,
): Pick<Me, 'quotas' | 'limit_reasons'> {
  const each = Object.entries(limits)
  return {
    quotas: Object.fromEntries(each.map(([name, { limit }]) => [name, { limit, used: used[name] ?? 0 }])),
    limit_reasons: Object.fromEntries(each.map(([name, limit]) => [name, reasonView(limit)])),
  }
}

export function meView(
  account: AccountTable,
  {
    token,
    person,
    scopes,
    hasHcloud,
  }: Pick<Actor, 'scopes'> & { token: TokenTable | null; person: Me['person']; hasHcloud: boolean },
  quotas: ReturnType<typeof quotasView>,
): Me {
  return {
    account_id: account.account_id,
    email: account.email,
    name: account.name,
    status: account.status,
    status_reason: account.status_reason,
    status_since: isoTimeOrNull(account.status_since),
    created_at: isoTime(account.created_at),
    default_project_id: account.default_project_id,
    ...ownPrices(account),
    is_smtp_open: account.is_smtp_open === 1,
    has_hcloud: hasHcloud,
    token: token && usedToken(token),
    person,
    scopes: covered(scopes),
    ...quotas,
  }
}
