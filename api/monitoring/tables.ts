declare module '../database/schema.ts' {
  interface Schema {
    traffic: TrafficTable
    meters: MeterTable
    samples: SampleTable
    /** A view of all samples, including those in a table of PostgreSQL that predates partitions. */
    kept_samples: SampleTable
  }
}

/** The traffic of a server's network card in a month. */
export interface TrafficTable {
  server_id: string
  account_id: string
  /** The beginning of the month. */
  month: number
  in_bytes: number
  out_bytes: number
}

/** The last measurement of each server's machine, with which the next one is compared. */
export interface MeterTable {
  server_id: string
  /** Identifies the server in its samples. */
  series: number
  /** JSON: Reading of monitoring/reading.ts. */
  reading: string
  read_at: number
}

/** A server's usage in one slot of time; null is unknown. */
export interface SampleTable {
  series: number
  /**
   * The length of the slot in seconds. For the finest it only names the tier: those samples last for the
   * sampler's interval.
   */
  resolution: number
  /** The beginning of the slot, in seconds since the epoch. */
  at: number
  /** 1/100 percent of all cores. */
  cpu: number | null
  memory_mb: number | null
  disk_mb: number | null
  /** Bytes a second. */
  disk_read: number | null
  disk_write: number | null
  network_rx: number | null
  network_tx: number | null
}
