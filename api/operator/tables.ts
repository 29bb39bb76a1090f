declare module '../database/schema.ts' {
  interface Schema {
    operator_tokens: OperatorTokenTable
  }
}

/** A token of the installation's operator. It belongs to no account. */
export interface OperatorTokenTable {
  token_id: string
  name: string
  /** SHA-256 of the token, hex. The token itself is not stored. */
  hash: string
  /** Scopes separated by spaces. */
  scopes: string
  /** The addresses that may use it, as a JSON array of CIDRs; there is at least one. */
  cidrs: string
  /** The user of the machine who created it. */
  created_by: string
  expires_at: number
  revoked_at: number | null
  last_used_at: number | null
  created_at: number
}
