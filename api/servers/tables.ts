import type { CpuType } from '../drivers/driver.ts'
import type { ServiceMailKind } from '../people/letters/servers.ts'
import type { WarningKind } from '../people/letters/warnings.ts'

declare module '../database/schema.ts' {
  interface Schema {
    warnings: WarningTable
    servers: ServerTable
  }
}

export type ServerStatus =
  | 'creating'
  | 'running'
  | 'stopped'
  | 'starting'
  | 'stopping'
  | 'rebooting'
  | 'resizing'
  | 'rebuilding'
  | 'resetting_password'
  | 'restoring'
  | 'rescuing'
  | 'unrescuing'
  | 'suspended'
  | 'error'
  | 'deleting'

export interface ServerTable {
  server_id: string
  account_id: string
  project_id: string
  name: string
  description: string | null
  zone_slug: string
  /** The pool (drivers/drivers.ts) that its machine is in. */
  pool: string
  status: ServerStatus
  status_reason: string | null
  plan_type: 'preset' | 'custom'
  cpu_type: CpuType
  preset_id: string | null
  cpu: number
  ram_mb: number
  disk_gb: number
  /** Empty if it was created from an image without a template. */
  template_id: string
  /** The login user of such an image; null: that of the template. */
  username: string | null
  /** JSON: the keys as they were at create, {ssh_key_id, name, fingerprint, public_key}[]. */
  ssh_keys: string
  user_data: string | null
  /** AES-256-GCM under the installation's key. */
  password: string | null
  /** JSON: {name: value}. */
  labels: string
  delete_protection: number
  price_month: number
  price_hour: number
  /** Traffic that the price includes in a calendar month, and the price of a TB more. */
  traffic_gb: number
  traffic_price: number
  /** The limit on its speed in each direction; null: unlimited. */
  bandwidth_mbit: number | null
  /** The time whose catalog prices the server has. */
  priced_at: number
  mac: string
  ssh_port: number | null
  /** Its public addresses: one IPv4 address, and an IPv6 /64. */
  ipv4: string | null
  ipv6: string | null
  /** The private networks that it is in, as JSON: network_id, number, ip_range, ipv4 of each. */
  networks: string
  /**
   * Its number within the installation, which determines its addresses (drivers/addresses.ts); null once it is
   * deleted.
   */
  number: number | null
  /** JSON: HostKey[], as last read from the guest's SSH. */
  host_keys: string
  /** 1 once the machine has a disk. If the disk is missing later, it was lost, and an empty one must not replace it. */
  has_disk: number
  /** The snapshot that is being made of its disk, by an operation that leaves the status as it is. */
  copying: string | null
  /** The backup that is being made of its disk. Any other operation takes its place. */
  backing_up: string | null
  /** The hour of the day (UTC) in which it is backed up; null: backups are off. */
  backup_hour: number | null
  /** The time from which its next backup is due; null: never. */
  backup_due_at: number | null
  /** The item that its backups are billed as; null: they were never turned on. */
  backup_item: string | null
  /** The price of its backups; 0 if they are off. */
  backup_price_month: number
  backup_price_hour: number
  /** The snapshot or image that its disk is created from; null: from its template. */
  snapshot_id: string | null
  /**
   * The snapshot or image from which the existing disk was created. It differs from snapshot_id until a rebuild
   * replaces the disk.
   */
  source_id: string | null
  /** The instance that its guest was set up for (MachineSpec.instanceId); null: the server's id. */
  instance_id: string | null
  /** The id of the rescue system that it boots; null: it boots its own disk. */
  rescue_id: string | null
  /** JSON: the login of the rescue system (RescueLogin). */
  rescue_login: string | null
  /** The ISO in its drive; null: none. */
  iso_id: string | null
  crash_count: number
  crashed_at: number | null
  /** When it was found down although it should run; null once people were mailed, or once it ran again before that. */
  down_at: number | null
  /** The operator's reason to keep it suspended, whatever the state of its account; null: it is not held. */
  suspension_reason: string | null
  /** When suspension_reason changed; null once people were mailed, or if it changed back before that. */
  hold_changed_at: number | null
  /** The status from before the suspension, which returns after a top-up. */
  suspended_from: 'running' | 'stopped' | null
  /** The time at which it will be deleted unless it resumes; null: never. */
  delete_at: number | null
  billed_since: number | null
  started_at: number | null
  created_at: number
  updated_at: number
  /** The time at which the machine was removed completely; such a row only serves billing and operations. */
  deleted_at: number | null
}

/** A warning that was mailed to the people of an account. */
export interface WarningTable {
  account_id: string
  kind: WarningKind | ServiceMailKind | `limit_${string}`
  /**
   * Identifies the occasion, so that it is mailed once. It is the start of the state, the time of a planned deletion,
   * or the limit that is nearly reached.
   */
  since: number
  sent_at: number
}
