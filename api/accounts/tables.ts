declare module '../database/schema.ts' {
  interface Schema {
    accounts: AccountTable
    tokens: TokenTable
    projects: ProjectTable
    ssh_keys: SshKeyTable
    limit_steps: LimitStepsTable
  }
}

export interface AccountTable {
  account_id: string
  email: string
  /** The operator's own id of the account; null if they gave none. */
  external_id: string | null
  name: string
  status: 'active' | 'suspended' | 'closed'
  /** Why and since when it has its status; null if it never changed, or changed before this was kept. */
  status_reason: string | null
  status_since: number | null
  /** Since when it is frozen to keep evidence, which includes a suspension; null: it is not frozen. */
  frozen_at: number | null
  default_project_id: string
  /** Limits that differ from the settings: JSON of a partial Quotas. */
  quotas: string
  /** The resources that the account's servers hold now, kept here so that one conditional update checks a quota. */
  servers_used: number
  cpu_used: number
  ram_mb_used: number
  disk_gb_used: number
  /** 1: its servers may connect to port 25 of others. */
  is_smtp_open: number
  /** The operator's own tags for the account, as a JSON array: customers do not see them. */
  tags: string
  /** The operator's own notes on the account: customers do not see them. */
  notes: string | null
  /** Percent added to the prices of the catalogue, and presets with a price of their own: a JSON object of units a month. */
  price_percent: number
  price_presets: string
  /** When its prices changed; null once all its objects have the changed prices. */
  repriced_since: number | null
  created_at: number
}

export interface TokenTable {
  token_id: string
  account_id: string
  name: string
  /** SHA-256 of the token, hex. The token itself is not stored. */
  hash: string
  /** Scopes separated by spaces. */
  scopes: string
  /** The token that it was created with; null if the operator created it. */
  parent_token_id: string | null
  /** The person who created it; null if no person did. */
  person_id: string | null
  /** The project that it is bound to, as a token for hcloud's tools; null for tokens of /v1. */
  project_id: string | null
  /** The addresses that may use it, as a JSON array of CIDRs; empty: all. */
  cidrs: string
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
  created_at: number
}

export interface ProjectTable {
  project_id: string
  account_id: string
  name: string
  description: string | null
  server_count: number
  created_at: number
  updated_at: number
}

export interface SshKeyTable {
  ssh_key_id: string
  account_id: string
  name: string
  public_key: string
  fingerprint: string
  key_type: string
  /** JSON. */
  labels: string
  created_at: number
}

/** The one row of the steps by which limits grow with what accounts paid. */
export interface LimitStepsTable {
  limit_steps_id: number
  /** JSON: LimitSteps of catalog/limit-steps.ts. */
  steps: string
}
