declare module '../database/schema.ts' {
  interface Schema {
    snapshots: SnapshotTable
  }
}

/**
 * A disk from which servers can be created: a snapshot of a server's disk, or an image, which belongs to no
 * server. ISOs, for the drives of servers, are kept here too. The rows of deleted ones stay, because usage
 * lists them.
 */
export interface SnapshotTable {
  snapshot_id: string
  /** A backup is made by the service every day, is free, and expires. */
  item_type: 'snapshot' | 'image' | 'backup' | 'iso'
  account_id: string
  /** The project that is billed for it once its server is gone. */
  project_id: string
  /** The server whose disk was copied; it may be deleted by now. Empty for an image. */
  server_id: string
  /**
   * The time at which a backup is deleted, because its server is deleted or its backups are off; null: none.
   */
  expires_at: number | null
  /** The operation that makes it; null once that has ended. */
  operation_id: string | null
  name: string
  zone_slug: string
  pool: string
  status: 'creating' | 'uploading' | 'available' | 'error'
  /** Why an image can't be used, for people. */
  status_reason: string | null
  /** The size of the copy; null until it is available. */
  bytes: number | null
  /**
   * The full copy on which a difference builds, whose own row may be deleted; null: this copy is full. Until
   * it is made, this is a proposal.
   */
  base_id: string | null
  /** The part of `bytes` that the full copy takes, which its other differences share. */
  base_bytes: number
  /** The size of the copied disk; 0: not yet known. */
  disk_gb: number
  /** When it was last found unchanged since it was made, and how. */
  verified_at: number | null
  verified_by: 'hash' | 'boot' | null
  /** When it is verified next; null: not before it is available. */
  verify_due_at: number | null
  consistency: 'filesystem' | 'crash' | null
  /** When a backup is booted next; null: never, as a newer backup is booted instead. */
  boot_due_at: number | null
  /** When it was last booted, and how it started. */
  boot_checked_at: number | null
  boot_result: 'agent' | 'console' | 'init' | 'unproven' | 'failed' | null
  /**
   * The login of the copied system, which a restored server gets again. The id is empty if there is no
   * template.
   */
  template_id: string
  /** The login user (null: the template's), and the family of an image's system. */
  username: string | null
  os_family: string | null
  ssh_keys: string
  password: string | null
  /** The instance that the copied system was set up for; empty for an image. */
  instance_id: string
  /** JSON. */
  labels: string
  price_month: number
  price_hour: number
  /** The time whose prices these are. */
  priced_at: number
  created_at: number
  updated_at: number
  deleted_at: number | null
  /** The size of the file that is uploaded, and the number of its bytes that have arrived. */
  content_bytes: number | null
  uploaded_bytes: number
  /** 1 if its host has none of its files left. */
  discarded: number
  /** When it is copied off site, tried again, or removed from there; null: nothing is due. */
  offsite_due_at: number | null
  /** The place that has a copy, or parts of one; null: no place has any. */
  offsite_place: string | null
  /** The parts that are there while it is being copied. */
  offsite_parts: number
  /** When it became complete there, with the hash of its list of files; null: it is incomplete. */
  offsite_at: number | null
  offsite_sha256: string | null
  /** Why the last attempt failed, for operators; null: it did not. */
  offsite_fault: string | null
  /** When a backup failed; null once people were mailed about it. */
  failed_at: number | null
}
