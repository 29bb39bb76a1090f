declare module '../database/schema.ts' {
  interface Schema {
    pool_usage: PoolUsageTable
  }
}

/** What servers hold of a pool of compute, so that capacity is taken by one conditional update. */
export interface PoolUsageTable {
  pool: string
  cpu: number
  ram_mb: number
  disk_gb: number
}
