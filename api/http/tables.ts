declare module '../database/schema.ts' {
  interface Schema {
    idempotency_keys: IdempotencyKeyTable
  }
}

export interface IdempotencyKeyTable {
  account_id: string
  /** Method and path. */
  scope: string
  key: string
  /** SHA-256 of the body, hex. */
  request: string
  /** JSON of the reply, sealed; null while the request runs. */
  reply: string | null
  /** Id of the object that the request created, written in the same transaction. */
  made_id: string | null
  claimed_until: number
  /** The process that carries out the request; null in rows of earlier versions. */
  owner: string | null
  created_at: number
}
