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
  /** Up to this position what is pending is given up, which the job is still writing down; null where it need not. */
  given_up_to: number | null
  /** Since when it is there for the job alone, which deletes it after its deliveries. */
  deleted_at: number | null
  /** Sealed: what signs as well until a moment, null where nothing was replaced. */
  previous_secret: string | null
  previous_secret_until: number | null
  /** Whether the endpoint at this URL has answered a challenge; events wait until then. */
  verification: 'pending' | 'verified' | 'failed'
  /** The fault of the last challenge's reply. */
  verification_error: string | null
  challenged_at: number | null
  /** Challenges since verification was asked for. */
  challenges: number
  /** JSON: the addresses that answered a challenge; null where any may be sent to. */
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
