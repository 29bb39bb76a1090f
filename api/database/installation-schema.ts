/** What holds for the installation as a whole, by name. */
export interface InstallationTable {
  name: string
  value: string
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

/** What one process does for all of them. */
export interface DutyTable {
  name: string
  /** A process that may be gone; null: nobody had it yet. */
  owner: string | null
}

/** A machine of the simulator, where several processes share it. */
export interface SimulatedMachineTable {
  server_id: string
  /** JSON: Machine of drivers/simulator.ts. */
  machine: string
}

/** What opens one console. */
export interface ConsoleTicketTable {
  /** Its hash. */
  ticket: string
  account_id: string
  /** JSON: Credential of http/auth.ts. */
  credential: string
  server_id: string
  pool: string
  issued_at: number
}

/** What servers hold of a pool of compute, so that capacity is taken by one conditional update. */
export interface PoolUsageTable {
  pool: string
  cpu: number
  ram_mb: number
  disk_gb: number
}
