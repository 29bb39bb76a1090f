declare module '../database/schema.ts' {
  interface Schema {
    events: EventTable
    event_relay: EventRelayTable
    audit: AuditTable
  }
}

/** An event, written in the transaction of the change that it reports. */
export interface EventTable {
  event_id: string
  account_id: string
  type: string
  /** JSON. */
  data: string
  created_at: number
  /** The position in the order in which transactions became visible; null until it is assigned. */
  position: number | null
}

/** The last position that was given to an event. */
export interface EventRelayTable {
  relay_id: number
  position: number
}

/** An entry of the audit log: the actor, the change, and the address. */
export interface AuditTable {
  audit_id: string
  account_id: string
  /** The operationId of the route, or the operator's command. */
  action: string
  object_type: string
  object_id: string | null
  token_id: string | null
  /** The person who was signed in, and their address at that time. */
  person_id: string | null
  person_email: string | null
  address: string | null
  request_id: string
  created_at: number
  /** Host and number of the process that wrote it, for operators; null in entries from before it was kept. */
  process: string | null
  /** Units that the request added to the balance; null if it booked nothing. */
  amount: number | null
}
