declare module '../database/schema.ts' {
  interface Schema {
    pool_usage: PoolUsageTable
  }
}

/** The resources of a compute pool that servers use, kept here so that one conditional update takes capacity. */
export interface PoolUsageTable {
  pool: string
  cpu: number
  ram_mb: number
  disk_gb: number
}
