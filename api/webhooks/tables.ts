declare module '../database/schema.ts' {
  interface Schema {
    webhooks: WebhookTable
    deliveries: DeliveryTable
  }
}

/** A destination of an account's events. The row is also the job that sends them, one after the other. */
export interface WebhookTable {
  webhook_id: string
  account_id: string
  name: string
  url: string
  /** JSON: a list of types, or of "*". */
  event_types: string
  /** Sealed. */
  secret: string
  is_enabled: number
  disabled_reason: 'failing' | 'gone' | 'unverified' | null
  /** The time of the next message; null: nothing is pending. */
  next_run_at: number | null
  lease_owner: string | null
  lease_until: number
  created_at: number
  /** Deliveries up to this position are given up, which the job is still recording; null if there are none. */
  given_up_to: number | null
  /** The time of its deletion; the job then deletes its deliveries, and after them the row. */
  deleted_at: number | null
  /** Sealed: the replaced secret, which also signs until a given time; null if there is none. */
  previous_secret: string | null
  previous_secret_until: number | null
  /** `verified` once the endpoint at this URL has answered a challenge; events wait until then. */
  verification: 'pending' | 'verified' | 'failed'
  /** The reason why the last challenge failed. */
  verification_error: string | null
  challenged_at: number | null
  /** The number of challenges since verification was requested. */
  challenges: number
  /** JSON: the addresses that answered a challenge; null if any is accepted. */
  verified_addresses: string | null
}

/** An event on its way to a webhook. */
export interface DeliveryTable {
  delivery_id: string
  webhook_id: string
  event_id: string
  event_type: string
  is_first: number
  position: number
  status: 'pending' | 'succeeded' | 'failed'
  /** JSON: Attempt[] of webhooks/store.ts. */
  attempts: string
  created_at: number
}
