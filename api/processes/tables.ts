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
  /** 1: it looks after pools that are given to it; one of an earlier version, or that just starts, does not. */
  takes_pools: number
  /** The path of the catalogue's file on the host; null: the process is of an earlier version. */
  catalog_file: string | null
}

/** The pool whose machines a process looks after, if the one that has the duty of the reconciler has said so. */
export interface PoolShareTable {
  pool: string
  owner: string
  /** The process that said so. If another one has the duty, of this version or an earlier one, it holds no more. */
  given_by: string
}

/** A duty that one process has for all of them. */
export interface DutyTable {
  name: string
  /** A process that may be gone; null: nobody had it yet. */
  owner: string | null
}
