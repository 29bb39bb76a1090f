declare module '../database/schema.ts' {
  interface Schema {
    snapshots: SnapshotTable
  }
}

/** A copy of a server's disk. The rows of deleted snapshots stay, because usage lists them. */
export interface SnapshotTable {
  snapshot_id: string
  account_id: string
  /** The project that is billed for it once its server is gone. */
  project_id: string
  /** The server whose disk was copied; it may be deleted by now. */
  server_id: string
  /** The operation that makes it; null once that has ended. */
  operation_id: string | null
  name: string
  zone_slug: string
  pool: string
  status: 'creating' | 'available' | 'error'
  /** The size of the copy; null until it is available. */
  bytes: number | null
  /** The size of the copied disk. */
  disk_gb: number
  consistency: 'filesystem' | 'crash' | null
  /** The login of the copied system, which a restored server has again. */
  template_id: string
  ssh_keys: string
  password: string | null
  /** The instance that the copied system was set up for. */
  instance_id: string
  price_month: number
  price_hour: number
  /** The time whose prices these are. */
  priced_at: number
  created_at: number
  updated_at: number
  deleted_at: number | null
  /** 1 if nothing of it is left on its host. */
  discarded: number
}
