import type { CpuType } from '../drivers/driver.ts'

/**
 * Every table, as both databases have it: text, bigint and integer columns only. Ids are text, times are
 * milliseconds since the epoch, money is in 1/10000 rubles, JSON and lists are text, booleans are 0 or 1.
 */
export interface Schema {
  accounts: AccountTable
  tokens: TokenTable
  projects: ProjectTable
  ssh_keys: SshKeyTable
  transactions: TransactionTable
  ledgers: LedgerTable
  rates: RateTable
  billing_meters: BillingMeterTable
  events: EventTable
  event_relay: EventRelayTable
  audit: AuditTable
  webhooks: WebhookTable
  deliveries: DeliveryTable
  servers: ServerTable
  operations: OperationTable
  pool_usage: PoolUsageTable
  idempotency_keys: IdempotencyKeyTable
  meters: MeterTable
  samples: SampleTable
}

export interface AccountTable {
  account_id: string
  email: string
  name: string
  status: 'active' | 'suspended' | 'closed'
  default_project_id: string
  /** Limits that differ from the settings: JSON of a partial Quotas. */
  quotas: string
  /** What the account's servers hold now; kept beside them so that a quota is checked by one conditional update. */
  servers_used: number
  cpu_used: number
  ram_mb_used: number
  disk_gb_used: number
  created_at: number
}

export interface TokenTable {
  token_id: string
  account_id: string
  name: string
  /** SHA-256 of the token, hex. The token itself is nowhere. */
  hash: string
  /** Scopes separated by spaces. */
  scopes: string
  /** The token that it was created with; null for those of the operator. */
  parent_token_id: string | null
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
  created_at: number
}

export interface ProjectTable {
  project_id: string
  account_id: string
  name: string
  description: string | null
  server_count: number
  created_at: number
  updated_at: number
}

export interface SshKeyTable {
  ssh_key_id: string
  account_id: string
  name: string
  public_key: string
  fingerprint: string
  key_type: string
  created_at: number
}

/** An entry of an account's ledger. Entries are a chain that foreign keys hold together; none is changed or removed. */
export interface TransactionTable {
  transaction_id: string
  account_id: string
  /** 1, 2, 3… within the account. */
  sequence: number
  /** The sequence of the entry before; null for the first. */
  previous: number | null
  type: 'charge' | 'payment' | 'refund' | 'correction'
  balance_before: number
  amount: number
  balance_after: number
  server_id: string | null
  /** Of a charge: the project of the server when it was charged, the hour that it begins in, and the seconds billed. */
  project_id: string | null
  hour: number | null
  seconds: number | null
  description: string
  /** Makes a repeat harmless: unique within the account. */
  reference: string | null
  created_at: number
}

/** The end of an account's chain of entries, and how its balance stands. */
export interface LedgerTable {
  account_id: string
  /** The last entry; null where there is none. */
  sequence: number | null
  balance: number
  /** Since when the balance lasts less than the warning time, and since when it is used up. */
  low_since: number | null
  depleted_since: number | null
}

/** What a server costs an hour, from when until when. */
export interface RateTable {
  server_id: string
  starts_at: number
  /** Null as long as it runs. */
  ends_at: number | null
  account_id: string
  price_hour: number
  price_month: number
}

/** How far a server is charged. */
export interface BillingMeterTable {
  server_id: string
  account_id: string
  charged_until: number
  /** Null where nothing is left to charge. */
  due_at: number | null
}

/** What happened, written in the transaction in which it did. */
export interface EventTable {
  event_id: string
  account_id: string
  type: string
  /** JSON. */
  data: string
  created_at: number
  /** Where readers meet it, in the order in which transactions came to light; null until it is given. */
  position: number | null
}

/** The last position that was given to an event. */
export interface EventRelayTable {
  relay_id: number
  position: number
}

/** Who changed what, from where. */
export interface AuditTable {
  audit_id: string
  account_id: string
  /** The operationId of the route, or the operator's command. */
  action: string
  object_type: string
  object_id: string | null
  token_id: string | null
  address: string | null
  request_id: string
  created_at: number
}

/** Where an account wants its events sent; the row is also the job that sends them, one after the other. */
export interface WebhookTable {
  webhook_id: string
  account_id: string
  name: string
  url: string
  /** JSON: a list of types, or of "*". */
  event_types: string
  /** Sealed. */
  secret: string
  is_enabled: number
  disabled_reason: 'failing' | 'gone' | null
  /** When there is something to send; null: nothing is pending. */
  next_run_at: number | null
  lease_owner: string | null
  lease_until: number
  created_at: number
  /** Up to this position what is pending is given up, which the job is still writing down; null where it need not. */
  given_up_to: number | null
  /** Since when it is there for the job alone, which deletes it after its deliveries. */
  deleted_at: number | null
  /** Sealed: what signs as well until a moment, null where nothing was replaced. */
  previous_secret: string | null
  previous_secret_until: number | null
}

/** An event on its way to a webhook. */
export interface DeliveryTable {
  delivery_id: string
  webhook_id: string
  event_id: string
  event_type: string
  is_first: number
  position: number
  status: 'pending' | 'succeeded' | 'failed'
  /** JSON: Attempt[] of webhooks/store.ts. */
  attempts: string
  created_at: number
}

export type ServerStatus =
  | 'creating'
  | 'running'
  | 'stopped'
  | 'starting'
  | 'stopping'
  | 'rebooting'
  | 'resizing'
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
  /** Of drivers/drivers.ts: where its machine is. */
  pool: string
  status: ServerStatus
  status_reason: string | null
  plan_type: 'preset' | 'custom'
  cpu_type: CpuType
  preset_id: string | null
  cpu: number
  ram_mb: number
  disk_gb: number
  template_id: string
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
  /** The moment whose prices these are. */
  priced_at: number
  mac: string
  ssh_port: number | null
  /** JSON: HostKey[] as the guest's ssh last showed them. */
  host_keys: string
  /** 1 once the machine has a disk: from then on a missing disk is a loss, never made anew. */
  has_disk: number
  crash_count: number
  crashed_at: number | null
  /** What a suspended server was, and will be again after a top-up. */
  suspended_from: 'running' | 'stopped' | null
  billed_since: number | null
  started_at: number | null
  created_at: number
  updated_at: number
  /** When the last trace of the machine was gone; such a row serves billing and operations only. */
  deleted_at: number | null
}

export interface OperationTable {
  operation_id: string
  account_id: string
  /** What it is carried out on: the kind, such as `server`, and the id. */
  subject_type: string
  subject_id: string
  /** The server that it concerns; null where it concerns none. */
  server_id: string | null
  /** What is done, in the words of the subject's feature. */
  type: string
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled'
  step: string
  progress: number
  /** JSON: what the request asked for and what steps tell later ones; dataOf of operations/procedure.ts reads it. */
  data: string
  error_code: string | null
  error_message: string | null
  /** Failures of the present step in a row. */
  attempt: number
  next_run_at: number
  deadline_at: number
  lease_owner: string | null
  lease_until: number
  created_at: number
  started_at: number | null
  finished_at: number | null
  /** Until when customers can read it; null as long as its subject is there. */
  readable_until: number | null
}

/** What servers hold of a pool of compute, so that capacity is taken by one conditional update. */
export interface PoolUsageTable {
  pool: string
  cpu: number
  ram_mb: number
  disk_gb: number
}

export interface IdempotencyKeyTable {
  account_id: string
  /** Method and path. */
  scope: string
  key: string
  /** SHA-256 of the body, hex. */
  request: string
  /** JSON of the reply, sealed; null while the request runs. */
  reply: string | null
  /** What the request made, written in the transaction that made it. */
  made_id: string | null
  claimed_until: number
  created_at: number
}

/** The last look at each server's machine: what the next one is compared with. */
export interface MeterTable {
  server_id: string
  /** Stands for the server in its samples. */
  series: number
  /** JSON: Reading of monitoring/reading.ts. */
  reading: string
  read_at: number
}

/** What a server used in one slot of time; null is not known. */
export interface SampleTable {
  series: number
  /** Seconds: how long the slot is; the finest are as long as the sampler's interval. */
  resolution: number
  /** Seconds since the epoch: when the slot begins. */
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
