declare module '../database/schema.ts' {
  interface Schema {
    console_tickets: ConsoleTicketTable
  }
}

/** A ticket that opens one console. */
export interface ConsoleTicketTable {
  /** The ticket's hash. */
  ticket: string
  account_id: string
  /** JSON: Credential of http/auth.ts. */
  credential: string
  server_id: string
  kind: 'console' | 'screen'
  pool: string
  issued_at: number
}
