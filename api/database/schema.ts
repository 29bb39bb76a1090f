import type { CpuType } from '../drivers/driver.ts'
import type { BillingMeterTable, LedgerTable, RateTable, TransactionTable } from './billing-schema.ts'
import type {
  ConsoleTicketTable,
  DutyTable,
  InstallationTable,
  PoolUsageTable,
  ProcessTable,
  SimulatedMachineTable,
} from './installation-schema.ts'
import type { MeterTable, SampleTable, TrafficTable } from './monitoring-schema.ts'
import type {
  AddressTable,
  FirewallServerTable,
  FirewallTable,
  NetworkServerTable,
  NetworkTable,
  PortTable,
} from './network-schema.ts'
import type {
  AttemptTable,
  DeviceLoginTable,
  IdentityTable,
  InvitationTable,
  LinkTable,
  MailTable,
  MemberTable,
  PasskeyTable,
  PersonTable,
  RecoveryCodeTable,
  SessionTable,
  SpentTicketTable,
  TwoFactorTable,
} from './people-schema.ts'

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
  ports: PortTable
  addresses: AddressTable
  networks: NetworkTable
  network_servers: NetworkServerTable
  firewalls: FirewallTable
  firewall_servers: FirewallServerTable
  operations: OperationTable
  pool_usage: PoolUsageTable
  idempotency_keys: IdempotencyKeyTable
  meters: MeterTable
  samples: SampleTable
  traffic: TrafficTable
  installation: InstallationTable
  people: PersonTable
  members: MemberTable
  sessions: SessionTable
  links: LinkTable
  two_factors: TwoFactorTable
  recovery_codes: RecoveryCodeTable
  spent_tickets: SpentTicketTable
  attempts: AttemptTable
  device_logins: DeviceLoginTable
  passkeys: PasskeyTable
  identities: IdentityTable
  invitations: InvitationTable
  mails: MailTable
  processes: ProcessTable
  duties: DutyTable
  simulated_machines: SimulatedMachineTable
  console_tickets: ConsoleTicketTable
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
  /** 1: its servers may connect to port 25 of others. */
  is_smtp_open: number
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
  /** The person who created it, where it was one. */
  person_id: string | null
  /** The addresses that may use it, as a JSON array of CIDRs; empty: all. */
  cidrs: string
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
  /** Who had signed in, and her address then. */
  person_id: string | null
  person_email: string | null
  address: string | null
  request_id: string
  created_at: number
  /** Host and number of the process that wrote it, for operators; null in entries from before it was kept. */
  process: string | null
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
  disabled_reason: 'failing' | 'gone' | 'unverified' | null
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
  /** Whether the endpoint at this url has answered a challenge; events wait until then. */
  verification: 'pending' | 'verified' | 'failed'
  /** What was wrong with the last challenge's reply. */
  verification_error: string | null
  challenged_at: number | null
  /** Challenges since verification was asked for. */
  challenges: number
  /** JSON: the addresses that answered a challenge; null where any may be sent to. */
  verified_addresses: string | null
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
  /** What it may send in a calendar month for that, and what a TB more costs. */
  traffic_gb: number
  traffic_price: number
  /** How fast it may send and get; null: as fast as it goes. */
  bandwidth_mbit: number | null
  /** The moment whose prices these are. */
  priced_at: number
  mac: string
  ssh_port: number | null
  /** Of its public addresses: an address, and a /64. */
  ipv4: string | null
  ipv6: string | null
  /** The private networks that it is in, as JSON: network_id, number, ip_range, ipv4 of each. */
  networks: string
  /** Of drivers/addresses.ts: its place in the network, from which its addresses follow; null once it is gone. */
  number: number | null
  /** JSON: HostKey[] as the guest's ssh last showed them. */
  host_keys: string
  /** 1 once the machine has a disk: from then on a missing disk is a loss, never made anew. */
  has_disk: number
  crash_count: number
  crashed_at: number | null
  /** What a suspended server was, and will be again after a top-up. */
  suspended_from: 'running' | 'stopped' | null
  /** When it will be deleted unless it resumes; null for as long as nobody says so. */
  delete_at: number | null
  billed_since: number | null
  started_at: number | null
  created_at: number
  updated_at: number
  /** When the last trace of the machine was gone; such a row serves billing and operations only. */
  deleted_at: number | null
}

/** A port of the host that leads to a port of a server. */
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
