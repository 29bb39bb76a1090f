declare module '../database/schema.ts' {
  interface Schema {
    volumes: VolumeTable
  }
}

/** A volume, or a deleted one, which usage still shows. */
export interface VolumeTable {
  volume_id: string
  account_id: string
  project_id: string
  name: string
  zone_slug: string
  /** The pool of the driver that keeps it. */
  pool: string
  size_gb: number
  status: 'available' | 'attaching' | 'attached' | 'detaching' | 'deleting'
  /** The server that has it, or is about to get it. */
  server_id: string | null
  /** Its path in the guest. */
  device: string | null
  /** JSON. */
  labels: string
  price_month: number
  price_hour: number
  /** The time whose prices these are. */
  priced_at: number
  created_at: number
  updated_at: number
  deleted_at: number | null
}
