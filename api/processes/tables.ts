declare module '../database/schema.ts' {
  interface Schema {
    processes: ProcessTable
    duties: DutyTable
  }
}

/** A process that serves the installation on PostgreSQL, beside others. */
export interface ProcessTable {
  process_id: string
  role: 'all' | 'api' | 'worker'
  host: string
  pid: number
  started_at: number
  /** By the database's clock. */
  seen_at: number
}

/** A duty that one process has for all of them. */
export interface DutyTable {
  name: string
  /** A process that may be gone; null: nobody had it yet. */
  owner: string | null
}
