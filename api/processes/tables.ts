declare module '../database/schema.ts' {
  interface Schema {
    processes: ProcessTable
    duties: DutyTable
    pool_shares: PoolShareTable
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
  /** 1: the process accepts pools; a process of an earlier version, or one that is starting, does not. */
  takes_pools: number
  /** The path of the catalogue's file on the host; null: the process is of an earlier version. */
  catalog_file: string | null
}

/** A pool whose machines a process looks after, assigned by the process with the duty of the reconciler. */
export interface PoolShareTable {
  pool: string
  owner: string
  /** The process that assigned the pool. The assignment ends when another process takes over the duty. */
  given_by: string
}

/** A duty that one process has for all of them. */
export interface DutyTable {
  name: string
  /** The process with the duty, which may be gone; null: no process has had it yet. */
  owner: string | null
}
