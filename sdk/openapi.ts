// Written by npm run generate from openapi.json: change the schemas of api/, not this file.

export interface AbuseSign {
  /** Id of the sign */
  sign_id: string
  /** `outgoing_flood`: packets that are hardly answered. `many_connections`: connections that it tried to open, as in scans. `mail_tries`: refused tries to reach port 25. `cpu_at_limit`: CPU at 90 % or more for 3 days. `accounts_of_network`: 5 or more accounts created within 7 days from one address, or one /64 of IPv6. `accounts_of_card`: 3 or more accounts paid by one card within 90 days. More may be added */
  kind: 'outgoing_flood' | 'many_connections' | 'mail_tries' | 'cpu_at_limit' | 'accounts_of_network' | 'accounts_of_card'
  /** The accounts that it is about: at most the newest 20 */
  accounts: Array<{
    /** Id of the account */
    account_id: string
    /** Contact address of the account */
    email: string
    /** Status of the account */
    status: 'active' | 'suspended' | 'closed'
    /** Whether it is frozen already */
    is_frozen: boolean
  }>
  /** The server that it is about; null if it is about accounts */
  server_id: string | null
  /** Name of that server; null if there is none, or it was deleted long ago */
  server_name: string | null
  /** The IPv4 address or IPv6 /64 that it is about; null if it is about none */
  network: string | null
  /** When it began */
  since: string
  /** When it was last seen; it is kept for 30 days after that */
  last_seen_at: string
  /** The last figure, as a mean of ten minutes */
  figure: number
  /** The highest figure since it began */
  peak: number
  /** The unit of both figures */
  unit: 'packets_per_second' | 'connections_per_second' | 'tries_per_hour' | 'percent' | 'accounts'
  /** The action to take, with the exact command */
  remedy: string
}

export interface AbuseSignList {
  /** The items of this page */
  items: Array<AbuseSign>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Account {
  /** Id of the account */
  account_id: string
  /** Contact address of the account, for the operator */
  email: string
  /** Name of the customer */
  name: string
  /** A suspended account can read, stop, delete, pay and answer complaints; a closed one can only read. The operator sets the status */
  status: 'active' | 'suspended' | 'closed'
  /** The operator's reason for the status; null if the operator never changed it */
  status_reason: string | null
  /** When the operator set the status; null if the operator never changed it */
  status_since: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** Id of the project that servers are created in if none is given */
  default_project_id: string
  /** Percent that the operator adds to the catalogue's prices for the account; below zero: a discount. Backups follow the price of their server */
  price_percent: number
  /** Prices per month of presets that have one of their own for the account, by slug; the percent does not change them */
  preset_prices_rub: Record<string, string>
  /** Whether its servers may connect to port 25 (SMTP) of other hosts, as mail servers do; ask the operator. Ports 465 and 587 are open to all */
  is_smtp_open: boolean
  /** Whether this installation has `/hcloud/v1`, and so creates tokens of the kind `hcloud` */
  has_hcloud: boolean
  /** The token of this request; null if a person is signed in instead */
  token: {
    /** Id of a token, which is not secret */
    token_id: string
    /** Name of the token */
    name: string
    /** What the token may do; `read` and `write` stand for both scopes of their kind, and write does not include read */
    scopes: Array<'account:read' | 'read' | 'account:write' | 'write' | 'servers:read' | 'servers:write'>
    /** Addresses that the token may be used from, in CIDR notation; empty if any address is allowed */
    cidrs: Array<string>
    /** When it stops being valid; null if never */
    expires_at: string | null
  } | null
  /** The person who is signed in, with their role in this account; null with a token */
  person: {
    /** Id of a person */
    person_id: string
    /** E-mail address of the person */
    email: string
    /** Name of the person */
    name: string
    /** Role of a person in the account: `owner` and `admin` can do everything, `member` manages servers, `billing` manages the account and its balance, and `viewer` can only read */
    role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer'
    /** Whether the person runs this installation */
    is_operator: boolean
  } | null
  /** Scopes of this request, by token or by role; `read` and `write` are listed as the scopes that they stand for */
  scopes: Array<'account:read' | 'account:write' | 'servers:read' | 'servers:write'>
  /** Quotas of the account; a request that exceeds one returns 403 `quota_exceeded` */
  quotas: {
    /** People in the account, and invitations */
    members: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Projects */
    projects: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** SSH keys */
    ssh_keys: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Valid tokens */
    tokens: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Servers */
    servers: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Cores of all servers */
    cpu: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Memory of all servers in MB */
    ram_mb: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Disk of all servers in GB */
    disk_gb: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Webhooks */
    webhooks: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Published ports, besides those for SSH */
    ports: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Reserved public addresses, besides those that go with servers */
    addresses: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Private networks */
    networks: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Volumes */
    volumes: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Size of all volumes in GB */
    volumes_gb: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Firewalls */
    firewalls: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Snapshots of servers */
    snapshots: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Images of your own */
    images: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** ISO images of your own */
    isos: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
    /** Size in GB of all files that are being uploaded or imported as images or ISOs */
    image_files_gb: {
      /** The most that the account may have */
      limit: number
      /** How much the account has */
      used: number
    }
  }
  /** Why each quota has its limit, and what raises it */
  limit_reasons: {
    members: LimitReason
    projects: LimitReason
    ssh_keys: LimitReason
    tokens: LimitReason
    servers: LimitReason
    cpu: LimitReason
    ram_mb: LimitReason
    disk_gb: LimitReason
    webhooks: LimitReason
    ports: LimitReason
    addresses: LimitReason
    networks: LimitReason
    volumes: LimitReason
    volumes_gb: LimitReason
    firewalls: LimitReason
    snapshots: LimitReason
    images: LimitReason
    isos: LimitReason
    image_files_gb: LimitReason
  }
}

export interface AccountChoice {
  /** Id of an account */
  account_id: string
}

export interface AccountClose {
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
  /** Whether to close it even if servers of it have `delete_protection`. Default: false. */
  force?: boolean | undefined
}

export interface AccountCreate {
  /** E-mail address; capital letters make no difference */
  email: string
  /** Name of the customer (default: the e-mail address) */
  name?: string | undefined
  /** The operator's own id of the account, unique in the installation, without spaces */
  external_id?: string | undefined
  quotas?: AccountQuotas | undefined
}

export interface AccountCredit {
  /** Id of the credit */
  credit_id: string
  /** A promo code, or the trial of people who sign up. More may be added */
  source: 'promo_code' | 'trial'
  /** The whole credit, in rubles with two decimals */
  amount_rub: string
  /** The part that charges have not used, at most the balance, in rubles with two decimals */
  left_rub: string
  /** The part that has expired, in rubles with two decimals */
  expired_rub: string
  /** When what is left of it expires */
  expires_at: string
  /** When it was used up or has expired; null before */
  ended_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface AccountCreditList {
  /** The items of this page */
  items: Array<AccountCredit>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface AccountQuotas {
  /** People in the account, and invitations; null for the default */
  members?: number | null | undefined
  /** Projects; null for the default */
  projects?: number | null | undefined
  /** SSH keys; null for the default */
  ssh_keys?: number | null | undefined
  /** Valid tokens; null for the default */
  tokens?: number | null | undefined
  /** Servers; null for the default */
  servers?: number | null | undefined
  /** Cores of all servers; null for the default */
  cpu?: number | null | undefined
  /** Memory of all servers in MB; null for the default */
  ram_mb?: number | null | undefined
  /** Disk of all servers in GB; null for the default */
  disk_gb?: number | null | undefined
  /** Webhooks; null for the default */
  webhooks?: number | null | undefined
  /** Published ports, besides those for SSH; null for the default */
  ports?: number | null | undefined
  /** Reserved public addresses, besides those that go with servers; null for the default */
  addresses?: number | null | undefined
  /** Private networks; null for the default */
  networks?: number | null | undefined
  /** Volumes; null for the default */
  volumes?: number | null | undefined
  /** Size of all volumes in GB; null for the default */
  volumes_gb?: number | null | undefined
  /** Firewalls; null for the default */
  firewalls?: number | null | undefined
  /** Snapshots of servers; null for the default */
  snapshots?: number | null | undefined
  /** Images of your own; null for the default */
  images?: number | null | undefined
  /** ISO images of your own; null for the default */
  isos?: number | null | undefined
  /** Size in GB of all files that are being uploaded or imported as images or ISOs; null for the default */
  image_files_gb?: number | null | undefined
}

export interface Address {
  /** Id of the address */
  address_id: string
  /** The address; of `ipv6` the whole /64 */
  address: string
  /** `ipv4`: a single address; `ipv6`: a /64, in which the server has the address ::2 */
  family: 'ipv4' | 'ipv6'
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** The server that has the address; null if none has */
  server_id: string | null
  /** Reverse DNS name, in effect seconds or minutes later, as the operator publishes it; null for none */
  reverse_dns: string | null
  /** Names and values of your choice */
  labels: Record<string, string>
  /** Price per month of 730 hours, in rubles with two decimals */
  price_month_rub: string
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
}

export interface AddressCreate {
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** `ipv4`: a single address; `ipv6`: a /64, in which the server has the address ::2 */
  family: 'ipv4' | 'ipv6'
  /** The server to assign the address to; default: none */
  server_id?: string | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface AddressList {
  /** The items of this page */
  items: Array<Address>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface AddressRequest {
  /** E-mail address; capital letters make no difference */
  email: string
  /** Language of mails: English or Russian */
  language?: 'en' | 'ru' | undefined
}

export interface AddressUnavailableProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'address_unavailable'
  /** Zones that have a free address now */
  alternatives: Array<string>
}

export interface AddressUpdate {
  /** The server to assign the address to; null unassigns it */
  server_id?: string | null | undefined
  /** Reverse DNS name, up to 253 characters; null for none */
  reverse_dns?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface Announcement {
  /** Id of the announcement */
  announcement_id: string
  /** Planned work, trouble that is there already, or other news */
  kind: 'maintenance' | 'incident' | 'notice'
  /** The text, in both languages */
  text: {
    /** The text in English: up to 1,000 characters in one paragraph */
    en: string
    /** The text in Russian: up to 1,000 characters in one paragraph */
    ru: string
  }
  /** Slugs of the zones that it is about; an empty list means all */
  zones: Array<string>
  /** When it begins, as planned */
  starts_at: string
  /** When it ends, as planned; null if it lasts until the operator ends it */
  ends_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
}

export interface AnnouncementCreate {
  /** Planned work, trouble that is there already, or other news */
  kind: 'maintenance' | 'incident' | 'notice'
  /** The text, in both languages */
  text: {
    /** The text in English: up to 1,000 characters in one paragraph */
    en: string
    /** The text in Russian: up to 1,000 characters in one paragraph */
    ru: string
  }
  /** Slugs of the zones that it is about; an empty list means all */
  zones?: Array<string> | undefined
  /** When it begins, as planned (default: at once) */
  starts_at?: string | undefined
  /** When it ends, as planned; null if it lasts until the operator ends it */
  ends_at?: string | null | undefined
}

export interface AnnouncementList {
  /** The items of this page */
  items: Array<Announcement>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface AnnouncementUpdate {
  /** Planned work, trouble that is there already, or other news */
  kind?: 'maintenance' | 'incident' | 'notice' | undefined
  /** The text, in both languages */
  text?: {
    /** The text in English: up to 1,000 characters in one paragraph */
    en: string
    /** The text in Russian: up to 1,000 characters in one paragraph */
    ru: string
  } | undefined
  /** Slugs of the zones that it is about; an empty list means all */
  zones?: Array<string> | undefined
  /** When it begins, as planned */
  starts_at?: string | undefined
  /** When it ends, as planned; null if it lasts until the operator ends it */
  ends_at?: string | null | undefined
}

export interface Arrival {
  /** The reference to state as the purpose of the transfer; its last two digits check the others */
  reference: string
  /** The sum that arrived, in rubles */
  amount_rub: string
  /** The bank's own id of the transaction: it is booked once, whatever is sent twice */
  bank_transaction_id: string
}

export interface AuditEntry {
  /** Id of the entry */
  audit_id: string
  /** The operationId of the route, or an operator command */
  action: string
  /** Type of the object that was changed */
  object_type: string
  /** Id of the object that was changed; null if the entry is not about a single object */
  object_id: string | null
  /** Amount that the operator added to the balance, in rubles with two decimals, negative for a debit; null for all other requests */
  amount: string | null
  /** The token of the request; null for a person, or a command of the operator */
  token_id: string | null
  /** The person who was signed in; null for a token, or a command of the operator */
  person_id: string | null
  /** E-mail address of the person at that moment; null for others */
  person_email: string | null
  /** IP address that the request came from; null for a command of the operator */
  address: string | null
  /** `X-Request-Id` of the reply */
  request_id: string
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface AuditEntryList {
  /** The items of this page */
  items: Array<AuditEntry>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface AutoTopUp {
  /** True if the account is topped up when its balance falls below the line */
  is_on: boolean
  /** The line, in rubles with two decimals; null if it was never set */
  below_rub: string | null
  /** Amount of each payment, in rubles with two decimals; null if it was never set */
  amount_rub: string | null
  /** The most in a calendar month (UTC), in rubles with two decimals; null if it was never set */
  monthly_limit_rub: string | null
  /** Id of the saved payment method that is charged; null if it was never set */
  payment_method_id: string | null
  /** Sum of the automatic payments of this month, without canceled ones, in rubles with two decimals */
  charged_month_rub: string
  /** Automatic payments in a row that were declined; 3 turn it off */
  declines: number
  /** The earliest time of the next payment after a declined one, or after the monthly limit was reached; null if it waits for nothing */
  waits_until: string | null
  /** Why it was turned off: `declined` payments, the payment method was deleted, or the account is closed; null if nothing turned it off */
  off_reason: 'declined' | 'method_deleted' | 'account_closed' | null
}

export interface AutoTopUpSet {
  /** Balance in rubles below which the account is topped up, at most 500000.00 */
  below_rub: string
  /** Amount of each payment in rubles, from 10.00 to 500000.00 */
  amount_rub: string
  /** The most that automatic payments may take in a calendar month (UTC), in rubles; at least `amount_rub` */
  monthly_limit_rub: string
  /** Saved payment method to charge */
  payment_method_id: string
}

export interface Backup {
  /** Id of the backup */
  backup_id: string
  /** The server whose disk was copied, which may be deleted by now */
  server_id: string
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** `available`: can be restored; `error`: it could not be made, or was found damaged, and costs nothing */
  status: 'creating' | 'available' | 'error'
  /** The operation that makes it, of its server; null once it has ended */
  operation_id: string | null
  /** Size of the copy in GB, rounded up, which is billed if it is a snapshot; where servers are containers, the size of the disk. Null until it is available */
  size_gb: number | null
  /** `full`: it has the whole disk; `difference`: it has what differs from an earlier backup, whose data it keeps, and needs no other. Null until it is available */
  kind: 'full' | 'difference' | null
  /** Bytes of the copy itself, compressed, without the full copy that a difference shares with others; where servers are containers, the size of the disk, as the storage shares its blocks. Null until it is available */
  bytes: number | null
  /** Size of the copied disk in GB: the least that a server from it needs */
  disk_gb: number
  /** `filesystem`: the file systems were complete; `crash`: the copy is like a disk after a loss of power, which file systems and databases repair at the next start. Null until it is available */
  consistency: 'filesystem' | 'crash' | null
  /** When the service last found the copy intact, which it looks for every week; null: not yet. Where servers are containers, it is the copy off site that is read, and none is without one */
  verified_at: string | null
  /** How: `hash`, every byte is as it was made; `boot`, its system started as well. Null if `verified_at` is */
  verified_by: 'hash' | 'boot' | null
  /** When it was last booted to see if it starts: at night, once a week, each server's newest backup, on a disk that is thrown away and without a network; null: never */
  boot_checked_at: string | null
  /** `agent`: its guest agent answered; `console`: a login appeared on its console; `init`: its services run, as the first process of a container shows; `unproven`: its kernel, or that process, ran for ten minutes, and nothing shows if the rest did; `failed`: it did not start. Null: it was never booted */
  boot_result: 'agent' | 'console' | 'init' | 'unproven' | 'failed' | null
  /** Since when a whole, encrypted copy of it lies outside of its host, so that it outlives the host; null: none does, the operator has set no place, or the zone of its server has no `backups`, as those with containers may not */
  offsite_at: string | null
  /** Template of the copied system; null if its server was created from an image without one */
  template_id: string | null
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
  /** When it will be deleted, because its server was, or has no backups any more; null while newer backups decide */
  expires_at: string | null
}

export interface BackupKeep {
  /** Name of the snapshot. Default: that of the backup */
  name?: string | undefined
}

export interface BackupList {
  /** The items of this page */
  items: Array<Backup>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Balance {
  /** Sum of all transactions; negative if the account owes money, in rubles with two decimals */
  balance: string
  /** Amount that the account may owe; 0.00 if it pays in advance, in rubles with two decimals */
  credit_limit_rub: string
  /** Currency of all amounts (ISO 4217) */
  currency: 'RUB'
  /** Cost per hour of everything that is billed now, in rubles with four decimals */
  cost_hour_rub: string
  /** Cost per month of 730 hours of everything that is billed now, in rubles with two decimals */
  cost_month_rub: string
  /** Full hours that the balance and the credit limit will last; null if nothing is billed */
  hours_left: number | null
  /** Amount to pay before suspended servers resume, in rubles; null if none is suspended because of the balance */
  top_up_to_resume_rub: string | null
  /** Page where the account is topped up; null if the operator has none: contact them */
  top_up_url: string | null
  /** A currency in which the operator shows sums beside rubles; null if there is none. Such sums are approximate: balance, prices and documents are in rubles */
  second_currency: SecondCurrency | null
  /** True if the account can be topped up by bank transfer: `POST /account/transfers` */
  takes_transfers: boolean
  /** The time that these figures are for */
  generated_at: string
}

export interface Capacity {
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Whether a server can be created now */
  is_available: boolean
  /** Free capacity */
  level: 'high' | 'low' | 'none'
  /** The largest server that fits now */
  max_server: {
    /** Cores */
    cpu: number
    /** Memory in MB */
    ram_mb: number
    /** Disk in GB */
    disk_gb: number
  }
  /** When it was determined */
  updated_at: string
}

export interface CapacityUnavailableProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'capacity_unavailable'
  /** The largest server that fits now */
  max_server: {
    /** Cores */
    cpu: number
    /** Memory in MB */
    ram_mb: number
    /** Disk in GB */
    disk_gb: number
  }
  /** Zones and CPU types in which the plan fits now */
  alternatives: Array<{
    /** Name of a zone, as `GET /zones` lists them */
    zone_slug: string
    /** Processor vendor; a zone may have both, at different prices */
    cpu_type: 'amd' | 'intel'
  }>
}

export interface CatalogCheck {
  /** A whole catalogue as YAML. Masked addresses that `GET` returned stand for those in force */
  text: string
}

export interface CatalogReplacement {
  /** A whole catalogue as YAML. Masked addresses that `GET` returned stand for those in force */
  text: string
  /** The `hash` that `GET` returned with the text which this one was made from; with another one in force, nothing changes */
  hash: string
}

export interface CatalogText {
  /** The catalogue in force as YAML. User, password and query in addresses of images and comments are replaced by `***` */
  text: string
  /** The SHA-256 of `text` */
  hash: string
  /** When the service accepted it */
  in_force_since: string
  /** Why a later version of the file is refused; empty if the file itself is in force */
  errors: Array<string>
}

export interface CheckedCatalog {
  /** True if `errors` is empty; `unchecked_sources` may still have mistakes */
  is_valid: boolean
  /** The mistakes, with their lines where they have one; at most 200 */
  errors: Array<string>
  /** The differences to the catalogue in force, as `berthd catalog check` prints them; at most 200. Prices have the number of servers and accounts that pay them */
  differences: Array<string>
  /** The slugs of templates and ISOs whose source is not that in force; at most 200. Nothing looks for their files: run `berthd catalog check` on the host */
  unchecked_sources: Array<string>
}

export interface CodeProof {
  /** The current password; required if the person has one */
  password?: string | undefined
  /** A code of the app, or a recovery code; spaces and hyphens make no difference */
  code: string
}

export interface Complaint {
  /** Id of the complaint */
  complaint_id: string
  /** Subject of the complaint: `scan` and `attack` are about the networks of others. More may be added */
  kind: 'spam' | 'scan' | 'attack' | 'phishing' | 'malware' | 'copyright' | 'other'
  /** The complaint, as its customer reads it: up to 4,000 characters, also in several lines */
  text: string
  /** The server that it is about; null if it is about the whole account */
  server_id: string | null
  /** Name of that server when the complaint was opened; null if there is none */
  server_name: string | null
  /** The side that is awaited, the customer with an answer or the operator with a reply; or the complaint is closed */
  status: 'awaiting_customer' | 'awaiting_operator' | 'closed'
  /** Until when the customer should answer */
  deadline_at: string
  /** True if the deadline has passed without an answer. Nothing follows from it by itself */
  is_overdue: boolean
  /** When the last reminder was mailed; null if none was */
  reminded_at: string | null
  /** How it ended: solved, unfounded, or by measures of the operator; null while it is open */
  outcome: 'solved' | 'unfounded' | 'measures_taken' | null
  /** When it was closed; null while it is open. It is kept for a year after that */
  closed_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
}

export interface ComplaintAnswer {
  /** The text: up to 2,000 characters, also in several lines */
  text: string
}

export interface ComplaintClose {
  /** How it ended: solved by the customer, unfounded, or by measures of the operator */
  outcome: 'solved' | 'unfounded' | 'measures_taken'
  /** The text: up to 2,000 characters, also in several lines */
  text?: string | undefined
}

export interface ComplaintCreate {
  /** Subject of the complaint: `scan` and `attack` are about the networks of others. More may be added */
  kind: 'spam' | 'scan' | 'attack' | 'phishing' | 'malware' | 'copyright' | 'other'
  /** The complaint, as its customer reads it: up to 4,000 characters, also in several lines */
  text: string
  /** Id of a server of the account */
  server_id?: string | undefined
  /** Hours within which the customer should answer, 1 to 720 (default: 24) */
  deadline_hours?: number | undefined
}

export interface ComplaintList {
  /** The items of this page */
  items: Array<Complaint>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface ComplaintMessage {
  /** Author of the message */
  author: 'customer' | 'operator'
  /** The text: up to 2,000 characters, also in several lines */
  text: string
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface ComplaintReply {
  /** The text: up to 2,000 characters, also in several lines */
  text: string
  /** Hours from now within which the customer should answer, 1 to 720 (default: the deadline stays, or is in 24 hours if it has passed) */
  deadline_hours?: number | undefined
}

export interface ComplaintWithMessages {
  /** Id of the complaint */
  complaint_id: string
  /** Subject of the complaint: `scan` and `attack` are about the networks of others. More may be added */
  kind: 'spam' | 'scan' | 'attack' | 'phishing' | 'malware' | 'copyright' | 'other'
  /** The complaint, as its customer reads it: up to 4,000 characters, also in several lines */
  text: string
  /** The server that it is about; null if it is about the whole account */
  server_id: string | null
  /** Name of that server when the complaint was opened; null if there is none */
  server_name: string | null
  /** The side that is awaited, the customer with an answer or the operator with a reply; or the complaint is closed */
  status: 'awaiting_customer' | 'awaiting_operator' | 'closed'
  /** Until when the customer should answer */
  deadline_at: string
  /** True if the deadline has passed without an answer. Nothing follows from it by itself */
  is_overdue: boolean
  /** When the last reminder was mailed; null if none was */
  reminded_at: string | null
  /** How it ended: solved, unfounded, or by measures of the operator; null while it is open */
  outcome: 'solved' | 'unfounded' | 'measures_taken' | null
  /** When it was closed; null while it is open. It is kept for a year after that */
  closed_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
  /** Answers of the customer and replies of the operator, oldest first: at most 10 of each, and one at the end */
  messages: Array<ComplaintMessage>
}

export interface ConsoleTicket {
  /** Path of the WebSocket, on the origin of this request: `wss://` instead of `https://` */
  url: string
  /** Ticket that opens the WebSocket once; send it as the second subprotocol, after `berth.console.v1` */
  ticket: string
  /** When the ticket expires */
  expires_at: string
}

export interface CorrectedBy {
  /** Id of the document */
  document_id: string
  /** `invoice`: the charges of the month, with its payments and balances; `statement`: a month without charges; `credit_note` and `debit_note`: a correction of an invoice, which lowers or raises it. More will be added; show an unknown type by its name. */
  type: 'invoice' | 'statement' | 'credit_note' | 'debit_note'
  /** Number of the correction */
  number: string
  /** Change of the total, below zero in a credit note, in rubles with two decimals */
  total_rub: string
  /** When it was issued */
  issued_at: string
}

export interface CorrectedDocument {
  /** Id of the document */
  document_id: string
  /** Number of the document */
  number: string
  /** Calendar month (UTC) of the document */
  period: string
  /** When it was issued */
  issued_at: string
}

export interface CorrectionCreate {
  /** `credit_note` lowers the invoice and adds to the balance; `debit_note` does the opposite */
  type: 'credit_note' | 'debit_note'
  /** The changes of the charges, at most 50 */
  lines: Array<CorrectionLineCreate>
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
  /** Reference of the payment, without spaces, unique in the installation; a repeated one is booked only once */
  reference: string
}

export interface CorrectionLine {
  /** Type of the item; null if the line names none */
  item_type: 'server' | 'address' | 'snapshot' | 'volume' | 'image' | 'backup' | 'iso' | null
  /** Id of the item of the invoice; null if the line names none */
  item_id: string | null
  /** Name of the item as in the invoice; null if the line names none */
  name: string | null
  /** Change of the charges, below zero in a credit note, in rubles with two decimals */
  amount_rub: string
}

export interface CorrectionLineCreate {
  /** Amount in rubles, above zero, with at most two decimals, as the items of the invoice: with VAT only if its prices include it */
  amount_rub: string
  /** Id of an item that has a line in the invoice */
  item_id?: string | undefined
}

export interface Credit {
  /** Amount in rubles, above zero, with at most two decimals */
  amount: string
  /** `payment` for money received, `correction` for a gift, which does not count as a payment */
  type: 'payment' | 'correction'
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
  /** Reference of the payment, without spaces, unique in the installation; a repeated one is booked only once */
  reference: string
}

export interface CreditLimitChange {
  /** Amount in rubles that the account may owe, with at most two decimals; 0 if it pays in advance */
  credit_limit_rub: string
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
}

export interface Debit {
  /** Amount in rubles, above zero, with at most two decimals */
  amount: string
  /** `payment` for money that the customer took back, which counts less as paid; `correction` for all else */
  type: 'payment' | 'correction'
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
  /** Reference of the payment, without spaces, unique in the installation; a repeated one is booked only once */
  reference: string
}

export interface Delivery {
  /** Id of the delivery */
  delivery_id: string
  /** Id of the webhook */
  webhook_id: string
  /** Id of the event */
  event_id: string
  /** Type of the event */
  event_type: 'member.created' | 'member.updated' | 'member.deleted' | 'invitation.created' | 'invitation.deleted' | 'account.updated' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'invoice.corrected' | 'credit.granted' | 'credit.expired' | 'operation.succeeded' | 'operation.failed' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test' | 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'server.console_opened' | 'port.created' | 'port.deleted' | 'address.created' | 'address.updated' | 'address.deleted' | 'network.created' | 'network.updated' | 'network.deleted' | 'volume.created' | 'volume.updated' | 'volume.deleted' | 'firewall.created' | 'firewall.updated' | 'firewall.deleted' | 'snapshot.created' | 'snapshot.updated' | 'snapshot.deleted' | 'image.created' | 'image.updated' | 'image.deleted' | 'iso.created' | 'iso.updated' | 'iso.deleted' | 'backup.created' | 'backup.verified' | 'backup.failed' | 'backup.boot_failed' | 'backup.deleted' | 'complaint.created' | 'complaint.updated'
  /** `pending`: queued, or waiting for the next attempt */
  status: 'pending' | 'succeeded' | 'failed'
  /** Attempts to the current address; if there are many, the first and the last ten */
  attempts: Array<DeliveryAttempt>
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface DeliveryAttempt {
  /** When it began */
  attempted_at: string
  /** How long it took, in milliseconds */
  duration_ms: number
  /** The HTTP status; null if there was no reply */
  reply_status: number | null
  /** The first 4 KiB of the reply */
  reply: string
  /** What went wrong, for people; null if it succeeded */
  error: string | null
}

export interface DeliveryList {
  /** The items of this page */
  items: Array<Delivery>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface DeviceApproval {
  /** The code that the program shows; capital letters, spaces and dashes make no difference */
  user_code: string
  /** The account that the program gets a token of */
  account_id: string
}

export interface DeviceCodeEntry {
  /** The code that the program shows; capital letters, spaces and dashes make no difference */
  user_code: string
}

export interface DeviceLogin {
  /** Name that the program gives itself; it is not verified */
  client_name: string
  /** IP address of the program */
  address: string
  /** Whether the program is in the network that this request comes from */
  is_from_here: boolean
  /** Scopes that the program requests; null for all that the approver’s role allows */
  scopes: Array<'account:read' | 'read' | 'account:write' | 'write' | 'servers:read' | 'servers:write'> | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When the code expires */
  expires_at: string
}

export interface DeviceLoginRequest {
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  client_name: string
  /** Scopes that the program requests; null for all that the approver’s role allows */
  scopes?: Array<'account:read' | 'read' | 'account:write' | 'write' | 'servers:read' | 'servers:write'> | null | undefined
}

export interface DeviceLoginStart {
  /** Secret with which the program gets its token */
  device_code: string
  /** Code that the person types on the page: eight consonants */
  user_code: string
  /** The page on which a person approves it */
  verification_uri: string
  /** The same page with the code typed in */
  verification_uri_complete: string
  /** Seconds until the codes expire */
  expires_in: number
  /** Seconds to wait between two requests for the token */
  interval: number
}

export interface DeviceTokenRequest {
  /** Secret with which the program gets its token */
  device_code: string
}

export interface Document {
  /** Id of the document */
  document_id: string
  /** `invoice`: the charges of the month, with its payments and balances; `statement`: a month without charges; `credit_note` and `debit_note`: a correction of an invoice, which lowers or raises it. More will be added; show an unknown type by its name. */
  type: 'invoice' | 'statement' | 'credit_note' | 'debit_note'
  /** Number of the document; the numbers of a seller have no gaps */
  number: string
  /** Calendar month (UTC) of the document, or of the one that it corrects */
  period: string
  /** The invoice that it corrects; null if it is no correction */
  corrects: CorrectedDocument | null
  /** Currency of all amounts (ISO 4217) */
  currency: 'RUB'
  /** VAT in the total, in rubles with two decimals */
  vat_rub: string
  /** Charges of the month, with VAT; of a correction the change of them, below zero in a credit note, in rubles with two decimals */
  total_rub: string
  /** Balance before the entries of the document, in rubles with two decimals */
  opening_balance_rub: string
  /** Balance after the entries of the document, in rubles with two decimals */
  closing_balance_rub: string
  /** When it was issued */
  issued_at: string
  /** SHA-256 of the stored content, as printed on the PDF: it never changes */
  sha256: string
}

export interface DocumentCorrection {
  /** Why it was issued */
  reason: string
  /** The changes that add up to `charges_rub` */
  lines: Array<CorrectionLine>
  before: DocumentSums
  after: DocumentSums
  /** Id of the entry that booked it */
  transaction_id: string
}

export interface DocumentCustomer {
  /** Id of the account */
  account_id: string
  /** Name of the account */
  name: string
  /** Contact address of the account */
  email: string
}

export interface DocumentDetails {
  /** Id of the document */
  document_id: string
  /** `invoice`: the charges of the month, with its payments and balances; `statement`: a month without charges; `credit_note` and `debit_note`: a correction of an invoice, which lowers or raises it. More will be added; show an unknown type by its name. */
  type: 'invoice' | 'statement' | 'credit_note' | 'debit_note'
  /** Number of the document; the numbers of a seller have no gaps */
  number: string
  /** Calendar month (UTC) of the document, or of the one that it corrects */
  period: string
  /** The invoice that it corrects; null if it is no correction */
  corrects: CorrectedDocument | null
  /** Currency of all amounts (ISO 4217) */
  currency: 'RUB'
  /** VAT in the total, in rubles with two decimals */
  vat_rub: string
  /** Charges of the month, with VAT; of a correction the change of them, below zero in a credit note, in rubles with two decimals */
  total_rub: string
  /** Balance before the entries of the document, in rubles with two decimals */
  opening_balance_rub: string
  /** Balance after the entries of the document, in rubles with two decimals */
  closing_balance_rub: string
  /** When it was issued */
  issued_at: string
  /** Language of the PDF */
  language: 'en' | 'ru'
  seller: DocumentSeller
  customer: DocumentCustomer
  /** Value-added tax; null if the seller charges none */
  vat: DocumentVat | null
  /** Charges of the month, without VAT, in rubles with two decimals */
  net_rub: string
  /** Sum of the charges as they were booked, in rubles with two decimals */
  charges_rub: string
  /** Charges by project */
  projects: Array<DocumentProject>
  /** The first 1000 payments, refunds and corrections, oldest first */
  entries: Array<DocumentEntry>
  /** The other entries, by type */
  more_entries: Array<DocumentMoreEntries>
  /** How it changes the invoice that it corrects; null if it is no correction */
  correction: DocumentCorrection | null
  /** Its corrections, oldest first, at most 50; they are no part of what was issued */
  corrections: Array<CorrectedBy>
  /** SHA-256 of the stored content, as printed on the PDF: it never changes */
  sha256: string
}

export interface DocumentEntry {
  /** Why the balance changed */
  type: 'payment' | 'refund' | 'correction'
  /** Text of the entry */
  description: string
  /** Change of the balance, in rubles with two decimals */
  amount_rub: string
  /** When it was booked */
  created_at: string
}

export interface DocumentItem {
  /** Type of the item that was charged for: a server, a public address, a snapshot or an image. More types will be added; show an unknown type by its name. */
  item_type: 'server' | 'address' | 'snapshot' | 'volume' | 'image' | 'backup' | 'iso'
  /** Id of the item: a `server_id`, an `address_id`, a `snapshot_id`, an `image_id` or an `iso_id`, by `item_type`. The item may be deleted by now. */
  item_id: string
  /** Name of the item when the document was issued */
  name: string
  /** Hours that were billed, to four decimals */
  hours: number
  /** Sum of its charges, including those for traffic, in rubles with two decimals */
  amount_rub: string
  /** Sum of its charges for traffic, in rubles with two decimals */
  traffic_amount_rub: string
}

export interface DocumentList {
  /** The items of this page */
  items: Array<Document>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface DocumentMoreEntries {
  /** Why the balance changed */
  type: 'payment' | 'refund' | 'correction'
  /** Number of entries */
  entries: number
  /** Sum of their amounts, in rubles with two decimals */
  amount_rub: string
}

export interface DocumentMoreItems {
  /** Type of the item that was charged for: a server, a public address, a snapshot or an image. More types will be added; show an unknown type by its name. */
  item_type: 'server' | 'address' | 'snapshot' | 'volume' | 'image' | 'backup' | 'iso'
  /** Number of items */
  items: number
  /** Hours that were billed, to four decimals */
  hours: number
  /** Sum of their charges, in rubles with two decimals */
  amount_rub: string
}

export interface DocumentProject {
  /** Id of the project; null if the items had none */
  project_id: string | null
  /** Name of the project when the document was issued; null if it was deleted */
  name: string | null
  /** Sum of its lines, in rubles with two decimals */
  amount_rub: string
  /** Its items by name; a document has lines for the 1000 items that cost the most */
  items: Array<DocumentItem>
  /** The other items, by type */
  more_items: Array<DocumentMoreItems>
}

export interface DocumentSeller {
  /** Name of the legal entity */
  name: string
  /** Its address */
  address: string
  /** Its tax id */
  tax_id: string
}

export interface DocumentSums {
  /** Without VAT, in rubles with two decimals */
  net_rub: string
  /** VAT, in rubles with two decimals */
  vat_rub: string
  /** With VAT, in rubles with two decimals */
  total_rub: string
}

export interface DocumentVat {
  /** Rate in percent */
  percent: string
  /** If true, prices include it. If false, it was added and debited when the document was issued */
  is_included: boolean
}

export interface EmailChangeRequest {
  /** E-mail address; capital letters make no difference */
  email: string
  /** The current password; required if the person has one */
  password?: string | undefined
  /** A code of the app, or a recovery code; required if two-factor authentication is on */
  code?: string | undefined
}

export interface Event {
  /** Id of the event */
  event_id: string
  /** Type of the event */
  type: 'member.created' | 'member.updated' | 'member.deleted' | 'invitation.created' | 'invitation.deleted' | 'account.updated' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'invoice.corrected' | 'credit.granted' | 'credit.expired' | 'operation.succeeded' | 'operation.failed' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test' | 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'server.console_opened' | 'port.created' | 'port.deleted' | 'address.created' | 'address.updated' | 'address.deleted' | 'network.created' | 'network.updated' | 'network.deleted' | 'volume.created' | 'volume.updated' | 'volume.deleted' | 'firewall.created' | 'firewall.updated' | 'firewall.deleted' | 'snapshot.created' | 'snapshot.updated' | 'snapshot.deleted' | 'image.created' | 'image.updated' | 'image.deleted' | 'iso.created' | 'iso.updated' | 'iso.deleted' | 'backup.created' | 'backup.verified' | 'backup.failed' | 'backup.boot_failed' | 'backup.deleted' | 'complaint.created' | 'complaint.updated'
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** The object as the API showed it at that moment; for server.status_changed also old_status and new_status */
  data: {
    [member: string]: unknown
  }
}

export interface EventList {
  /** The items of this page */
  items: Array<Event>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Firewall {
  /** Id of the firewall */
  firewall_id: string
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Rules of the firewall */
  rules: Array<FirewallRule>
  /** Servers that it is attached to by id; `label_selector` may match more */
  server_ids: Array<string>
  /** Servers with matching labels have the firewall, too; null: only those in `server_ids` */
  label_selector: string | null
  /** Names and values of your choice */
  labels: Record<string, string>
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
}

export interface FirewallAttach {
  /** Servers to attach it to, besides those that already have it */
  server_ids: Array<string>
}

export interface FirewallCreate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Up to 100 rules, of up to 16000 bytes in all; their order does not matter */
  rules?: Array<FirewallRuleCreate> | undefined
  /** Attaches it to all servers with matching labels, including future ones; default: none */
  label_selector?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface FirewallList {
  /** The items of this page */
  items: Array<Firewall>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface FirewallRule {
  /** `in`: connections to the server; `out`: connections from the server */
  direction: 'in' | 'out'
  /** Protocol; `icmp` is ICMPv6 too, `any` is everything */
  protocol: 'tcp' | 'udp' | 'icmp' | 'any'
  /** A port such as "22", or a range such as "8000-9000": of the server for `in`, of the other end for `out`. Null: all; the only value for `icmp` and `any` */
  ports: string | null
  /** Addresses and ranges of the remote end, IPv4 and IPv6 */
  cidrs: Array<string>
  /** Text of your choice, up to 100 characters; null for none */
  description: string | null
}

export interface FirewallRuleCreate {
  /** `in`: connections to the server; `out`: connections from the server */
  direction: 'in' | 'out'
  /** Protocol; `icmp` is ICMPv6 too, `any` is everything */
  protocol: 'tcp' | 'udp' | 'icmp' | 'any'
  /** A port such as "22", or a range such as "8000-9000": of the server for `in`, of the other end for `out`. Null: all; the only value for `icmp` and `any` */
  ports?: string | null | undefined
  /** Addresses and ranges of the remote end, IPv4 and IPv6, up to 100. Default: 0.0.0.0/0 and ::/0, all */
  cidrs?: Array<string> | undefined
  /** Text of your choice, up to 100 characters; null for none */
  description?: string | null | undefined
}

export interface FirewallUpdate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** Up to 100 rules, of up to 16000 bytes in all; their order does not matter */
  rules?: Array<FirewallRuleCreate> | undefined
  /** Attaches it to all servers with matching labels; null: to none */
  label_selector?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface IdentityTicket {
  /** Ticket for `POST /person/identity`, after the person has signed in as usual. Valid once, for 10 minutes */
  identity_ticket: string
}

export interface Image {
  /** Id of the image */
  image_id: string
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** `uploading`: its content is expected; `importing`: it is copied or checked; `available`: servers can be created from it; `error`: it can not be used, and costs nothing */
  status: 'uploading' | 'importing' | 'available' | 'error'
  /** Why it is in `error` and what to do, for people; null otherwise */
  status_reason: string | null
  /** The operation that makes it; null before and after that */
  operation_id: string | null
  /** The template that its system began with; null if that is not known */
  template_id: string | null
  /** Family of its operating system; null if it is not known, or that of its template */
  os_family: string | null
  /** User name for SSH; null: that of its template */
  default_username: string | null
  /** Smallest disk in GB of a server from it; null until it is known */
  min_disk_gb: number | null
  /** Size of the image in GB, rounded up, which is billed; null until it is available */
  size_gb: number | null
  /** Size in bytes of the file that it is made from; null if it is made from a snapshot, or the size is not known yet */
  content_bytes: number | null
  /** Bytes of an uploaded file that have arrived; an upload continues here */
  uploaded_bytes: number
  /** Since when a whole, encrypted copy of it lies outside of its host, so that it outlives the host; null: none does, the operator has set no place, or the zone of its server has no `backups`, as those with containers may not */
  offsite_at: string | null
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Names and values of your choice */
  labels: Record<string, string>
  /** Price per month of 730 hours, in rubles with two decimals */
  price_month_rub: string
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
}

export interface ImageCreate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** The snapshot to make it from */
  snapshot_id?: string | undefined
  /** `true`: you upload its file afterwards */
  upload?: boolean | undefined
  /** Size in bytes of the file that you will upload; required with `upload` */
  content_bytes?: number | undefined
  /** Public address of a file to make it from. The server there must send files in parts (HTTP range requests) */
  url?: string | undefined
  /** SHA-256 of the whole file in lower-case hex digits; if given, a file with another one is refused */
  sha256?: string | undefined
  /** Zone of the image; required unless it is made from a snapshot */
  zone_slug?: string | undefined
  /** Family of the operating system in the file, such as `debian` */
  os_family?: string | undefined
  /** User name for SSH, which cloud-init in the image sets up (default: `root`) */
  default_username?: string | undefined
}

export interface ImageImport {
  /** SHA-256 of the whole file in lower-case hex digits; if given, a file with another one is refused */
  sha256?: string | undefined
}

export interface ImageList {
  /** The items of this page */
  items: Array<Image>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface ImageUpdate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface InsufficientBalanceProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'insufficient_balance'
  /** Balance that is required: 24 hours of everything that the account pays for, including this, in rubles with two decimals */
  required: string
  /** Balance of the account and its credit limit, in rubles with two decimals */
  available: string
}

export interface InsufficientScopeProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'insufficient_scope'
  /** The scope that is needed */
  required_scope: string
  /** Scopes that are accepted; one of them is enough */
  accepted_scopes: Array<string>
}

export interface Invitation {
  /** Id of the invitation */
  invitation_id: string
  /** E-mail address, in lower case */
  email: string
  /** Role of a person in the account: `owner` and `admin` can do everything, `member` manages servers, `billing` manages the account and its balance, and `viewer` can only read */
  role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer'
  /** Address of the person who sent it; null if a token did */
  invited_by: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When its link stops working */
  expires_at: string
}

export interface InvitationAcceptance {
  /** Token: the part of the link after # */
  token: string
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** The new password, 10 to 200 characters, and not a common one */
  password?: string | undefined
  /** Version of the terms that the person has accepted, as `operator.terms` of `GET /sign-in/options` has it; new people must send it if there are terms */
  accepted_terms?: string | undefined
}

export interface InvitationCreate {
  /** E-mail address; capital letters make no difference */
  email: string
  /** Role of a person in the account: `owner` and `admin` can do everything, `member` manages servers, `billing` manages the account and its balance, and `viewer` can only read */
  role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer'
  /** Language of mails: English or Russian */
  language?: 'en' | 'ru' | undefined
}

export interface InvitationList {
  /** The items of this page */
  items: Array<Invitation>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Iso {
  /** Id of the ISO */
  iso_id: string
  /** `private`: your own; `public`: one that the operator offers to all customers, which is free, counts toward no quota, and can only be put into drives */
  type: 'private' | 'public'
  /** Short name of a `public` ISO, unique among them; null for your own */
  slug: string | null
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** `uploading`: its content is expected; `importing`: it is fetched or checked; `available`: it can be put into drives; `error`: it can not be used, and costs nothing */
  status: 'uploading' | 'importing' | 'available' | 'error'
  /** Why it is in `error` and what to do, for people; null otherwise */
  status_reason: string | null
  /** The operation that fetches or checks it; null before and after that */
  operation_id: string | null
  /** Size in GB, rounded up, which is billed; null until it is available, and for a `public` one */
  size_gb: number | null
  /** Size of the file in bytes; null until it is known, and for a `public` one */
  content_bytes: number | null
  /** Bytes of an uploaded file that have arrived; an upload continues here */
  uploaded_bytes: number
  /** Zone whose servers can have it; null for a `public` one: every zone with `isos` */
  zone_slug: string | null
  /** Price per month of 730 hours, in rubles with two decimals */
  price_month_rub: string
  /** When it was created; null for a `public` one */
  created_at: string | null
  /** When it last changed; null for a `public` one */
  updated_at: string | null
}

export interface IsoCreate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Zone whose servers can have it; it must have `isos` */
  zone_slug: string
  /** `true`: you upload its file afterwards */
  upload?: boolean | undefined
  /** Size in bytes of the file that you will upload; required with `upload` */
  content_bytes?: number | undefined
  /** Public address to fetch it from. The server there must send files in parts (HTTP range requests) */
  url?: string | undefined
  /** SHA-256 of the whole file in lower-case hex digits; if given, a file with another one is refused */
  sha256?: string | undefined
}

export interface IsoList {
  /** The items of this page */
  items: Array<Iso>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface IsoUpdate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
}

export interface Issue {
  /** The part of the request */
  in: 'body' | 'query' | 'path' | 'header'
  /** Name of the field; dots separate nested names */
  field: string
  /** JSON Pointer (RFC 6901) into the body; for a query parameter, / and its name */
  pointer: string
  /** Stable code for programs */
  code: 'required' | 'unknown_field' | 'wrong_type' | 'too_long' | 'too_short' | 'below_minimum' | 'above_maximum' | 'not_a_step' | 'not_in_enum' | 'invalid_format' | 'not_found' | 'mutually_exclusive' | 'disk_too_small' | 'invalid_public_key' | 'password_too_common'
  /** Explanation of the mistake, for people */
  message: string
}

export interface LimitChange {
  /** The limits to set; others stay */
  limits: {
    /** People in the account, and invitations; null for the default */
    members?: number | null | undefined
    /** Projects; null for the default */
    projects?: number | null | undefined
    /** SSH keys; null for the default */
    ssh_keys?: number | null | undefined
    /** Valid tokens; null for the default */
    tokens?: number | null | undefined
    /** Servers; null for the default */
    servers?: number | null | undefined
    /** Cores of all servers; null for the default */
    cpu?: number | null | undefined
    /** Memory of all servers in MB; null for the default */
    ram_mb?: number | null | undefined
    /** Disk of all servers in GB; null for the default */
    disk_gb?: number | null | undefined
    /** Webhooks; null for the default */
    webhooks?: number | null | undefined
    /** Published ports, besides those for SSH; null for the default */
    ports?: number | null | undefined
    /** Reserved public addresses, besides those that go with servers; null for the default */
    addresses?: number | null | undefined
    /** Private networks; null for the default */
    networks?: number | null | undefined
    /** Volumes; null for the default */
    volumes?: number | null | undefined
    /** Size of all volumes in GB; null for the default */
    volumes_gb?: number | null | undefined
    /** Firewalls; null for the default */
    firewalls?: number | null | undefined
    /** Snapshots of servers; null for the default */
    snapshots?: number | null | undefined
    /** Images of your own; null for the default */
    images?: number | null | undefined
    /** ISO images of your own; null for the default */
    isos?: number | null | undefined
    /** Size in GB of all files that are being uploaded or imported as images or ISOs; null for the default */
    image_files_gb?: number | null | undefined
  }
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
}

export interface LimitReason {
  /** `default`: all accounts have it. `unpaid`: the account has not paid enough for more. `paid`: what it has paid raised it. `own`: the operator set it for this account */
  reason: 'default' | 'unpaid' | 'paid' | 'own'
  /** The next sum that raises it; null if further payments do not raise it */
  next: {
    /** The sum of payments that raises it, less refunds and chargebacks, in rubles with two decimals */
    paid_rub: string
    /** The limit from then on */
    limit: number
  } | null
}

export interface Limits {
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Cores */
  cpu: {
    /** Smallest value */
    min: number
    /** Largest value */
    max: number
    /** All values but `min` are multiples of this */
    step: number
  }
  /** Memory in MB */
  ram_mb: {
    /** Smallest value */
    min: number
    /** Largest value */
    max: number
    /** All values but `min` are multiples of this */
    step: number
  }
  /** Disk in GB */
  disk_gb: {
    /** Smallest value */
    min: number
    /** Largest value */
    max: number
    /** All values but `min` are multiples of this */
    step: number
  }
  /** Prices of the parts of a custom plan */
  unit_prices: {
    /** Price of a core per month, in rubles with two decimals */
    cpu_month_rub: string
    /** Price of a GB of memory per month, in rubles with two decimals */
    ram_gb_month_rub: string
    /** Price of a GB of disk per month, in rubles with two decimals */
    disk_gb_month_rub: string
  }
  /** Price of a GB of a snapshot or an image per month, in rubles with two decimals */
  snapshot_gb_month_rub: string
  /** Price of the daily backups of a server, in percent of its own */
  backups_percent: number
  /** GB (1,000,000,000 bytes) that may be sent to the internet in a calendar month (UTC) for the price; incoming traffic is free */
  traffic_gb: number
  /** Price of each further TB (1,000 GB); 0.00 if it is free, in rubles with two decimals */
  traffic_tb_rub: string
  /** Bandwidth in each direction in Mbit/s; null: not limited */
  bandwidth_mbit: number | null
}

export interface LinkUse {
  /** Token: the part of the link after # */
  token: string
}

export interface LoginLink {
  /** Address in the console that signs the owner in, once */
  url: string
  /** The address of the owner, whom it signs in to all of their accounts. Give it to nobody who has not proven that this address is theirs */
  email: string
  /** When the link expires */
  expires_at: string
}

export interface Member {
  /** Id of a membership */
  member_id: string
  /** Id of a person */
  person_id: string
  /** E-mail address, in lower case */
  email: string
  /** Name of the person */
  name: string
  /** Role of a person in the account: `owner` and `admin` can do everything, `member` manages servers, `billing` manages the account and its balance, and `viewer` can only read */
  role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer'
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface MemberList {
  /** The items of this page */
  items: Array<Member>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface MemberUpdate {
  /** Role of a person in the account: `owner` and `admin` can do everything, `member` manages servers, `billing` manages the account and its balance, and `viewer` can only read */
  role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer'
}

export interface Network {
  /** Id of the private network */
  network_id: string
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Range of its addresses; the first two and the last are reserved */
  ip_range: string
  /** The servers in it, with their addresses */
  servers: Array<{
    /** Id of the server */
    server_id: string
    /** Address of the server in the network */
    ipv4: string
  }>
  /** Names and values of your choice */
  labels: Record<string, string>
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
}

export interface NetworkAttach {
  /** Server of the same zone to attach */
  server_id: string
  /** Address for the server, within the range of the network; default: the first free one */
  ipv4?: string | undefined
}

export interface NetworkCreate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Private range of IPv4 addresses, /16 to /29; cannot be changed later. Networks of other accounts may use the same range. It must not overlap 10.64.0.0/12 */
  ip_range: string
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface NetworkList {
  /** The items of this page */
  items: Array<Network>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface NetworkUpdate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface NewPromoCode {
  /** Id of the promo code */
  promo_code_id: string
  /** Name of it for operators, at most 100 characters */
  name: string
  /** Days after the redemption until the rest of the credit expires */
  credit_days: number
  /** Accounts that may redeem it, each once */
  max_uses: number
  /** The credit of each account, in rubles with two decimals */
  amount_rub: string
  /** Accounts that have redeemed it */
  uses: number
  /** The end of its validity */
  expires_at: string
  /** When it was revoked; null if it was not */
  revoked_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** The code, which no other reply has */
  code: string
}

export interface NewToken {
  /** Id of a token, which is not secret */
  token_id: string
  /** Name of your choice */
  name: string
  /** What the token may do; `read` and `write` stand for both scopes of their kind, and write does not include read */
  scopes: Array<'account:read' | 'read' | 'account:write' | 'write' | 'servers:read' | 'servers:write'>
  /** The token that it was created with, and is revoked with; null if a person or the operator created it */
  parent_token_id: string | null
  /** The person who created it, or the token before it in a rotation; it is revoked when they leave the account. Null if no person did */
  person_id: string | null
  /** The project that a token for hcloud's tools sees; null for a token of this API */
  project_id: string | null
  /** Addresses that the token may be used from, in CIDR notation; empty if any address is allowed */
  cidrs: Array<string>
  /** When it stops being valid; null if never */
  expires_at: string | null
  /** When it was last used, to the minute; null if never */
  last_used_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** The value, shown only once */
  token: string
}

export interface NewWebhook {
  /** Id of the webhook */
  webhook_id: string
  /** Name of your choice */
  name: string
  /** Address that events are posted to */
  url: string
  /** Events to send; "*" is all */
  event_types: Array<'*' | 'member.created' | 'member.updated' | 'member.deleted' | 'invitation.created' | 'invitation.deleted' | 'account.updated' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'invoice.corrected' | 'credit.granted' | 'credit.expired' | 'operation.succeeded' | 'operation.failed' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test' | 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'server.console_opened' | 'port.created' | 'port.deleted' | 'address.created' | 'address.updated' | 'address.deleted' | 'network.created' | 'network.updated' | 'network.deleted' | 'volume.created' | 'volume.updated' | 'volume.deleted' | 'firewall.created' | 'firewall.updated' | 'firewall.deleted' | 'snapshot.created' | 'snapshot.updated' | 'snapshot.deleted' | 'image.created' | 'image.updated' | 'image.deleted' | 'iso.created' | 'iso.updated' | 'iso.deleted' | 'backup.created' | 'backup.verified' | 'backup.failed' | 'backup.boot_failed' | 'backup.deleted' | 'complaint.created' | 'complaint.updated'>
  /** Whether events are sent */
  is_enabled: boolean
  /** Why the service disabled it: `failing` for a day, `gone` (the endpoint replied 410), or `unverified` (no challenge was answered within a day); null if it did not */
  disabled_reason: 'failing' | 'gone' | 'unverified' | null
  verification: WebhookVerification
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** Signing secret for Standard Webhooks libraries, shown only once */
  secret: string
}

export interface NotSupportedProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'not_supported'
  /** A feature of a zone: `public_ipv4` and `public_ipv6`, public addresses of servers; `published_ports`, ports of the host that lead to a server; `private_networks`, networks between servers; `firewalls`, rules for connections; `console`, a serial console; `snapshots`, copies of disks; `backups`, one of them every day; `images`, images of your own; `reset_password`, a new password for a running server; `rescue`, a rescue system beside the disk; `live_resize`, a disk that grows while the server runs; `screen`, the screen in a browser; `volumes`, disks that can be moved between servers */
  feature: 'public_ipv4' | 'public_ipv6' | 'published_ports' | 'private_networks' | 'firewalls' | 'console' | 'snapshots' | 'backups' | 'images' | 'reset_password' | 'volumes' | 'rescue' | 'live_resize' | 'screen' | 'isos'
}

export interface OffsiteState {
  /** The bucket or folder that is set; null if none is, and nothing is copied */
  place: string | null
  /** Snapshots, images and backups that are whole off site */
  stored: {
    /** How many */
    total: number
    /** Their size in bytes */
    bytes: number
  }
  /** Those that are not yet */
  waiting: {
    /** How many */
    total: number
    /** Their size in bytes */
    bytes: number
  }
  /** Deleted ones of which something is still there */
  removing: {
    /** How many */
    total: number
    /** Their size in bytes */
    bytes: number
  }
  /** When the oldest of `waiting` was begun; null if none waits */
  waiting_since: string | null
  /** Why one of them could not be copied or removed; it is tried again. Null if there is none */
  fault: string | null
}

export interface OpenInvitation {
  /** Name of the account */
  account_name: string
  /** E-mail address, in lower case */
  email: string
  /** Role of a person in the account: `owner` and `admin` can do everything, `member` manages servers, `billing` manages the account and its balance, and `viewer` can only read */
  role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer'
  /** When the link stops working */
  expires_at: string
  /** Whether a person has signed up with the address, and must sign in to accept */
  has_person: boolean
}

export interface OperatedAccount {
  /** Id of the account */
  account_id: string
  /** Contact address of the account */
  email: string
  /** The operator's own id of the account; null if they gave none */
  external_id: string | null
  /** Name of the customer */
  name: string
  /** The operator's own words for the account, which its customer does not see */
  tags: Array<string>
  /** The operator's own notes, which the customer does not see; null if there are none */
  notes: string | null
  /** Status of the account */
  status: 'active' | 'suspended' | 'closed'
  /** Reason for the status; null if it never changed */
  status_reason: string | null
  /** When the status changed; null if it never did */
  status_since: string | null
  /** True if the operator has frozen it: it is suspended, cut off, and kept as evidence until it is resumed */
  is_frozen: boolean
  /** Sum of all transactions; negative if the account owes money, in rubles with two decimals */
  balance: string
  /** Amount that the account may owe; 0.00 if it pays in advance, in rubles with two decimals */
  credit_limit: string
  /** Sum of the payments of the account, less chargebacks, in rubles with two decimals */
  paid: string
  /** The limits that the operator set for the account, by name; all others are the defaults */
  quotas: Record<string, number>
  /** Percent that the operator adds to the catalogue's prices for the account; below zero: a discount. Backups follow the price of their server */
  price_percent: number
  /** Prices per month of presets that have one of their own for the account, by slug; the percent does not change them */
  preset_prices_rub: Record<string, string>
  /** Whether the balance is used up while something is billed */
  is_depleted: boolean
  /** Servers of the account */
  server_count: number
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface OperatedAccountList {
  /** The items of this page */
  items: Array<OperatedAccount>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface OperatedAccountUpdate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** The operator's own id of the account, unique in the installation; null for none */
  external_id?: string | null | undefined
  /** The operator's own words for the account, which its customer does not see */
  tags?: Array<string> | undefined
  /** The operator's own notes, which the customer does not see; null for none */
  notes?: string | null | undefined
}

export interface OperatedAnnouncement {
  /** Id of the announcement */
  announcement_id: string
  /** Planned work, trouble that is there already, or other news */
  kind: 'maintenance' | 'incident' | 'notice'
  /** The text, in both languages */
  text: {
    /** The text in English: up to 1,000 characters in one paragraph */
    en: string
    /** The text in Russian: up to 1,000 characters in one paragraph */
    ru: string
  }
  /** Slugs of the zones that it is about; an empty list means all */
  zones: Array<string>
  /** When it begins, as planned */
  starts_at: string
  /** When it ends, as planned; null if it lasts until the operator ends it */
  ends_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
  /** When it ended: by its plan, or before that by the operator; null if it has not */
  ended_at: string | null
  /** When the last mail about it was queued; null until then */
  mailed_at: string | null
}

export interface OperatedAnnouncementList {
  /** The items of this page */
  items: Array<OperatedAnnouncement>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface OperatedComplaint {
  /** Id of the complaint */
  complaint_id: string
  /** Subject of the complaint: `scan` and `attack` are about the networks of others. More may be added */
  kind: 'spam' | 'scan' | 'attack' | 'phishing' | 'malware' | 'copyright' | 'other'
  /** The complaint, as its customer reads it: up to 4,000 characters, also in several lines */
  text: string
  /** The server that it is about; null if it is about the whole account */
  server_id: string | null
  /** Name of that server when the complaint was opened; null if there is none */
  server_name: string | null
  /** The side that is awaited, the customer with an answer or the operator with a reply; or the complaint is closed */
  status: 'awaiting_customer' | 'awaiting_operator' | 'closed'
  /** Until when the customer should answer */
  deadline_at: string
  /** True if the deadline has passed without an answer. Nothing follows from it by itself */
  is_overdue: boolean
  /** When the last reminder was mailed; null if none was */
  reminded_at: string | null
  /** How it ended: solved, unfounded, or by measures of the operator; null while it is open */
  outcome: 'solved' | 'unfounded' | 'measures_taken' | null
  /** When it was closed; null while it is open. It is kept for a year after that */
  closed_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
  /** Id of the account */
  account_id: string
  /** Contact address of the account */
  email: string
  /** True if the account is frozen already */
  is_frozen: boolean
  /** The action to take, with the exact command */
  remedy: string
}

export interface OperatedComplaintList {
  /** The items of this page */
  items: Array<OperatedComplaint>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface OperatedComplaintWithMessages {
  /** Id of the complaint */
  complaint_id: string
  /** Subject of the complaint: `scan` and `attack` are about the networks of others. More may be added */
  kind: 'spam' | 'scan' | 'attack' | 'phishing' | 'malware' | 'copyright' | 'other'
  /** The complaint, as its customer reads it: up to 4,000 characters, also in several lines */
  text: string
  /** The server that it is about; null if it is about the whole account */
  server_id: string | null
  /** Name of that server when the complaint was opened; null if there is none */
  server_name: string | null
  /** The side that is awaited, the customer with an answer or the operator with a reply; or the complaint is closed */
  status: 'awaiting_customer' | 'awaiting_operator' | 'closed'
  /** Until when the customer should answer */
  deadline_at: string
  /** True if the deadline has passed without an answer. Nothing follows from it by itself */
  is_overdue: boolean
  /** When the last reminder was mailed; null if none was */
  reminded_at: string | null
  /** How it ended: solved, unfounded, or by measures of the operator; null while it is open */
  outcome: 'solved' | 'unfounded' | 'measures_taken' | null
  /** When it was closed; null while it is open. It is kept for a year after that */
  closed_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
  /** Id of the account */
  account_id: string
  /** Contact address of the account */
  email: string
  /** True if the account is frozen already */
  is_frozen: boolean
  /** The action to take, with the exact command */
  remedy: string
  /** Answers of the customer and replies of the operator, oldest first: at most 10 of each, and one at the end */
  messages: Array<ComplaintMessage>
}

export interface OperatedImage {
  /** Short name of the template or ISO */
  template: string
  /** Pool of machines that the image is for */
  pool: string
  /** Whether it is no longer on offer */
  is_retired: boolean
  /** Whether servers can start from it. `absent`: it is prepared for the first server that needs it; `unknown`: the host does not answer within 3 seconds */
  status: 'absent' | 'preparing' | 'ready' | 'failed' | 'unknown'
  /** How far it is prepared, in percent; null unless `status` is `preparing` */
  progress: number | null
  /** The current step, the reason of the failure, or the source of the image; null if there is none */
  detail: string | null
  /** Size of its files in bytes; null unless `status` is `ready` */
  bytes: number | null
}

export interface OperatedOperation {
  /** Id of the account */
  account_id: string
  /** Id of the operation; wait for it by this id */
  operation_id: string
  /** Type of the resource that the operation is on */
  subject_type: 'server' | 'network' | 'image' | 'iso' | 'drive' | 'volume'
  /** Id of the resource that the operation is on */
  subject_id: string
  /** The server of the operation; null if it has none */
  server_id: string | null
  /** Type of the operation */
  type: 'create' | 'start' | 'stop' | 'reboot' | 'resize' | 'rebuild' | 'restore' | 'rescue' | 'unrescue' | 'snapshot' | 'backup' | 'reset_password' | 'delete' | 'attach_network' | 'detach_network' | 'import' | 'insert_iso' | 'eject_iso' | 'attach_volume' | 'detach_volume' | 'resize_volume' | 'delete_volume'
  /** Queued (`pending`), in progress (`running`) or finished: `succeeded`, `failed`, or `canceled` by a later request */
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled'
  /** Estimated progress in percent; 100 once it has succeeded */
  progress: number
  /** The current step, for people; the steps of a type may change */
  step: string
  /** Why it failed; null unless `status` is `failed` */
  error: {
    /** Stable code for programs, such as `boot_timeout` */
    code: string
    /** What went wrong, for people */
    message: string
  } | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When work on it began; null while it is `pending` */
  started_at: string | null
  /** When it finished; null while it is `pending` or `running` */
  finished_at: string | null
}

export interface OperatedOperationList {
  /** The items of this page */
  items: Array<OperatedOperation>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface OperatedPayment {
  /** Id of the account */
  account_id: string
  /** Id of the payment */
  payment_id: string
  /** The payment provider. More will be added; show an unknown one by its name. */
  provider: 'yookassa' | 'stripe'
  /** `pending`: waits for the customer or the bank; `succeeded`: added to the balance; `canceled`: not paid; `refunded`: paid back in whole; `disputed`: the bank has taken it back; `held`: the operator has to look at it before it is added */
  status: 'pending' | 'succeeded' | 'canceled' | 'refunded' | 'disputed' | 'held'
  /** Amount of the payment; of a charge in another currency an estimate, and what arrived once it is booked, in rubles with two decimals */
  amount_rub: string
  /** Currency that the provider charges (ISO 4217); null: rubles */
  charge_currency: string | null
  /** Sum that the provider charges, in `charge_currency`; null: rubles */
  charge_amount: string | null
  /** Part of it that was paid back or disputed, in rubles with two decimals */
  refunded_rub: string
  /** Page of the provider where it is paid; null if it waits for nothing, or until the provider answers */
  url: string | null
  /** True if an automatic top-up began it */
  is_automatic: boolean
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was added to the balance; null if it was not */
  booked_at: string | null
  /** Id at the provider; null until the provider knows the payment */
  provider_id: string | null
  /** Reference of its entry in the ledger; null without `provider_id`. A credit with it books a held payment by hand, once. */
  reference: string | null
  /** Why something of it was not booked; null if there is no problem */
  problem: string | null
  /** When the provider was last asked about it; null if it never was */
  looked_at: string | null
  /** Its refunds and disputes, oldest first */
  returns: Array<PaymentReturn>
}

export interface OperatedPaymentList {
  /** The items of this page */
  items: Array<OperatedPayment>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface OperatedServer {
  /** Id of the account */
  account_id: string
  /** Id of the server */
  server_id: string
  /** Name and host name */
  name: string
  /** Text of your choice; null if there is none */
  description: string | null
  /** Project that it is in */
  project_id: string
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Status of the server; those in -ing are temporary. `suspended`: stopped because the balance is used up, or by the operator; `error`: see `status_reason`, then start, reboot or delete it */
  status: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'rebuilding' | 'resetting_password' | 'restoring' | 'rescuing' | 'unrescuing' | 'suspended' | 'error' | 'deleting'
  /** Why it has this status, if no request led to it: `guest_shutdown`, `balance_depleted`, `account_suspended`, `server_suspended`, or the error code of an operation; `host_unavailable` if its host does not answer, so that the status is the last known one; otherwise null */
  status_reason: string | null
  /** The operator's reason for suspending this server, which stays suspended until they resume it; otherwise null */
  suspension_reason: string | null
  /** Whether the size is a preset or chosen freely */
  plan_type: 'preset' | 'custom'
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Its preset; null for a custom plan */
  preset_id: string | null
  /** Cores */
  cpu: number
  /** Memory in MB */
  ram_mb: number
  /** Disk in GB */
  disk_gb: number
  /** Its template; null if it was created from an image without one */
  template_id: string | null
  /** Id of the snapshot, backup or image that its disk was made from at last, which may be deleted by now; null: its template */
  source_id: string | null
  /** SSH keys that its system was created with, including those deleted since */
  ssh_key_ids: Array<string>
  /** Its public IPv4 address; null if it has none: then connect to the address and port in `ssh` */
  ipv4: string | null
  /** Its public IPv6 address; the whole /64 of it leads to the server. Null if it has none */
  ipv6: string | null
  /** The private networks that it is in, with its address in each */
  networks: Array<{
    /** Id of the private network */
    network_id: string
    /** Address of the server in the network */
    ipv4: string
  }>
  /** Names and values of your choice */
  labels: Record<string, string>
  /** Whether `DELETE` and a rebuild are refused */
  delete_protection: boolean
  /** The ISO in its drive, from which it boots before its disk; null: none */
  iso_id: string | null
  /** Whether it boots the rescue system in place of its own disk, until `unrescue` */
  rescue: boolean
  /** Whether it is backed up every day, which is billed beside its price */
  backups_enabled: boolean
  /** Hour of the day (UTC) in which its backup begins; null if it has none */
  backup_window: number | null
  /** Price per month of 730 hours, in rubles with two decimals */
  price_month_rub: string
  /** Price per hour, in rubles with four decimals: 1/730 of the price per month */
  price_hour_rub: string
  /** Address, port and user for SSH */
  ssh: {
    /** Address to connect to */
    host: string
    /** Port to connect to: 22 at a public address, otherwise a published port; null if it has none */
    port: number | null
    /** User to log in as */
    username: string
  }
  /** The operation in progress; null if there is none */
  current_operation: {
    /** Id of the operation; wait for it by this id */
    operation_id: string
    /** Type of the operation */
    type: 'create' | 'start' | 'stop' | 'reboot' | 'resize' | 'rebuild' | 'reset_password' | 'restore' | 'rescue' | 'unrescue' | 'snapshot' | 'backup' | 'delete' | 'insert_iso' | 'eject_iso'
    /** Queued (`pending`), in progress (`running`) or finished: `succeeded`, `failed`, or `canceled` by a later request */
    status: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled'
    /** Estimated progress in percent; 100 once it has succeeded */
    progress: number
  } | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
  /** When it was last started; null while it is off */
  started_at: string | null
  /** When it will be deleted, with its data and in spite of `delete_protection`, if it is still suspended then, because the balance is used up or the account is closed; null if it will not be */
  delete_at: string | null
}

export interface OperatedServerList {
  /** The items of this page */
  items: Array<OperatedServer>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Operation {
  /** Id of the operation; wait for it by this id */
  operation_id: string
  /** Type of the resource that the operation is on */
  subject_type: 'server' | 'network' | 'image' | 'iso' | 'drive' | 'volume'
  /** Id of the resource that the operation is on */
  subject_id: string
  /** The server of the operation; null if it has none */
  server_id: string | null
  /** Type of the operation */
  type: 'create' | 'start' | 'stop' | 'reboot' | 'resize' | 'rebuild' | 'restore' | 'rescue' | 'unrescue' | 'snapshot' | 'backup' | 'reset_password' | 'delete' | 'attach_network' | 'detach_network' | 'import' | 'insert_iso' | 'eject_iso' | 'attach_volume' | 'detach_volume' | 'resize_volume' | 'delete_volume'
  /** Queued (`pending`), in progress (`running`) or finished: `succeeded`, `failed`, or `canceled` by a later request */
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled'
  /** Estimated progress in percent; 100 once it has succeeded */
  progress: number
  /** The current step, for people; the steps of a type may change */
  step: string
  /** Why it failed; null unless `status` is `failed` */
  error: {
    /** Stable code for programs, such as `boot_timeout` */
    code: string
    /** What went wrong, for people */
    message: string
  } | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When work on it began; null while it is `pending` */
  started_at: string | null
  /** When it finished; null while it is `pending` or `running` */
  finished_at: string | null
}

export interface OperationInProgressProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'operation_in_progress'
  /** The operation to wait for */
  operation_id: string | null
}

export interface OperationList {
  /** The items of this page */
  items: Array<Operation>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface OwnProof {
  /** The current password; required if the person has one */
  password?: string | undefined
  /** A code of the app, or a recovery code; required if two-factor authentication is on */
  code?: string | undefined
}

export interface Passkey {
  /** Id of the passkey */
  passkey_id: string
  /** Name that the person gave it */
  name: string
  /** Whether the passkey is synchronized between devices, so that it survives the loss of one */
  is_synced: boolean
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last used to sign in; null if never */
  last_used_at: string | null
}

export interface PasskeyChallenge {
  /** Ticket that connects both steps; valid once, for 10 minutes */
  ticket: string
  /** Random bytes for the browser to sign, in base64url */
  challenge: string
  /** Host that the key is for */
  relying_party: string
}

export interface PasskeyCreate {
  /** Ticket that connects both steps; valid once, for 10 minutes */
  ticket: string
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Id that the authenticator gave the key, in base64url */
  credential: string
  /** `clientDataJSON` as the browser returned it, in base64url */
  client_data: string
  /** `attestationObject` as the browser returned it, in base64url */
  attestation: string
}

export interface PasskeyList {
  /** The items of this page */
  items: Array<Passkey>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface PasskeySetUp {
  /** Ticket that connects both steps; valid once, for 10 minutes */
  ticket: string
  /** Random bytes for the browser to sign, in base64url */
  challenge: string
  /** Host that the key is for */
  relying_party: string
  /** Id of the person, as authenticators keep it, in base64url */
  user_handle: string
  /** Name of the person that the device shows */
  user_name: string
  /** Existing keys of the person, so that no device creates a second one */
  exclude_credentials: Array<string>
}

export interface PasskeyUpdate {
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
}

export interface PasskeyUse {
  /** Ticket that connects both steps; valid once, for 10 minutes */
  ticket: string
  /** Id that the authenticator gave the key, in base64url */
  credential: string
  /** `clientDataJSON` as the browser returned it, in base64url */
  client_data: string
  /** `authenticatorData` as the browser returned it, in base64url */
  authenticator_data: string
  /** `signature` as the browser returned it, in base64url */
  signature: string
}

export interface PasswordChange {
  /** The current password; required if the person has one */
  current_password?: string | undefined
  /** The new password, 10 to 200 characters, and not a common one */
  new_password: string
  /** A code of the app, or a recovery code; required if two-factor authentication is on */
  code?: string | undefined
}

export interface PasswordProof {
  /** The current password; required if the person has one */
  password?: string | undefined
}

export interface PasswordReset {
  /** Token: the part of the link after # */
  token: string
  /** The new password, 10 to 200 characters, and not a common one */
  password: string
}

export interface Payee {
  /** Name of the payee */
  name: string
  /** Address of the payee */
  address: string
  /** Tax id of the payee */
  tax_id: string
  /** Name of the bank */
  bank_name: string
  /** Account at the bank */
  bank_account: string
  /** BIC of the bank */
  bank_bic: string
  /** The bank's correspondent account; null if it has none */
  correspondent_account: string | null
}

export interface Payment {
  /** Id of the payment */
  payment_id: string
  /** The payment provider. More will be added; show an unknown one by its name. */
  provider: 'yookassa' | 'stripe'
  /** `pending`: waits for the customer or the bank; `succeeded`: added to the balance; `canceled`: not paid; `refunded`: paid back in whole; `disputed`: the bank has taken it back; `held`: the operator has to look at it before it is added */
  status: 'pending' | 'succeeded' | 'canceled' | 'refunded' | 'disputed' | 'held'
  /** Amount of the payment; of a charge in another currency an estimate, and what arrived once it is booked, in rubles with two decimals */
  amount_rub: string
  /** Currency that the provider charges (ISO 4217); null: rubles */
  charge_currency: string | null
  /** Sum that the provider charges, in `charge_currency`; null: rubles */
  charge_amount: string | null
  /** Part of it that was paid back or disputed, in rubles with two decimals */
  refunded_rub: string
  /** Page of the provider where it is paid; null if it waits for nothing, or until the provider answers */
  url: string | null
  /** True if an automatic top-up began it */
  is_automatic: boolean
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was added to the balance; null if it was not */
  booked_at: string | null
}

export interface PaymentCreate {
  /** Amount in rubles, from 10.00 to 500000.00; required without `charge_amount` */
  amount_rub?: string | undefined
  /** Currency to charge in place of rubles (ISO 4217), of those in `currencies` of `GET /account/payment_providers`. The balance gets the rubles that arrive */
  charge_currency?: string | undefined
  /** Sum in `charge_currency`, in place of `amount_rub` */
  charge_amount?: string | undefined
  /** The payment provider (default: the first of `GET /account/payment_providers`) */
  provider?: 'yookassa' | 'stripe' | undefined
  /** Saved payment method to charge, instead of a page of the provider */
  payment_method_id?: string | undefined
  /** Another name of `payment_method_id`; give one of them */
  method_id?: string | undefined
  /** If true, the method is saved once it has paid. It must be false with `payment_method_id`. Default: false. */
  save_method?: boolean | undefined
  /** Page to which the provider sends the customer back, paid or not (default: the billing page of the console) */
  return_url?: string | undefined
}

export interface PaymentList {
  /** The items of this page */
  items: Array<Payment>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface PaymentMethod {
  /** Id of the saved payment method */
  payment_method_id: string
  /** The payment provider. More will be added; show an unknown one by its name. */
  provider: 'yookassa' | 'stripe'
  /** Brand of the card, or the type of another method, in the provider's words */
  brand: string
  /** Last four digits of the card; null if it is not a card */
  last_four: string | null
  /** Last month in which it can be charged; null if the provider does not say */
  expires: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface PaymentMethodList {
  /** The items of this page */
  items: Array<PaymentMethod>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface PaymentProvider {
  /** The payment provider. More will be added; show an unknown one by its name. */
  provider: 'yookassa' | 'stripe'
  /** Name of the provider for people */
  title: string
  /** Smallest payment, in rubles with two decimals */
  min_amount_rub: string
  /** Largest payment, in rubles with two decimals */
  max_amount_rub: string
  /** Currencies that it can charge here (ISO 4217), rubles first */
  currencies: Array<string>
}

export interface PaymentProviderList {
  /** The providers; none if the operator has set up none */
  items: Array<PaymentProvider>
  /** Number of providers */
  total: number
}

export interface PaymentReturn {
  /** A refund, or a dispute of the bank */
  kind: 'refund' | 'dispute'
  /** Amount that goes back, in rubles with two decimals */
  amount_rub: string
  /** Sum that the provider charges, in `charge_currency`; null: rubles */
  charge_amount: string | null
  /** `requested`: not confirmed by the provider yet; `taken` from the balance; `reversed`: taken, and given back to the balance; `failed`: nothing was taken */
  status: 'requested' | 'taken' | 'reversed' | 'failed'
  /** Id at the provider; null until it was sent */
  provider_id: string | null
  /** The operator's reason, or why it failed; null if it came from the provider */
  reason: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface Person {
  /** Id of a person */
  person_id: string
  /** E-mail address, in lower case */
  email: string
  /** Name of the person */
  name: string
  /** Language of mails: English or Russian */
  language: 'en' | 'ru'
  /** Kinds of mails that the person does not want: the operator’s announcements, servers that are down, failed backups, limits that are nearly reached. Those about security, complaints and money always come */
  muted_mails: Array<'announcements' | 'servers' | 'backups' | 'limits'>
  /** Whether the person runs this installation */
  is_operator: boolean
  /** Whether the person can sign in with a password */
  has_password: boolean
  /** Two-factor authentication; null if it is off */
  two_factor: {
    /** When it was turned on */
    enabled_at: string
    /** Recovery codes that were not used yet */
    recovery_codes_left: number
  } | null
  /** Host of the OpenID Connect provider that the person can sign in with; null if there is none */
  identity_provider: string | null
  /** Terms in force that the person has not accepted: a page should ask for that, and send the version to `PATCH /person`. Null if there are none. Tokens work regardless */
  terms_due: {
    /** Page of the terms */
    url: string
    /** Version of the terms in force */
    version: string
  } | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** Id of a session */
  session_id: string
  /** The account that requests are for unless `Berth-Account` names another; null if there is none */
  account_id: string | null
  /** The accounts that the person is a member of */
  accounts: Array<{
    /** Id of an account */
    account_id: string
    /** Id of a membership */
    member_id: string
    /** Name of the account */
    name: string
    /** Contact address of the account */
    email: string
    /** Status of the account */
    status: 'active' | 'suspended' | 'closed'
    /** Role of a person in the account: `owner` and `admin` can do everything, `member` manages servers, `billing` manages the account and its balance, and `viewer` can only read */
    role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer'
  }>
}

export interface PersonUpdate {
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** Language of mails: English or Russian */
  language?: 'en' | 'ru' | undefined
  /** Kinds of mails that the person does not want: the operator’s announcements, servers that are down, failed backups, limits that are nearly reached. Those about security, complaints and money always come */
  muted_mails?: Array<'announcements' | 'servers' | 'backups' | 'limits'> | undefined
  /** Version of the terms that the person has accepted, as `operator.terms` of `GET /sign-in/options` has it; new people must send it if there are terms */
  accepted_terms?: string | undefined
}

export interface PlainProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'access_denied' | 'account_exists' | 'account_frozen' | 'account_in_use' | 'account_not_found' | 'account_status_conflict' | 'account_suspended' | 'account_token_required' | 'address_in_use' | 'address_not_allowed' | 'address_not_found' | 'already_member' | 'announcement_ended' | 'announcement_not_found' | 'authorization_pending' | 'backend_unavailable' | 'backup_not_found' | 'backup_not_ready' | 'bad_request' | 'bank_transaction_taken' | 'catalog_changed' | 'catalog_not_writable' | 'complaint_closed' | 'complaint_not_found' | 'correction_too_large' | 'delete_protected' | 'document_not_correctable' | 'document_not_found' | 'email_unverified' | 'expired_token' | 'firewall_in_use' | 'firewall_limit_reached' | 'firewall_not_found' | 'idempotency_key_in_use' | 'idempotency_key_reused' | 'identity_for_another' | 'identity_not_found' | 'image_in_use' | 'image_not_found' | 'image_not_uploading' | 'internal_error' | 'invalid_json' | 'invalid_token' | 'invitation_for_another' | 'invitation_not_found' | 'iso_in_use' | 'iso_is_public' | 'iso_not_found' | 'last_owner' | 'link_invalid' | 'member_not_found' | 'method_not_allowed' | 'missing_token' | 'network_address_unavailable' | 'network_attached' | 'network_in_use' | 'network_not_found' | 'no_account' | 'no_console' | 'no_provider' | 'not_a_member' | 'operation_not_found' | 'operator_required' | 'origin_not_allowed' | 'owner_unclear' | 'passkey_limit_reached' | 'passkey_not_found' | 'passkey_refused' | 'passkeys_unavailable' | 'payload_too_large' | 'payment_method_not_found' | 'payment_not_found' | 'payment_refused' | 'payments_off' | 'person_required' | 'port_is_system' | 'port_not_found' | 'port_taken' | 'precondition_failed' | 'project_is_default' | 'project_not_empty' | 'project_not_found' | 'promo_code_exists' | 'promo_code_invalid' | 'promo_code_not_found' | 'promo_code_redeemed' | 'provider_refused' | 'rate_limited' | 'reference_taken' | 'refund_too_large' | 'rescue_conflict' | 'role_not_allowed' | 'route_not_found' | 'server_not_found' | 'session_ended' | 'session_not_found' | 'sign_in_again' | 'sign_in_failed' | 'sign_up_closed' | 'snapshot_in_use' | 'snapshot_not_found' | 'ssh_key_not_found' | 'terms_not_accepted' | 'ticket_invalid' | 'token_expired' | 'token_not_found' | 'token_not_revocable' | 'token_revoked' | 'too_many_announcements' | 'too_many_complaints' | 'too_many_corrections' | 'too_many_credits' | 'too_many_messages' | 'too_many_open_payments' | 'too_many_payment_methods' | 'too_many_transfers' | 'transfer_not_found' | 'transfers_not_offered' | 'two_factor_off' | 'two_factor_on' | 'two_factor_required' | 'unsupported_media_type' | 'user_code_not_found' | 'volume_detached' | 'volume_in_use' | 'volume_not_found' | 'webhook_not_found' | 'webhook_not_verified' | 'wrong_code' | 'wrong_password'
}

export interface PortPublish {
  /** Transport protocol */
  protocol: 'tcp' | 'udp'
  /** Port of the server */
  port: number
  /** Port that clients connect to, from the range of the installation; default: a free one */
  host_port?: number | undefined
}

export interface Preset {
  /** Id of a preset: a size on offer, in every zone */
  preset_id: string
  /** Short name; unique */
  slug: string
  /** Cores */
  cpu: number
  /** Memory in MB */
  ram_mb: number
  /** Disk in GB */
  disk_gb: number
  /** Price per month of 730 hours, in rubles with two decimals */
  price_month_rub: string
  /** Price per hour, in rubles with four decimals: 1/730 of the price per month */
  price_hour_rub: string
  /** GB (1,000,000,000 bytes) that may be sent to the internet in a calendar month (UTC) for the price; incoming traffic is free */
  traffic_gb: number
  /** Price of each further TB (1,000 GB); 0.00 if it is free, in rubles with two decimals */
  traffic_tb_rub: string
  /** Bandwidth in each direction in Mbit/s; null: not limited */
  bandwidth_mbit: number | null
  /** Whether such a server can be created now */
  is_available: boolean
}

export interface PriceChange {
  /** Percent that the operator adds to the catalogue's prices for the account; below zero: a discount. Backups follow the price of their server */
  price_percent: number
  /** Prices per month of presets that have one of their own for the account, by slug; the percent does not change them */
  preset_prices_rub: Record<string, string>
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
}

export interface Problem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'access_denied' | 'account_exists' | 'account_frozen' | 'account_in_use' | 'account_not_found' | 'account_status_conflict' | 'account_suspended' | 'account_token_required' | 'address_in_use' | 'address_not_allowed' | 'address_not_found' | 'already_member' | 'announcement_ended' | 'announcement_not_found' | 'authorization_pending' | 'backend_unavailable' | 'backup_not_found' | 'backup_not_ready' | 'bad_request' | 'bank_transaction_taken' | 'catalog_changed' | 'catalog_not_writable' | 'complaint_closed' | 'complaint_not_found' | 'correction_too_large' | 'delete_protected' | 'document_not_correctable' | 'document_not_found' | 'email_unverified' | 'expired_token' | 'firewall_in_use' | 'firewall_limit_reached' | 'firewall_not_found' | 'idempotency_key_in_use' | 'idempotency_key_reused' | 'identity_for_another' | 'identity_not_found' | 'image_in_use' | 'image_not_found' | 'image_not_uploading' | 'internal_error' | 'invalid_json' | 'invalid_token' | 'invitation_for_another' | 'invitation_not_found' | 'iso_in_use' | 'iso_is_public' | 'iso_not_found' | 'last_owner' | 'link_invalid' | 'member_not_found' | 'method_not_allowed' | 'missing_token' | 'network_address_unavailable' | 'network_attached' | 'network_in_use' | 'network_not_found' | 'no_account' | 'no_console' | 'no_provider' | 'not_a_member' | 'operation_not_found' | 'operator_required' | 'origin_not_allowed' | 'owner_unclear' | 'passkey_limit_reached' | 'passkey_not_found' | 'passkey_refused' | 'passkeys_unavailable' | 'payload_too_large' | 'payment_method_not_found' | 'payment_not_found' | 'payment_refused' | 'payments_off' | 'person_required' | 'port_is_system' | 'port_not_found' | 'port_taken' | 'precondition_failed' | 'project_is_default' | 'project_not_empty' | 'project_not_found' | 'promo_code_exists' | 'promo_code_invalid' | 'promo_code_not_found' | 'promo_code_redeemed' | 'provider_refused' | 'rate_limited' | 'reference_taken' | 'refund_too_large' | 'rescue_conflict' | 'role_not_allowed' | 'route_not_found' | 'server_not_found' | 'session_ended' | 'session_not_found' | 'sign_in_again' | 'sign_in_failed' | 'sign_up_closed' | 'snapshot_in_use' | 'snapshot_not_found' | 'ssh_key_not_found' | 'terms_not_accepted' | 'ticket_invalid' | 'token_expired' | 'token_not_found' | 'token_not_revocable' | 'token_revoked' | 'too_many_announcements' | 'too_many_complaints' | 'too_many_corrections' | 'too_many_credits' | 'too_many_messages' | 'too_many_open_payments' | 'too_many_payment_methods' | 'too_many_transfers' | 'transfer_not_found' | 'transfers_not_offered' | 'two_factor_off' | 'two_factor_on' | 'two_factor_required' | 'unsupported_media_type' | 'user_code_not_found' | 'volume_detached' | 'volume_in_use' | 'volume_not_found' | 'webhook_not_found' | 'webhook_not_verified' | 'wrong_code' | 'wrong_password' | 'insufficient_scope' | 'validation_failed' | 'slow_down' | 'quota_exceeded' | 'ssh_key_exists' | 'server_state_conflict' | 'operation_in_progress' | 'insufficient_balance' | 'capacity_unavailable' | 'not_supported' | 'address_unavailable' | 'upload_offset' | 'server_attached'
  /** The scope that is needed */
  required_scope?: string | undefined
  /** Scopes that are accepted; one of them is enough */
  accepted_scopes?: Array<string> | undefined
  /** Every mistake, at most the first 100 */
  errors?: Array<Issue> | undefined
  /** Seconds to wait from here on */
  interval?: number | undefined
  /** The quota that would be exceeded */
  quota?: {
    /** Name of the quota */
    name: string
    /** How much the account may have */
    limit: number
    /** How much the account has */
    used: number
    /** How much more the request asks for */
    requested: number
  } | undefined
  /** Id of the key that exists */
  ssh_key_id?: string | undefined
  /** Its status */
  current_status?: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'rebuilding' | 'resetting_password' | 'restoring' | 'rescuing' | 'unrescuing' | 'suspended' | 'error' | 'deleting' | undefined
  /** Statuses that allow it */
  allowed_statuses?: Array<'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'rebuilding' | 'resetting_password' | 'restoring' | 'rescuing' | 'unrescuing' | 'suspended' | 'error' | 'deleting'> | undefined
  /** The operation to wait for */
  operation_id?: string | null | undefined
  /** Balance that is required: 24 hours of everything that the account pays for, including this, in rubles with two decimals */
  required?: string | undefined
  /** Balance of the account and its credit limit, in rubles with two decimals */
  available?: string | undefined
  /** The largest server that fits now */
  max_server?: {
    /** Cores */
    cpu: number
    /** Memory in MB */
    ram_mb: number
    /** Disk in GB */
    disk_gb: number
  } | undefined
  /** Zones that have a free address now */
  alternatives?: Array<string> | undefined
  /** A feature of a zone: `public_ipv4` and `public_ipv6`, public addresses of servers; `published_ports`, ports of the host that lead to a server; `private_networks`, networks between servers; `firewalls`, rules for connections; `console`, a serial console; `snapshots`, copies of disks; `backups`, one of them every day; `images`, images of your own; `reset_password`, a new password for a running server; `rescue`, a rescue system beside the disk; `live_resize`, a disk that grows while the server runs; `screen`, the screen in a browser; `volumes`, disks that can be moved between servers */
  feature?: 'public_ipv4' | 'public_ipv6' | 'published_ports' | 'private_networks' | 'firewalls' | 'console' | 'snapshots' | 'backups' | 'images' | 'reset_password' | 'volumes' | 'rescue' | 'live_resize' | 'screen' | 'isos' | undefined
  /** Bytes that have arrived */
  uploaded_bytes?: number | undefined
  /** All of them */
  attachments?: Array<{
    /** Kind of the object; a firewall may have the server by its labels */
    type: 'volume' | 'network' | 'firewall' | 'address' | 'iso'
    /** Id of the object */
    id: string
    /** Its name, or the address */
    name: string
  }> | undefined
}

export interface Project {
  /** Id of a project */
  project_id: string
  /** Name of your choice */
  name: string
  /** Text of your choice; null if there is none */
  description: string | null
  /** Whether servers are created in it if no project is given; it cannot be deleted */
  is_default: boolean
  /** Number of servers in it */
  server_count: number
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
}

export interface ProjectCreate {
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
}

export interface ProjectList {
  /** The items of this page */
  items: Array<Project>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface ProjectUpdate {
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
}

export interface PromoCode {
  /** Id of the promo code */
  promo_code_id: string
  /** Name of it for operators, at most 100 characters */
  name: string
  /** Days after the redemption until the rest of the credit expires */
  credit_days: number
  /** Accounts that may redeem it, each once */
  max_uses: number
  /** The credit of each account, in rubles with two decimals */
  amount_rub: string
  /** Accounts that have redeemed it */
  uses: number
  /** The end of its validity */
  expires_at: string
  /** When it was revoked; null if it was not */
  revoked_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface PromoCodeCreate {
  /** Name of it for operators, at most 100 characters */
  name: string
  /** Days after the redemption until the rest of the credit expires */
  credit_days: number
  /** Accounts that may redeem it, each once */
  max_uses: number
  /** The credit of each account in rubles */
  amount_rub: string
  /** The end of its validity, in the future */
  expires_at: string
  /** The code, if it is to be one of yours; a repeat with it finds the first one (default: 16 random letters and digits) */
  code?: string | undefined
}

export interface PromoCodeList {
  /** The items of this page */
  items: Array<PromoCode>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface ProviderAnswer {
  /** Ticket that connects both steps; valid once, for 10 minutes */
  ticket: string
  /** The query of the address that the provider redirected to, without the question mark */
  answer: string
  /** Language of mails: English or Russian */
  language?: 'en' | 'ru' | undefined
  /** Version of the terms that the person has accepted, as `operator.terms` of `GET /sign-in/options` has it; new people must send it if there are terms */
  accepted_terms?: string | undefined
}

export interface ProviderBeginning {
  /** Ticket that connects both steps; valid once, for 10 minutes */
  ticket: string
  /** Page of the provider to open in the browser */
  url: string
}

export interface ProviderSignIn {
  /** Whether the cookie of a session was set */
  is_signed_in: boolean
  /** The person who has signed in */
  person: Person | null
  /** Ticket for `POST /sign-in/two-factor`, with a code; null if no code is required. Valid once, for 10 minutes */
  ticket: string | null
  /** Ticket for `POST /person/identity`, if the address has signed up already; null otherwise. Valid once, for 10 minutes */
  identity_ticket: string | null
}

export interface PublishedPort {
  /** Id of the published port */
  port_id: string
  /** The server that it leads to */
  server_id: string
  /** Transport protocol */
  protocol: 'tcp' | 'udp'
  /** Port of the server */
  port: number
  /** Host name or address that clients connect to */
  host: string
  /** Port that clients connect to */
  host_port: number
  /** Whether the service manages the port, such as the one for SSH, which cannot be deleted */
  is_system: boolean
  /** `active`: it leads to the server while the server is on. If the zone cannot change the ports of a running server, a published port is `pending` until the server is stopped and started again. Until then a deleted port is `closing`, and still leads to the server */
  status: 'active' | 'pending' | 'closing'
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface PublishedPortList {
  /** The items of this page */
  items: Array<PublishedPort>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface QuotaExceededProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'quota_exceeded'
  /** The quota that would be exceeded */
  quota: {
    /** Name of the quota */
    name: string
    /** How much the account may have */
    limit: number
    /** How much the account has */
    used: number
    /** How much more the request asks for */
    requested: number
  }
}

export interface Quote {
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Whether the size is a preset or chosen freely */
  plan_type: 'preset' | 'custom'
  /** The preset; null for a custom plan */
  preset_id: string | null
  /** Cores */
  cpu: number
  /** Memory in MB */
  ram_mb: number
  /** Disk in GB */
  disk_gb: number
  /** Currency of all amounts (ISO 4217) */
  currency: 'RUB'
  /** Price per hour, in rubles with four decimals: 1/730 of the price per month */
  price_hour_rub: string
  /** Price per month of 730 hours, in rubles with two decimals */
  price_month_rub: string
  /** GB (1,000,000,000 bytes) that may be sent to the internet in a calendar month (UTC) for the price; incoming traffic is free */
  traffic_gb: number
  /** Price of each further TB (1,000 GB); 0.00 if it is free, in rubles with two decimals */
  traffic_tb_rub: string
  /** Bandwidth in each direction in Mbit/s; null: not limited */
  bandwidth_mbit: number | null
  /** Items that add up to the price */
  items: Array<{
    /** Part of the plan that the price is for */
    code: 'cpu' | 'ram' | 'disk' | 'preset' | 'ipv4' | 'backups'
    /** Number of units */
    quantity: number
    /** The unit */
    unit: 'core' | 'gb' | 'preset' | 'address' | 'server'
    /** Price of one unit per month, in rubles with two decimals */
    price_unit_month_rub: string
    /** Price of all units per month, in rubles with two decimals */
    price_month_rub: string
  }>
  /** Whether there is enough capacity for it now */
  is_available: boolean
  /** Whether creating it would succeed now */
  can_create: boolean
  /** Why it cannot be created now; empty if it can */
  blockers: Array<{
    /** Error code that creating the server would return */
    code: string
    /** Explanation of the obstacle, for people */
    detail: string
  }>
  /** When it was quoted; prices and capacity may change afterwards */
  quoted_at: string
}

export interface QuoteRequest {
  /** Whether the size is a preset or chosen freely */
  plan_type: 'preset' | 'custom'
  /** Id of a preset: a size on offer, in every zone */
  preset_id?: string | undefined
  /** Slug of the preset, such as `nano`, in place of `preset_id` */
  preset?: string | undefined
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Id of a template: the operating system that the server is created from */
  template_id?: string | undefined
  /** Slug of the template, such as `debian-12`, in place of `template_id` */
  template?: string | undefined
  /** An available snapshot or backup of the same zone, in place of a template (see `GET /snapshots` and `GET /backups`) */
  snapshot_id?: string | undefined
  /** An available image of the same zone, in place of a template (see `GET /images`) */
  image_id?: string | undefined
  /** Name and host name, 1 to 63 letters, digits and dashes, without a dash at either end; need not be unique. Default: a generated one */
  name?: string | undefined
  /** Project to put it in. Default: the default project of the account */
  project_id?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
  /** SSH keys that may log in; only a rebuild can change them. Default: none, and the server gets a password, which its details show */
  ssh_key_ids?: Array<string> | undefined
  /** User data for cloud-init, up to 64 KiB; kept encrypted and never shown again */
  user_data?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** Ports to publish besides the one for SSH, each under a free host port; more can be published later. Default: none */
  published_ports?: Array<{
    /** Transport protocol */
    protocol: 'tcp' | 'udp'
    /** Port of the server */
    port: number
  }> | undefined
  /** Whether it gets a public IPv4 address, at the price in the quote; deleted with the server unless it was moved. Default: if the zone has `public_ipv4` */
  enable_ipv4?: boolean | undefined
  /** Whether it gets a public IPv6 /64. Default: if the zone has `public_ipv6` */
  enable_ipv6?: boolean | undefined
  /** Private networks of the zone to attach the server to, at the first free address of each; their ranges must not overlap. Default: none */
  network_ids?: Array<string> | undefined
  /** Firewalls to attach to it, up to 5 with those that its labels bring. Default: none, and all connections are allowed */
  firewall_ids?: Array<string> | undefined
  /** Whether to start it; a server that is created stopped is billed as well. Default: true. */
  start_on_create?: boolean | undefined
  /** Whether `DELETE` and a rebuild are refused until this is set to false. Default: false. */
  delete_protection?: boolean | undefined
  /** Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest */
  backups_enabled?: boolean | undefined
  /** Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night */
  backup_window?: number | undefined
  /** Cores of a custom plan; for the range see `GET /pricing/limits` */
  cpu?: number | undefined
  /** Memory in MB of a custom plan */
  ram_mb?: number | undefined
  /** Disk in GB of a custom plan; can grow later, not shrink */
  disk_gb?: number | undefined
}

export interface QuoteRequestCustom {
  /** Whether the size is a preset or chosen freely */
  plan_type: 'custom'
  /** Cores of a custom plan; for the range see `GET /pricing/limits` */
  cpu: number
  /** Memory in MB of a custom plan */
  ram_mb: number
  /** Disk in GB of a custom plan; can grow later, not shrink */
  disk_gb: number
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Id of a template: the operating system that the server is created from */
  template_id?: string | undefined
  /** Slug of the template, such as `debian-12`, in place of `template_id` */
  template?: string | undefined
  /** An available snapshot or backup of the same zone, in place of a template (see `GET /snapshots` and `GET /backups`) */
  snapshot_id?: string | undefined
  /** An available image of the same zone, in place of a template (see `GET /images`) */
  image_id?: string | undefined
  /** Name and host name, 1 to 63 letters, digits and dashes, without a dash at either end; need not be unique. Default: a generated one */
  name?: string | undefined
  /** Project to put it in. Default: the default project of the account */
  project_id?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
  /** SSH keys that may log in; only a rebuild can change them. Default: none, and the server gets a password, which its details show */
  ssh_key_ids?: Array<string> | undefined
  /** User data for cloud-init, up to 64 KiB; kept encrypted and never shown again */
  user_data?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** Ports to publish besides the one for SSH, each under a free host port; more can be published later. Default: none */
  published_ports?: Array<{
    /** Transport protocol */
    protocol: 'tcp' | 'udp'
    /** Port of the server */
    port: number
  }> | undefined
  /** Whether it gets a public IPv4 address, at the price in the quote; deleted with the server unless it was moved. Default: if the zone has `public_ipv4` */
  enable_ipv4?: boolean | undefined
  /** Whether it gets a public IPv6 /64. Default: if the zone has `public_ipv6` */
  enable_ipv6?: boolean | undefined
  /** Private networks of the zone to attach the server to, at the first free address of each; their ranges must not overlap. Default: none */
  network_ids?: Array<string> | undefined
  /** Firewalls to attach to it, up to 5 with those that its labels bring. Default: none, and all connections are allowed */
  firewall_ids?: Array<string> | undefined
  /** Whether to start it; a server that is created stopped is billed as well. Default: true. */
  start_on_create?: boolean | undefined
  /** Whether `DELETE` and a rebuild are refused until this is set to false. Default: false. */
  delete_protection?: boolean | undefined
  /** Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest */
  backups_enabled?: boolean | undefined
  /** Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night */
  backup_window?: number | undefined
}

export interface QuoteRequestPreset {
  /** Whether the size is a preset or chosen freely */
  plan_type: 'preset'
  /** Id of a preset: a size on offer, in every zone */
  preset_id?: string | undefined
  /** Slug of the preset, such as `nano`, in place of `preset_id` */
  preset?: string | undefined
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Id of a template: the operating system that the server is created from */
  template_id?: string | undefined
  /** Slug of the template, such as `debian-12`, in place of `template_id` */
  template?: string | undefined
  /** An available snapshot or backup of the same zone, in place of a template (see `GET /snapshots` and `GET /backups`) */
  snapshot_id?: string | undefined
  /** An available image of the same zone, in place of a template (see `GET /images`) */
  image_id?: string | undefined
  /** Name and host name, 1 to 63 letters, digits and dashes, without a dash at either end; need not be unique. Default: a generated one */
  name?: string | undefined
  /** Project to put it in. Default: the default project of the account */
  project_id?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
  /** SSH keys that may log in; only a rebuild can change them. Default: none, and the server gets a password, which its details show */
  ssh_key_ids?: Array<string> | undefined
  /** User data for cloud-init, up to 64 KiB; kept encrypted and never shown again */
  user_data?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** Ports to publish besides the one for SSH, each under a free host port; more can be published later. Default: none */
  published_ports?: Array<{
    /** Transport protocol */
    protocol: 'tcp' | 'udp'
    /** Port of the server */
    port: number
  }> | undefined
  /** Whether it gets a public IPv4 address, at the price in the quote; deleted with the server unless it was moved. Default: if the zone has `public_ipv4` */
  enable_ipv4?: boolean | undefined
  /** Whether it gets a public IPv6 /64. Default: if the zone has `public_ipv6` */
  enable_ipv6?: boolean | undefined
  /** Private networks of the zone to attach the server to, at the first free address of each; their ranges must not overlap. Default: none */
  network_ids?: Array<string> | undefined
  /** Firewalls to attach to it, up to 5 with those that its labels bring. Default: none, and all connections are allowed */
  firewall_ids?: Array<string> | undefined
  /** Whether to start it; a server that is created stopped is billed as well. Default: true. */
  start_on_create?: boolean | undefined
  /** Whether `DELETE` and a rebuild are refused until this is set to false. Default: false. */
  delete_protection?: boolean | undefined
  /** Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest */
  backups_enabled?: boolean | undefined
  /** Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night */
  backup_window?: number | undefined
}

export interface RebuildRequest {
  /** Id of a template: the operating system that the server is created from */
  template_id?: string | undefined
  /** Slug of the template, such as `debian-12`, in place of `template_id` */
  template?: string | undefined
  /** An available snapshot or backup of the same zone, in place of a template (see `GET /snapshots` and `GET /backups`) */
  snapshot_id?: string | undefined
  /** An available image of the same zone, in place of a template (see `GET /images`) */
  image_id?: string | undefined
  /** SSH keys that may log in to the new system. With an empty list the server gets a new password, which its details show. Default: the keys that it has, or a new password if it has none */
  ssh_key_ids?: Array<string> | undefined
  /** User data for cloud-init, up to 64 KiB; null for none. Default: the user data that the server was created with */
  user_data?: string | null | undefined
}

export interface RecoveryCodes {
  /** Ten codes, each of which replaces a code of the app once */
  recovery_codes: Array<string>
}

export interface Redemption {
  /** The promo code; dashes, spaces and upper or lower case do not matter */
  code: string
}

export interface RefundCreate {
  /** Amount in rubles, at most what is left of the payment */
  amount_rub: string
  /** Reason, at most 200 characters; the customer may see it at the provider */
  reason: string
}

export interface ReplacedCatalog {
  /** The hash of the text in force, for the next change */
  hash: string
  /** When this process took it into force */
  in_force_since: string
  /** The differences to the catalogue before, as `berthd catalog check` prints them; at most 200, and none if the text was in force already */
  differences: Array<string>
}

export interface RescueRequest {
  /** SSH keys that may log in to the rescue system. Default: none; it then gets a generated password, which the details of the server show */
  ssh_key_ids?: Array<string> | undefined
}

export interface RestoreRequest {
  /** Id of the snapshot */
  snapshot_id?: string | undefined
  /** Id of the backup */
  backup_id?: string | undefined
}

export interface SecondCurrency {
  /** The currency (ISO 4217) */
  code: string
  /** Digits after the point of its sums */
  decimals: number
  /** The price of one unit in rubles, at the operator's rate; up to six decimals */
  rubles: string
}

export interface Server {
  /** Id of the server */
  server_id: string
  /** Name and host name */
  name: string
  /** Text of your choice; null if there is none */
  description: string | null
  /** Project that it is in */
  project_id: string
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Status of the server; those in -ing are temporary. `suspended`: stopped because the balance is used up, or by the operator; `error`: see `status_reason`, then start, reboot or delete it */
  status: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'rebuilding' | 'resetting_password' | 'restoring' | 'rescuing' | 'unrescuing' | 'suspended' | 'error' | 'deleting'
  /** Why it has this status, if no request led to it: `guest_shutdown`, `balance_depleted`, `account_suspended`, `server_suspended`, or the error code of an operation; `host_unavailable` if its host does not answer, so that the status is the last known one; otherwise null */
  status_reason: string | null
  /** The operator's reason for suspending this server, which stays suspended until they resume it; otherwise null */
  suspension_reason: string | null
  /** Whether the size is a preset or chosen freely */
  plan_type: 'preset' | 'custom'
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Its preset; null for a custom plan */
  preset_id: string | null
  /** Cores */
  cpu: number
  /** Memory in MB */
  ram_mb: number
  /** Disk in GB */
  disk_gb: number
  /** Its template; null if it was created from an image without one */
  template_id: string | null
  /** Id of the snapshot, backup or image that its disk was made from at last, which may be deleted by now; null: its template */
  source_id: string | null
  /** SSH keys that its system was created with, including those deleted since */
  ssh_key_ids: Array<string>
  /** Its public IPv4 address; null if it has none: then connect to the address and port in `ssh` */
  ipv4: string | null
  /** Its public IPv6 address; the whole /64 of it leads to the server. Null if it has none */
  ipv6: string | null
  /** The private networks that it is in, with its address in each */
  networks: Array<{
    /** Id of the private network */
    network_id: string
    /** Address of the server in the network */
    ipv4: string
  }>
  /** Names and values of your choice */
  labels: Record<string, string>
  /** Whether `DELETE` and a rebuild are refused */
  delete_protection: boolean
  /** The ISO in its drive, from which it boots before its disk; null: none */
  iso_id: string | null
  /** Whether it boots the rescue system in place of its own disk, until `unrescue` */
  rescue: boolean
  /** Whether it is backed up every day, which is billed beside its price */
  backups_enabled: boolean
  /** Hour of the day (UTC) in which its backup begins; null if it has none */
  backup_window: number | null
  /** Price per month of 730 hours, in rubles with two decimals */
  price_month_rub: string
  /** Price per hour, in rubles with four decimals: 1/730 of the price per month */
  price_hour_rub: string
  /** Address, port and user for SSH */
  ssh: {
    /** Address to connect to */
    host: string
    /** Port to connect to: 22 at a public address, otherwise a published port; null if it has none */
    port: number | null
    /** User to log in as */
    username: string
  }
  /** The operation in progress; null if there is none */
  current_operation: {
    /** Id of the operation; wait for it by this id */
    operation_id: string
    /** Type of the operation */
    type: 'create' | 'start' | 'stop' | 'reboot' | 'resize' | 'rebuild' | 'reset_password' | 'restore' | 'rescue' | 'unrescue' | 'snapshot' | 'backup' | 'delete' | 'insert_iso' | 'eject_iso'
    /** Queued (`pending`), in progress (`running`) or finished: `succeeded`, `failed`, or `canceled` by a later request */
    status: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled'
    /** Estimated progress in percent; 100 once it has succeeded */
    progress: number
  } | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
  /** When it was last started; null while it is off */
  started_at: string | null
  /** When it will be deleted, with its data and in spite of `delete_protection`, if it is still suspended then, because the balance is used up or the account is closed; null if it will not be */
  delete_at: string | null
}

export interface ServerAttachedProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'server_attached'
  /** All of them */
  attachments: Array<{
    /** Kind of the object; a firewall may have the server by its labels */
    type: 'volume' | 'network' | 'firewall' | 'address' | 'iso'
    /** Id of the object */
    id: string
    /** Its name, or the address */
    name: string
  }>
}

export interface ServerCreate {
  /** Whether the size is a preset or chosen freely */
  plan_type: 'preset' | 'custom'
  /** Id of a preset: a size on offer, in every zone */
  preset_id?: string | undefined
  /** Slug of the preset, such as `nano`, in place of `preset_id` */
  preset?: string | undefined
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Id of a template: the operating system that the server is created from */
  template_id?: string | undefined
  /** Slug of the template, such as `debian-12`, in place of `template_id` */
  template?: string | undefined
  /** An available snapshot or backup of the same zone, in place of a template (see `GET /snapshots` and `GET /backups`) */
  snapshot_id?: string | undefined
  /** An available image of the same zone, in place of a template (see `GET /images`) */
  image_id?: string | undefined
  /** Name and host name, 1 to 63 letters, digits and dashes, without a dash at either end; need not be unique. Default: a generated one */
  name?: string | undefined
  /** Project to put it in. Default: the default project of the account */
  project_id?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
  /** SSH keys that may log in; only a rebuild can change them. Default: none, and the server gets a password, which its details show */
  ssh_key_ids?: Array<string> | undefined
  /** User data for cloud-init, up to 64 KiB; kept encrypted and never shown again */
  user_data?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** Ports to publish besides the one for SSH, each under a free host port; more can be published later. Default: none */
  published_ports?: Array<{
    /** Transport protocol */
    protocol: 'tcp' | 'udp'
    /** Port of the server */
    port: number
  }> | undefined
  /** Whether it gets a public IPv4 address, at the price in the quote; deleted with the server unless it was moved. Default: if the zone has `public_ipv4` */
  enable_ipv4?: boolean | undefined
  /** Whether it gets a public IPv6 /64. Default: if the zone has `public_ipv6` */
  enable_ipv6?: boolean | undefined
  /** Private networks of the zone to attach the server to, at the first free address of each; their ranges must not overlap. Default: none */
  network_ids?: Array<string> | undefined
  /** Firewalls to attach to it, up to 5 with those that its labels bring. Default: none, and all connections are allowed */
  firewall_ids?: Array<string> | undefined
  /** Whether to start it; a server that is created stopped is billed as well. Default: true. */
  start_on_create?: boolean | undefined
  /** Whether `DELETE` and a rebuild are refused until this is set to false. Default: false. */
  delete_protection?: boolean | undefined
  /** Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest */
  backups_enabled?: boolean | undefined
  /** Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night */
  backup_window?: number | undefined
  /** Cores of a custom plan; for the range see `GET /pricing/limits` */
  cpu?: number | undefined
  /** Memory in MB of a custom plan */
  ram_mb?: number | undefined
  /** Disk in GB of a custom plan; can grow later, not shrink */
  disk_gb?: number | undefined
}

export interface ServerCreateCustom {
  /** Whether the size is a preset or chosen freely */
  plan_type: 'custom'
  /** Cores of a custom plan; for the range see `GET /pricing/limits` */
  cpu: number
  /** Memory in MB of a custom plan */
  ram_mb: number
  /** Disk in GB of a custom plan; can grow later, not shrink */
  disk_gb: number
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Id of a template: the operating system that the server is created from */
  template_id?: string | undefined
  /** Slug of the template, such as `debian-12`, in place of `template_id` */
  template?: string | undefined
  /** An available snapshot or backup of the same zone, in place of a template (see `GET /snapshots` and `GET /backups`) */
  snapshot_id?: string | undefined
  /** An available image of the same zone, in place of a template (see `GET /images`) */
  image_id?: string | undefined
  /** Name and host name, 1 to 63 letters, digits and dashes, without a dash at either end; need not be unique. Default: a generated one */
  name?: string | undefined
  /** Project to put it in. Default: the default project of the account */
  project_id?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
  /** SSH keys that may log in; only a rebuild can change them. Default: none, and the server gets a password, which its details show */
  ssh_key_ids?: Array<string> | undefined
  /** User data for cloud-init, up to 64 KiB; kept encrypted and never shown again */
  user_data?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** Ports to publish besides the one for SSH, each under a free host port; more can be published later. Default: none */
  published_ports?: Array<{
    /** Transport protocol */
    protocol: 'tcp' | 'udp'
    /** Port of the server */
    port: number
  }> | undefined
  /** Whether it gets a public IPv4 address, at the price in the quote; deleted with the server unless it was moved. Default: if the zone has `public_ipv4` */
  enable_ipv4?: boolean | undefined
  /** Whether it gets a public IPv6 /64. Default: if the zone has `public_ipv6` */
  enable_ipv6?: boolean | undefined
  /** Private networks of the zone to attach the server to, at the first free address of each; their ranges must not overlap. Default: none */
  network_ids?: Array<string> | undefined
  /** Firewalls to attach to it, up to 5 with those that its labels bring. Default: none, and all connections are allowed */
  firewall_ids?: Array<string> | undefined
  /** Whether to start it; a server that is created stopped is billed as well. Default: true. */
  start_on_create?: boolean | undefined
  /** Whether `DELETE` and a rebuild are refused until this is set to false. Default: false. */
  delete_protection?: boolean | undefined
  /** Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest */
  backups_enabled?: boolean | undefined
  /** Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night */
  backup_window?: number | undefined
}

export interface ServerCreatePreset {
  /** Whether the size is a preset or chosen freely */
  plan_type: 'preset'
  /** Id of a preset: a size on offer, in every zone */
  preset_id?: string | undefined
  /** Slug of the preset, such as `nano`, in place of `preset_id` */
  preset?: string | undefined
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Id of a template: the operating system that the server is created from */
  template_id?: string | undefined
  /** Slug of the template, such as `debian-12`, in place of `template_id` */
  template?: string | undefined
  /** An available snapshot or backup of the same zone, in place of a template (see `GET /snapshots` and `GET /backups`) */
  snapshot_id?: string | undefined
  /** An available image of the same zone, in place of a template (see `GET /images`) */
  image_id?: string | undefined
  /** Name and host name, 1 to 63 letters, digits and dashes, without a dash at either end; need not be unique. Default: a generated one */
  name?: string | undefined
  /** Project to put it in. Default: the default project of the account */
  project_id?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
  /** SSH keys that may log in; only a rebuild can change them. Default: none, and the server gets a password, which its details show */
  ssh_key_ids?: Array<string> | undefined
  /** User data for cloud-init, up to 64 KiB; kept encrypted and never shown again */
  user_data?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** Ports to publish besides the one for SSH, each under a free host port; more can be published later. Default: none */
  published_ports?: Array<{
    /** Transport protocol */
    protocol: 'tcp' | 'udp'
    /** Port of the server */
    port: number
  }> | undefined
  /** Whether it gets a public IPv4 address, at the price in the quote; deleted with the server unless it was moved. Default: if the zone has `public_ipv4` */
  enable_ipv4?: boolean | undefined
  /** Whether it gets a public IPv6 /64. Default: if the zone has `public_ipv6` */
  enable_ipv6?: boolean | undefined
  /** Private networks of the zone to attach the server to, at the first free address of each; their ranges must not overlap. Default: none */
  network_ids?: Array<string> | undefined
  /** Firewalls to attach to it, up to 5 with those that its labels bring. Default: none, and all connections are allowed */
  firewall_ids?: Array<string> | undefined
  /** Whether to start it; a server that is created stopped is billed as well. Default: true. */
  start_on_create?: boolean | undefined
  /** Whether `DELETE` and a rebuild are refused until this is set to false. Default: false. */
  delete_protection?: boolean | undefined
  /** Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest */
  backups_enabled?: boolean | undefined
  /** Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night */
  backup_window?: number | undefined
}

export interface ServerDetails {
  /** Id of the server */
  server_id: string
  /** Name and host name */
  name: string
  /** Text of your choice; null if there is none */
  description: string | null
  /** Project that it is in */
  project_id: string
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Status of the server; those in -ing are temporary. `suspended`: stopped because the balance is used up, or by the operator; `error`: see `status_reason`, then start, reboot or delete it */
  status: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'rebuilding' | 'resetting_password' | 'restoring' | 'rescuing' | 'unrescuing' | 'suspended' | 'error' | 'deleting'
  /** Why it has this status, if no request led to it: `guest_shutdown`, `balance_depleted`, `account_suspended`, `server_suspended`, or the error code of an operation; `host_unavailable` if its host does not answer, so that the status is the last known one; otherwise null */
  status_reason: string | null
  /** The operator's reason for suspending this server, which stays suspended until they resume it; otherwise null */
  suspension_reason: string | null
  /** Whether the size is a preset or chosen freely */
  plan_type: 'preset' | 'custom'
  /** Processor vendor; a zone may have both, at different prices */
  cpu_type: 'amd' | 'intel'
  /** Its preset; null for a custom plan */
  preset_id: string | null
  /** Cores */
  cpu: number
  /** Memory in MB */
  ram_mb: number
  /** Disk in GB */
  disk_gb: number
  /** Its template; null if it was created from an image without one */
  template_id: string | null
  /** Id of the snapshot, backup or image that its disk was made from at last, which may be deleted by now; null: its template */
  source_id: string | null
  /** SSH keys that its system was created with, including those deleted since */
  ssh_key_ids: Array<string>
  /** Its public IPv4 address; null if it has none: then connect to the address and port in `ssh` */
  ipv4: string | null
  /** Its public IPv6 address; the whole /64 of it leads to the server. Null if it has none */
  ipv6: string | null
  /** The private networks that it is in, with its address in each */
  networks: Array<{
    /** Id of the private network */
    network_id: string
    /** Address of the server in the network */
    ipv4: string
  }>
  /** Names and values of your choice */
  labels: Record<string, string>
  /** Whether `DELETE` and a rebuild are refused */
  delete_protection: boolean
  /** The ISO in its drive, from which it boots before its disk; null: none */
  iso_id: string | null
  /** Whether it boots the rescue system in place of its own disk, until `unrescue` */
  rescue: boolean
  /** Whether it is backed up every day, which is billed beside its price */
  backups_enabled: boolean
  /** Hour of the day (UTC) in which its backup begins; null if it has none */
  backup_window: number | null
  /** Price per month of 730 hours, in rubles with two decimals */
  price_month_rub: string
  /** Price per hour, in rubles with four decimals: 1/730 of the price per month */
  price_hour_rub: string
  /** How to log in */
  ssh: {
    /** Address to connect to */
    host: string
    /** Port to connect to: 22 at a public address, otherwise a published port; null if it has none */
    port: number | null
    /** User to log in as */
    username: string
    /** Shell command that logs in; null if there is no port */
    command: string | null
    /** How to log in: with one of its keys, or with the password if it was created without */
    auth_methods: Array<'public_key' | 'password'>
    /** Keys that it was created with */
    keys: Array<{
      /** Id of an SSH key */
      ssh_key_id: string
      /** Name of the key */
      name: string
      /** Its fingerprint */
      fingerprint: string
    }>
    /** Host keys of the server, to verify it by; empty until it has first started */
    host_key_fingerprints: Array<{
      /** Type of the key */
      type: string
      /** As `ssh` shows it */
      fingerprint: string
      /** The key as in a known_hosts file */
      public_key: string
    }>
    /** Whether a login can succeed now */
    is_ready: boolean
    /** Generated password; null if it was created with keys and none was set since, or if the token lacks `servers:write`. With keys, only the console accepts it, unless the settings of its SSH allow passwords */
    password: string | null
  }
  /** The operation in progress; null if there is none */
  current_operation: {
    /** Id of the operation; wait for it by this id */
    operation_id: string
    /** Type of the operation */
    type: 'create' | 'start' | 'stop' | 'reboot' | 'resize' | 'rebuild' | 'reset_password' | 'restore' | 'rescue' | 'unrescue' | 'snapshot' | 'backup' | 'delete' | 'insert_iso' | 'eject_iso'
    /** Queued (`pending`), in progress (`running`) or finished: `succeeded`, `failed`, or `canceled` by a later request */
    status: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled'
    /** Estimated progress in percent; 100 once it has succeeded */
    progress: number
  } | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
  /** When it was last started; null while it is off */
  started_at: string | null
  /** When it will be deleted, with its data and in spite of `delete_protection`, if it is still suspended then, because the balance is used up or the account is closed; null if it will not be */
  delete_at: string | null
  project: Project
  /** Its zone; null if it is no longer in the catalogue */
  zone: Zone | null
  /** Its template; null if it is no longer in the catalogue */
  template: Template | null
  /** Its preset at the price for servers ordered now; null for a custom plan, or if it is no longer in the catalogue */
  preset: Preset | null
  /** Its network card */
  network: {
    /** Host name */
    hostname: string
    /** MAC address of its network card */
    mac: string
    /** IPv4 address of its network card, which may be private; null if unknown or none */
    ipv4: {
      /** The address */
      address: string
      /** Length of its network prefix in bits */
      prefix_length: number
      /** Default gateway */
      gateway: string
    } | null
    /** IPv6 address of its network card, which may be private; null if unknown or none */
    ipv6: {
      /** The address */
      address: string
      /** Length of its network prefix in bits */
      prefix_length: number
      /** Default gateway */
      gateway: string
    } | null
    /** Name servers that it is configured with */
    resolvers: Array<string>
    /** Its cards in private networks */
    private: Array<{
      /** Id of the private network */
      network_id: string
      /** Name of the network */
      name: string
      /** Range of the network */
      ip_range: string
      /** MAC address of the card */
      mac: string
      /** Address of the server in the network */
      ipv4: string
      /** Length of the prefix of the range */
      prefix_length: number
      /** Shell command that configures the address of the card in a running guest; at the next boot, cloud-init does this */
      command: string
    }>
    /** Ports that lead to it: newest first, the one for SSH last */
    published_ports: Array<PublishedPort>
  }
  /** SHA-256 of the `user_data` that it was created with, in hexadecimal; null if there was none */
  user_data_sha256: string | null
  /** What it costs */
  billing: {
    /** Price per hour, in rubles with four decimals: 1/730 of the price per month */
    price_hour_rub: string
    /** Price per month of 730 hours, in rubles with two decimals */
    price_month_rub: string
    /** When billing began; null if it is not billed yet */
    billed_since: string | null
    /** Cost in this calendar month (UTC) up to now, in rubles with two decimals */
    month_to_date_rub: string
    /** Whether it costs the same while it is stopped */
    is_billed_when_stopped: boolean
  }
  /** Its traffic in this calendar month (UTC), as the price includes it */
  traffic: {
    /** GB (1,000,000,000 bytes) that may be sent to the internet in a calendar month (UTC) for the price; incoming traffic is free */
    traffic_gb: number
    /** Price of each further TB (1,000 GB); 0.00 if it is free, in rubles with two decimals */
    traffic_tb_rub: string
    /** Bandwidth in each direction in Mbit/s; null: not limited */
    bandwidth_mbit: number | null
    /** Bytes that it received */
    in_bytes: number
    /** Bytes that it sent */
    out_bytes: number
    /** Bytes that its price includes: `traffic_gb`, less the share of the month before it was created or while it was suspended */
    included_bytes: number
    /** Cost of the bytes sent beyond that so far, in rubles, in rubles with two decimals */
    excess_rub: string
  }
  /** Actions that its status allows now; `update` changes the name and similar fields, `resize` the plan, `grow_disk` only `disk_gb` */
  allowed_actions: Array<'start' | 'stop' | 'reboot' | 'console' | 'update' | 'resize' | 'grow_disk' | 'rebuild' | 'reset_password' | 'restore' | 'rescue' | 'unrescue' | 'snapshot' | 'delete'>
}

export interface ServerList {
  /** The items of this page */
  items: Array<Server>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface ServerMetrics {
  /** Id of the server */
  server_id: string
  /** Beginning of the period */
  start: string
  /** End of the period */
  end: string
  /** Seconds between points; may be more than requested */
  step: number
  /** One series for each thing that was measured */
  series: Array<{
    /** Name of the metric */
    name: 'cpu.usage' | 'memory.used' | 'disk.used' | 'disk.read.bandwidth' | 'disk.write.bandwidth' | 'network.rx.bandwidth' | 'network.tx.bandwidth'
    /** Type of the series, as in the query */
    type: 'cpu' | 'memory' | 'disk' | 'network'
    /** Unit of its values */
    unit: 'percent' | 'bytes' | 'bytes_per_second'
    /** Oldest first, at multiples of `step` */
    points: Array<[number, number | null]>
  }>
}

export interface ServerMove {
  /** Account that gets the server, and pays for it */
  account_id: string
  /** Project of that account that it gets into (default: the default project) */
  project_id?: string | undefined
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
}

export interface ServerReason {
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
}

export interface ServerStateConflictProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'server_state_conflict'
  /** Its status */
  current_status: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'rebuilding' | 'resetting_password' | 'restoring' | 'rescuing' | 'unrescuing' | 'suspended' | 'error' | 'deleting'
  /** Statuses that allow it */
  allowed_statuses: Array<'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'rebuilding' | 'resetting_password' | 'restoring' | 'rescuing' | 'unrescuing' | 'suspended' | 'error' | 'deleting'>
}

export interface ServerStats {
  /** Id of the server */
  server_id: string
  /** Status of the server; those in -ing are temporary. `suspended`: stopped because the balance is used up, or by the operator; `error`: see `status_reason`, then start, reboot or delete it */
  status: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'rebuilding' | 'resetting_password' | 'restoring' | 'rescuing' | 'unrescuing' | 'suspended' | 'error' | 'deleting'
  /** Seconds since it was started; null while it is off */
  uptime_seconds: number | null
  /** When it was measured */
  collected_at: string
  /** Processor */
  cpu: {
    /** Cores of the server */
    cores: number
    /** Usage of all cores together: at 100 all are busy; null if it cannot be measured */
    usage_percent: number | null
  }
  /** Memory */
  memory: {
    /** Memory of the server in MB */
    total_mb: number
    /** MB in use as the guest reports it, without caches that it could free at once; null if it cannot be measured */
    used_mb: number | null
  }
  /** Disk */
  disk: {
    /** Size of the disk in GB */
    total_gb: number
    /** GB that the server has written to, without the image below its disk; null if it cannot be measured */
    used_gb: number | null
    /** Bytes read since the server was created; null if it cannot be measured */
    read_bytes_total: number | null
    /** Bytes written since the server was created; null if it cannot be measured */
    write_bytes_total: number | null
    /** Bytes per second read since the last sample, a few seconds ago; null if it cannot be measured */
    read_bytes_per_second: number | null
    /** Bytes per second written since the last sample, a few seconds ago; null if it cannot be measured */
    write_bytes_per_second: number | null
  }
  /** Network, counted outside of the guest */
  network: {
    /** Bytes received since the server was created; null if it cannot be measured */
    rx_bytes_total: number | null
    /** Bytes sent since the server was created; null if it cannot be measured */
    tx_bytes_total: number | null
    /** Bytes per second received since the last sample, a few seconds ago; null if it cannot be measured */
    rx_bytes_per_second: number | null
    /** Bytes per second sent since the last sample, a few seconds ago; null if it cannot be measured */
    tx_bytes_per_second: number | null
  }
}

export interface ServerStop {
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
  /** Power off at once instead of shutting the guest down. Default: false. */
  force?: boolean | undefined
  /** Seconds that the guest may take to shut down before it is powered off. Default: 60. */
  timeout_seconds?: number | undefined
}

export interface ServerTermination {
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
  /** Whether to delete it in spite of `delete_protection`. Default: false. */
  force?: boolean | undefined
}

export interface ServerUpdate {
  /** New name and host name */
  name?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** Project to move it to; its charges go there from then on */
  project_id?: string | undefined
  /** Whether `DELETE` and a rebuild are refused */
  delete_protection?: boolean | undefined
  /** An available ISO of the same zone, or a `public` one, to put into its drive, from which its next start boots; null takes it out. Not with a change of plan */
  iso_id?: string | null | undefined
  /** Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest */
  backups_enabled?: boolean | undefined
  /** Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night */
  backup_window?: number | undefined
  /** Whether the size is a preset or chosen freely */
  plan_type?: 'custom' | 'preset' | undefined
  /** Cores of a custom plan; for the range see `GET /pricing/limits` */
  cpu?: number | undefined
  /** Memory in MB of a custom plan */
  ram_mb?: number | undefined
  /** Disk in GB of a custom plan; can grow later, not shrink */
  disk_gb?: number | undefined
  /** Id of a preset: a size on offer, in every zone */
  preset_id?: string | undefined
  /** Slug of the preset, such as `nano`, in place of `preset_id` */
  preset?: string | undefined
}

export interface ServerUpdateCustom {
  /** New name and host name */
  name?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** Project to move it to; its charges go there from then on */
  project_id?: string | undefined
  /** Whether `DELETE` and a rebuild are refused */
  delete_protection?: boolean | undefined
  /** An available ISO of the same zone, or a `public` one, to put into its drive, from which its next start boots; null takes it out. Not with a change of plan */
  iso_id?: string | null | undefined
  /** Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest */
  backups_enabled?: boolean | undefined
  /** Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night */
  backup_window?: number | undefined
  /** Whether the size is a preset or chosen freely */
  plan_type?: 'custom' | undefined
  /** Cores of a custom plan; for the range see `GET /pricing/limits` */
  cpu?: number | undefined
  /** Memory in MB of a custom plan */
  ram_mb?: number | undefined
  /** Disk in GB of a custom plan; can grow later, not shrink */
  disk_gb?: number | undefined
}

export interface ServerUpdatePreset {
  /** New name and host name */
  name?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** Project to move it to; its charges go there from then on */
  project_id?: string | undefined
  /** Whether `DELETE` and a rebuild are refused */
  delete_protection?: boolean | undefined
  /** An available ISO of the same zone, or a `public` one, to put into its drive, from which its next start boots; null takes it out. Not with a change of plan */
  iso_id?: string | null | undefined
  /** Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest */
  backups_enabled?: boolean | undefined
  /** Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night */
  backup_window?: number | undefined
  /** Whether the size is a preset or chosen freely */
  plan_type?: 'preset' | undefined
  /** Id of a preset: a size on offer, in every zone */
  preset_id: string
}

export interface ServerUpdatePresetSlug {
  /** New name and host name */
  name?: string | undefined
  /** Text of your choice, up to 255 characters; null for none */
  description?: string | null | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
  /** Project to move it to; its charges go there from then on */
  project_id?: string | undefined
  /** Whether `DELETE` and a rebuild are refused */
  delete_protection?: boolean | undefined
  /** An available ISO of the same zone, or a `public` one, to put into its drive, from which its next start boots; null takes it out. Not with a change of plan */
  iso_id?: string | null | undefined
  /** Whether the server is backed up every day, at the price in the quote. The last seven backups are kept, and for a week after the server is deleted or its backups are turned off. Turned on again, the next one is made after 20 hours at the earliest */
  backups_enabled?: boolean | undefined
  /** Hour of the day (UTC) in which a backup begins, or soon after if the host is busy. Default: an hour of the night */
  backup_window?: number | undefined
  /** Whether the size is a preset or chosen freely */
  plan_type?: 'preset' | undefined
  /** Slug of the preset, such as `nano`, in place of `preset_id` */
  preset: string
}

export interface Session {
  /** Id of a session */
  session_id: string
  /** Whether this request uses it */
  is_current: boolean
  /** IP address that it was last used from */
  address: string
  /** Name that the browser gives itself */
  user_agent: string
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last used, to the minute */
  last_used_at: string
  /** When it ends; earlier if it is not used for 14 days */
  expires_at: string
}

export interface SessionList {
  /** The items of this page */
  items: Array<Session>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface SignIn {
  /** Whether the cookie of a session was set */
  is_signed_in: boolean
  /** The person who has signed in */
  person: Person | null
  /** Ticket for `POST /sign-in/two-factor`, with a code; null if no code is required. Valid once, for 10 minutes */
  ticket: string | null
}

export interface SignInOptions {
  /** Who can sign up: everybody, those who are invited, or nobody */
  sign_up: 'open' | 'invitation' | 'closed'
  /** Origin of the pages that can use passkeys; null without a host name or TLS */
  passkey_origin: string | null
  /** The OpenID Connect provider that signs people in; null if there is none */
  provider: {
    /** Host name of the provider */
    name: string
    /** Origin of the pages that it leads back to */
    origin: string
  } | null
  /** The hoster of this installation */
  operator: {
    /** Name of the hoster; null if the operator set none */
    name: string | null
    /** E-mail address or page for questions; null if the operator set none */
    contact: string | null
    /** Picture to show beside the name; null for none */
    logo_url: string | null
    /** Terms that a new person must accept, in `accepted_terms`; null if there are none */
    terms: {
      /** Page of the terms */
      url: string
      /** Version of the terms in force */
      version: string
    } | null
    /** A currency in which the operator shows sums beside rubles; null if there is none. Such sums are approximate: balance, prices and documents are in rubles */
    second_currency: SecondCurrency | null
  }
  /** Minimum length of a password in characters */
  min_password: number
}

export interface SignInRequest {
  /** E-mail address; capital letters make no difference */
  email: string
  /** The password */
  password: string
}

export interface SignUpCompletion {
  /** Token: the part of the link after # */
  token: string
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** The new password, 10 to 200 characters, and not a common one */
  password: string
  /** Version of the terms that the person has accepted, as `operator.terms` of `GET /sign-in/options` has it; new people must send it if there are terms */
  accepted_terms?: string | undefined
}

export interface SlowDownProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'slow_down'
  /** Seconds to wait from here on */
  interval: number
}

export interface Snapshot {
  /** Id of the snapshot */
  snapshot_id: string
  /** The server whose disk was copied, which may be deleted by now */
  server_id: string
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** `available`: can be restored; `error`: it could not be made, or was found damaged, and costs nothing */
  status: 'creating' | 'available' | 'error'
  /** The operation that makes it, of its server; null once it has ended */
  operation_id: string | null
  /** Size of the copy in GB, rounded up, which is billed if it is a snapshot; where servers are containers, the size of the disk. Null until it is available */
  size_gb: number | null
  /** `full`: it has the whole disk; `difference`: it has what differs from an earlier backup, whose data it keeps, and needs no other. Null until it is available */
  kind: 'full' | 'difference' | null
  /** Bytes of the copy itself, compressed, without the full copy that a difference shares with others; where servers are containers, the size of the disk, as the storage shares its blocks. Null until it is available */
  bytes: number | null
  /** Size of the copied disk in GB: the least that a server from it needs */
  disk_gb: number
  /** `filesystem`: the file systems were complete; `crash`: the copy is like a disk after a loss of power, which file systems and databases repair at the next start. Null until it is available */
  consistency: 'filesystem' | 'crash' | null
  /** When the service last found the copy intact, which it looks for every week; null: not yet. Where servers are containers, it is the copy off site that is read, and none is without one */
  verified_at: string | null
  /** How: `hash`, every byte is as it was made; `boot`, its system started as well. Null if `verified_at` is */
  verified_by: 'hash' | 'boot' | null
  /** When it was last booted to see if it starts: at night, once a week, each server's newest backup, on a disk that is thrown away and without a network; null: never */
  boot_checked_at: string | null
  /** `agent`: its guest agent answered; `console`: a login appeared on its console; `init`: its services run, as the first process of a container shows; `unproven`: its kernel, or that process, ran for ten minutes, and nothing shows if the rest did; `failed`: it did not start. Null: it was never booted */
  boot_result: 'agent' | 'console' | 'init' | 'unproven' | 'failed' | null
  /** Since when a whole, encrypted copy of it lies outside of its host, so that it outlives the host; null: none does, the operator has set no place, or the zone of its server has no `backups`, as those with containers may not */
  offsite_at: string | null
  /** Template of the copied system; null if its server was created from an image without one */
  template_id: string | null
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
  /** Names and values of your choice */
  labels: Record<string, string>
  /** Price per month of 730 hours, in rubles with two decimals */
  price_month_rub: string
}

export interface SnapshotCreate {
  /** The server whose disk to copy */
  server_id: string
  /** Name. Default: the name of the server and the time */
  name?: string | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface SnapshotList {
  /** The items of this page */
  items: Array<Snapshot>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface SnapshotUpdate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface SshKey {
  /** Id of an SSH key */
  ssh_key_id: string
  /** Name of your choice */
  name: string
  /** The key as in a .pub file */
  public_key: string
  /** As OpenSSH prints it, `SHA256:…`; unique in the account */
  fingerprint: string
  /** Type of the key as OpenSSH names it */
  key_type: string
  /** Names and values of your choice */
  labels: Record<string, string>
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface SshKeyCreate {
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** One line of a .pub file: ed25519, ecdsa, rsa with 2048 (Packer: 2014) to 16384 bits, or a security key; no options before it */
  public_key: string
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface SshKeyExistsProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'ssh_key_exists'
  /** Id of the key that exists */
  ssh_key_id: string
}

export interface SshKeyList {
  /** The items of this page */
  items: Array<SshKey>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface SshKeyUpdate {
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface StartRequest {
  
}

export interface StatusChange {
  /** Reason, at most 200 characters; the customer sees it */
  reason: string
}

export interface StopRequest {
  /** Power off at once instead of shutting the guest down. Default: false. */
  force?: boolean | undefined
  /** Seconds that the guest may take to shut down before it is powered off. Default: 60. */
  timeout_seconds?: number | undefined
}

export interface Template {
  /** Id of a template: the operating system that the server is created from */
  template_id: string
  /** Short name; unique */
  slug: string
  /** Title to show to people */
  title: string
  /** Family of the operating system */
  os_family: string
  /** Smallest disk in GB for this template */
  min_disk_gb: number
  /** User name for SSH */
  default_username: string
}

export interface TicketUse {
  /** Ticket that connects both steps; valid once, for 10 minutes */
  ticket: string
  /** A code of the app, or a recovery code; spaces and hyphens make no difference */
  code: string
}

export interface Token {
  /** Id of a token, which is not secret */
  token_id: string
  /** Name of your choice */
  name: string
  /** What the token may do; `read` and `write` stand for both scopes of their kind, and write does not include read */
  scopes: Array<'account:read' | 'read' | 'account:write' | 'write' | 'servers:read' | 'servers:write'>
  /** The token that it was created with, and is revoked with; null if a person or the operator created it */
  parent_token_id: string | null
  /** The person who created it, or the token before it in a rotation; it is revoked when they leave the account. Null if no person did */
  person_id: string | null
  /** The project that a token for hcloud's tools sees; null for a token of this API */
  project_id: string | null
  /** Addresses that the token may be used from, in CIDR notation; empty if any address is allowed */
  cidrs: Array<string>
  /** When it stops being valid; null if never */
  expires_at: string | null
  /** When it was last used, to the minute; null if never */
  last_used_at: string | null
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface TokenCreate {
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** What the token may do; `read` and `write` stand for both scopes of their kind, and write does not include read */
  scopes: Array<'account:read' | 'read' | 'account:write' | 'write' | 'servers:read' | 'servers:write'>
  /** When it stops being valid, at the latest with the token that creates it, which is also the default (null: the same) */
  expires_at?: string | null | undefined
  /** Addresses and ranges that it may be used from, within those of the token that creates it, which are the default */
  cidrs?: Array<string> | null | undefined
  /** The API that it is for: this one, the default, or only `/hcloud/v1`, for tools that speak the hcloud API; its value has 64 letters and digits */
  kind?: 'api' | 'hcloud' | undefined
  /** The project that a token of the kind `hcloud` sees. Default: the default project of the account */
  project_id?: string | undefined
}

export interface TokenList {
  /** The items of this page */
  items: Array<Token>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Transaction {
  /** Id of the transaction */
  transaction_id: string
  /** Why the balance changed: use (`charge`), or an entry by the operator */
  type: 'charge' | 'payment' | 'refund' | 'correction'
  /** Change of the balance; negative for charges, in rubles with two decimals */
  amount: string
  /** Balance after this transaction, in rubles with two decimals */
  balance_after: string
  /** Type of the item that was charged for: a server, a public address, a snapshot or an image. More types will be added; show an unknown type by its name. It is null if the transaction is not a charge. */
  item_type: 'server' | 'address' | 'snapshot' | 'volume' | 'image' | 'backup' | 'iso' | null
  /** Id of the item: a `server_id`, an `address_id`, a `snapshot_id`, an `image_id` or an `iso_id`, by `item_type`. The item may be deleted by now. It is null if the transaction is not a charge. */
  item_id: string | null
  /** Most recent name of the server, snapshot or image, or the public address itself; null if the transaction is not a charge */
  item_name: string | null
  /** The same as `item_id` if the item is a server; null if it is not, or if there is no item */
  server_id: string | null
  /** Start of the hour in which the charged time begins, of several charges that of the first; null if the transaction is not a charge */
  hour: string | null
  /** Length of the charged time in seconds; null if the transaction is not a charge */
  seconds: number | null
  /** Traffic that was charged for in this time, in bytes; null if the charge is for the time itself, and for other transactions */
  traffic_bytes: number | null
  /** Short text in English: for a charge its hour and time or traffic, for several charges their first and last hour, otherwise the text of the operator */
  description: string
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface TransactionList {
  /** The items of this page */
  items: Array<Transaction>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface Transfer {
  /** Id of the invoice */
  transfer_id: string
  /** The reference to state as the purpose of the transfer; its last two digits check the others */
  reference: string
  /** Open until money arrives or it expires. Money that arrives later is booked nevertheless */
  status: 'open' | 'paid' | 'expired'
  /** The sum to pay, in rubles with two decimals */
  amount_rub: string
  /** The sum that arrived and is in the balance; it may differ, in rubles with two decimals */
  arrived_rub: string
  payee: Payee
  /** When money arrived last; null before */
  arrived_at: string | null
  /** When it expires if no money arrives */
  expires_at: string
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface TransferCreate {
  /** The sum to pay in rubles */
  amount_rub: string
}

export interface TransferList {
  /** The items of this page */
  items: Array<Transfer>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface TwoFactorConfirmation {
  /** A code of the app, or a recovery code; spaces and hyphens make no difference */
  code: string
}

export interface TwoFactorSecret {
  /** The secret in base 32, to be typed into an app */
  secret: string
  /** The same as an otpauth URI, to be shown as a QR code */
  uri: string
}

export interface UnrescueRequest {
  
}

export interface UploadOffsetProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'upload_offset'
  /** Bytes that have arrived */
  uploaded_bytes: number
}

export interface Usage {
  /** A calendar month in UTC, such as 2026-11 */
  month: string
  /** Currency of all amounts (ISO 4217) */
  currency: 'RUB'
  /** Sum of the charges for the hours of this month, in rubles with two decimals */
  amount: string
  /** One entry for each item (server or public address) and project: the 5000 that cost the most */
  items: Array<UsageItem>
  /** Number of entries that `items` leaves out, because it has at most 5000 */
  more_items: number
  /** Sum of the charges of these entries, which is a part of `amount`, in rubles with two decimals */
  more_amount: string
  /** One item for each server with traffic, which is counted outside of the guest every few seconds, and kept for a year: the 5000 that sent the most */
  traffic: Array<UsageTraffic>
  /** The time that these figures are for */
  generated_at: string
}

export interface UsageItem {
  /** Type of the item that was charged for: a server, a public address, a snapshot or an image. More types will be added; show an unknown type by its name. */
  item_type: 'server' | 'address' | 'snapshot' | 'volume' | 'image' | 'backup' | 'iso'
  /** Id of the item: a `server_id`, an `address_id`, a `snapshot_id`, an `image_id` or an `iso_id`, by `item_type`. The item may be deleted by now. */
  item_id: string
  /** Most recent name of the server, snapshot or image, or the public address itself */
  item_name: string
  /** The same as `item_id` if the item is a server; null if it is not, or if there is no item */
  server_id: string | null
  /** The same as `item_name` if the item is a server, else null */
  server_name: string | null
  /** The project that the item was in when it was charged */
  project_id: string
  /** Hours that were billed, to four decimals */
  hours: number
  /** Sum of its charges, including those for traffic, in rubles with two decimals */
  amount: string
  /** Sum of its charges for traffic, in rubles with two decimals */
  traffic_amount: string
}

export interface UsageTraffic {
  /** Id of the server, which may be deleted by now */
  server_id: string
  /** Most recent name of the server */
  server_name: string
  /** Bytes that it received */
  in_bytes: number
  /** Bytes that it sent */
  out_bytes: number
}

export interface ValidationFailedProblem {
  /** urn:berth:problem: followed by the code */
  type: string
  /** Kind of error, for people */
  title: string
  /** The HTTP status */
  status: number
  /** The fault and its remedy, in a sentence or more for people */
  detail: string
  /** Path of the request */
  instance: string
  /** Id of the request; quote it when you report a problem to the operator */
  request_id: string
  /** Stable code for programs */
  code: 'validation_failed'
  /** Every mistake, at most the first 100 */
  errors: Array<Issue>
}

export interface Volume {
  /** Id of the volume */
  volume_id: string
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Size in GB; it can grow, but not shrink */
  size_gb: number
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** `available`: no server has it; `attached`: a server has it, or gets it when it starts; the others last as long as an operation */
  status: 'available' | 'attaching' | 'attached' | 'detaching' | 'deleting'
  /** The server that has the volume, or is about to; null if none has */
  server_id: string | null
  /** Path of the volume in the guest: a block device, or in a container a folder; null while no server has it */
  device: string | null
  /** Names and values of your choice */
  labels: Record<string, string>
  /** Price per month of 730 hours, in rubles with two decimals */
  price_month_rub: string
  /** Price per hour, in rubles with four decimals: 1/730 of the price per month */
  price_hour_rub: string
  /** When it was created (RFC 3339, UTC) */
  created_at: string
  /** When it was last changed, by a request or by the service */
  updated_at: string
}

export interface VolumeAttach {
  /** Server of the same zone to attach the volume to */
  server_id: string
}

export interface VolumeCreate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Size in GB; it can grow, but not shrink */
  size_gb: number
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface VolumeList {
  /** The items of this page */
  items: Array<Volume>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface VolumeUpdate {
  /** A name of your choice, 1 to 100 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** Size in GB; it can grow, but not shrink */
  size_gb?: number | undefined
  /** Up to 32 names and values of your choice, to filter lists by; replaces all existing labels */
  labels?: Record<string, string> | undefined
}

export interface Webhook {
  /** Id of the webhook */
  webhook_id: string
  /** Name of your choice */
  name: string
  /** Address that events are posted to */
  url: string
  /** Events to send; "*" is all */
  event_types: Array<'*' | 'member.created' | 'member.updated' | 'member.deleted' | 'invitation.created' | 'invitation.deleted' | 'account.updated' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'invoice.corrected' | 'credit.granted' | 'credit.expired' | 'operation.succeeded' | 'operation.failed' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test' | 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'server.console_opened' | 'port.created' | 'port.deleted' | 'address.created' | 'address.updated' | 'address.deleted' | 'network.created' | 'network.updated' | 'network.deleted' | 'volume.created' | 'volume.updated' | 'volume.deleted' | 'firewall.created' | 'firewall.updated' | 'firewall.deleted' | 'snapshot.created' | 'snapshot.updated' | 'snapshot.deleted' | 'image.created' | 'image.updated' | 'image.deleted' | 'iso.created' | 'iso.updated' | 'iso.deleted' | 'backup.created' | 'backup.verified' | 'backup.failed' | 'backup.boot_failed' | 'backup.deleted' | 'complaint.created' | 'complaint.updated'>
  /** Whether events are sent */
  is_enabled: boolean
  /** Why the service disabled it: `failing` for a day, `gone` (the endpoint replied 410), or `unverified` (no challenge was answered within a day); null if it did not */
  disabled_reason: 'failing' | 'gone' | 'unverified' | null
  verification: WebhookVerification
  /** When it was created (RFC 3339, UTC) */
  created_at: string
}

export interface WebhookCreate {
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name: string
  /** Address that events are posted to */
  url: string
  /** Events to send; "*" is all */
  event_types: Array<'*' | 'member.created' | 'member.updated' | 'member.deleted' | 'invitation.created' | 'invitation.deleted' | 'account.updated' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'invoice.corrected' | 'credit.granted' | 'credit.expired' | 'operation.succeeded' | 'operation.failed' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test' | 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'server.console_opened' | 'port.created' | 'port.deleted' | 'address.created' | 'address.updated' | 'address.deleted' | 'network.created' | 'network.updated' | 'network.deleted' | 'volume.created' | 'volume.updated' | 'volume.deleted' | 'firewall.created' | 'firewall.updated' | 'firewall.deleted' | 'snapshot.created' | 'snapshot.updated' | 'snapshot.deleted' | 'image.created' | 'image.updated' | 'image.deleted' | 'iso.created' | 'iso.updated' | 'iso.deleted' | 'backup.created' | 'backup.verified' | 'backup.failed' | 'backup.boot_failed' | 'backup.deleted' | 'complaint.created' | 'complaint.updated'>
  /** Whether events are sent. Default: true. */
  is_enabled?: boolean | undefined
}

export interface WebhookList {
  /** The items of this page */
  items: Array<Webhook>
  /** Number of all matching items, not only those on this page */
  total: number
}

export interface WebhookTest {
  /** The event that is sent */
  event_id: string
}

export interface WebhookUpdate {
  /** A name of your choice, 1 to 64 characters, at least one of them visible and none of them a control, zero-width or direction character; need not be unique */
  name?: string | undefined
  /** Address that events are posted to */
  url?: string | undefined
  /** Events to send; "*" is all */
  event_types?: Array<'*' | 'member.created' | 'member.updated' | 'member.deleted' | 'invitation.created' | 'invitation.deleted' | 'account.updated' | 'project.created' | 'project.updated' | 'project.deleted' | 'ssh_key.created' | 'ssh_key.updated' | 'ssh_key.deleted' | 'token.created' | 'token.revoked' | 'balance.low' | 'balance.depleted' | 'balance.topped_up' | 'invoice.corrected' | 'credit.granted' | 'credit.expired' | 'operation.succeeded' | 'operation.failed' | 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.disabled' | 'webhook.test' | 'server.created' | 'server.updated' | 'server.status_changed' | 'server.deleted' | 'server.console_opened' | 'port.created' | 'port.deleted' | 'address.created' | 'address.updated' | 'address.deleted' | 'network.created' | 'network.updated' | 'network.deleted' | 'volume.created' | 'volume.updated' | 'volume.deleted' | 'firewall.created' | 'firewall.updated' | 'firewall.deleted' | 'snapshot.created' | 'snapshot.updated' | 'snapshot.deleted' | 'image.created' | 'image.updated' | 'image.deleted' | 'iso.created' | 'iso.updated' | 'iso.deleted' | 'backup.created' | 'backup.verified' | 'backup.failed' | 'backup.boot_failed' | 'backup.deleted' | 'complaint.created' | 'complaint.updated'> | undefined
  /** Disabling ends pending deliveries as failed; enabling starts with new events, and sends a challenge unless the webhook is verified */
  is_enabled?: boolean | undefined
}

export interface WebhookVerification {
  /** pending: challenges are sent until one is answered; failed: none was within a day, or the endpoint replied 410 */
  status: 'pending' | 'verified' | 'failed'
  /** When the last challenge was sent; null before the first */
  checked_at: string | null
  /** Why it is not verified, for people; null if nothing went wrong */
  error: string | null
}

export interface Zone {
  /** Name of a zone, as `GET /zones` lists them */
  zone_slug: string
  /** Title to show to people */
  title: string
  /** City of the zone */
  city: string
  /** Country of the zone (ISO 3166-1 alpha-2); ZZ if the operator has not set it */
  country_code: string
  /** CPU types on offer in the zone */
  cpu_types: Array<'amd' | 'intel'>
  /** Kind of its servers: a `container` shares the kernel of its host, a `virtual_machine` has its own */
  server_type: 'virtual_machine' | 'container'
  /** Features of its servers; using any other returns 409 `not_supported` */
  features: Array<'public_ipv4' | 'public_ipv6' | 'published_ports' | 'private_networks' | 'firewalls' | 'console' | 'snapshots' | 'backups' | 'images' | 'reset_password' | 'volumes' | 'rescue' | 'live_resize' | 'screen' | 'isos'>
  /** Price of a GB of a volume per month of 730 hours; null if the zone has no volumes */
  volume_gb_month_rub: string | null
  /** Whether a server can be created here now */
  is_available: boolean
}

export interface ZoneRoom {
  /** Short name of the zone */
  zone_slug: string
  /** Name of the zone */
  title: string
  /** Pool of the machines on which its servers run; zones with the same pool share its capacity */
  pool: string
  /** Whether the zone is no longer on sale */
  is_retired: boolean
  /** Capacity of its hosts, times the overcommit of the catalogue; null if they do not answer within 3 seconds */
  total: {
    /** Cores */
    cpu: number
    /** Memory in MB */
    ram_mb: number
    /** Disk in GB */
    disk_gb: number
  } | null
  /** Capacity that the servers of the pool use */
  used: {
    /** Cores */
    cpu: number
    /** Memory in MB */
    ram_mb: number
    /** Disk in GB */
    disk_gb: number
  }
}

/** Every Server.status. */
export const serverStatuses = ['creating', 'running', 'stopped', 'starting', 'stopping', 'rebooting', 'resizing', 'rebuilding', 'resetting_password', 'restoring', 'rescuing', 'unrescuing', 'suspended', 'error', 'deleting'] as const

/** Every AbuseSign.kind. */
export const abuseKinds = ['outgoing_flood', 'many_connections', 'mail_tries', 'cpu_at_limit', 'accounts_of_network', 'accounts_of_card'] as const

/** Every Complaint.kind. */
export const complaintKinds = ['spam', 'scan', 'attack', 'phishing', 'malware', 'copyright', 'other'] as const

/** Every Account.status. */
export const accountStatuses = ['active', 'suspended', 'closed'] as const

/** Every Member.role. */
export const roles = ['owner', 'admin', 'member', 'billing', 'viewer'] as const

/** Every Server.cpu_type. */
export const cpuTypes = ['amd', 'intel'] as const

/** Every route: what its path, query and body take, and what it replies. */
export interface Routes {
  /** Get the ways to sign in and up */
  'GET /sign-in/options': {
    reply: SignInOptions
  }
  /** Sign up: send a link to an e-mail address */
  'POST /sign-up': {
    body: AddressRequest
    reply: undefined
  }
  /** Finish signing up, with the link of the mail */
  'POST /sign-up/complete': {
    body: SignUpCompletion
    reply: SignIn
  }
  /** Sign in with e-mail address and password */
  'POST /sign-in': {
    body: SignInRequest
    reply: SignIn
  }
  /** Sign in with a link from the operator */
  'POST /sign-in/link': {
    body: LinkUse
    reply: SignIn
  }
  /** Sign out */
  'POST /sign-out': {
    reply: undefined
  }
  /** Complete a sign-in with a code: the second step */
  'POST /sign-in/two-factor': {
    body: TicketUse
    reply: SignIn
  }
  /** Begin to sign in with a passkey: get a challenge */
  'POST /sign-in/passkey-challenge': {
    reply: PasskeyChallenge
  }
  /** Sign in with a passkey */
  'POST /sign-in/passkey': {
    body: PasskeyUse
    reply: SignIn
  }
  /** Begin to sign in with the provider: get the page to open */
  'POST /sign-in/provider/begin': {
    reply: ProviderBeginning
  }
  /** Complete a sign-in with the response of the provider */
  'POST /sign-in/provider': {
    body: ProviderAnswer
    reply: ProviderSignIn
  }
  /** Connect the person to their identity at the provider */
  'POST /person/identity': {
    body: IdentityTicket
    reply: undefined
  }
  /** Disconnect the person from the provider */
  'POST /person/identity/delete': {
    body?: OwnProof | undefined
    reply: undefined
  }
  /** Send a link to choose another password */
  'POST /password-reset': {
    body: AddressRequest
    reply: undefined
  }
  /** Choose another password, with the link of the mail */
  'POST /password-reset/complete': {
    body: PasswordReset
    reply: SignIn
  }
  /** Start the login of a program without a browser */
  'POST /device': {
    body: DeviceLoginRequest
    reply: DeviceLoginStart
  }
  /** Get the token of a login that was approved */
  'POST /device/token': {
    body: DeviceTokenRequest
    reply: NewToken
  }
  /** Get the program that shows a code */
  'POST /device/look': {
    body: DeviceCodeEntry
    reply: DeviceLogin
  }
  /** Approve a program, which gets a token of an account */
  'POST /device/approve': {
    body: DeviceApproval
    reply: undefined
  }
  /** Deny access to a program */
  'POST /device/deny': {
    body: DeviceCodeEntry
    reply: undefined
  }
  /** Get the person who is signed in, and their accounts */
  'GET /person': {
    reply: Person
  }
  /** Change the name, language or mails of the person, or accept terms */
  'PATCH /person': {
    body?: PersonUpdate | undefined
    reply: Person
  }
  /** Change the password of the person */
  'POST /person/password': {
    body: PasswordChange
    reply: undefined
  }
  /** Send a link to another e-mail address of the person */
  'POST /person/email': {
    body: EmailChangeRequest
    reply: undefined
  }
  /** Change the e-mail address of the person, with the link of the mail */
  'POST /person/email/confirm': {
    body: LinkUse
    reply: undefined
  }
  /** Switch the session to another account */
  'POST /person/account': {
    body: AccountChoice
    reply: Person
  }
  /** Delete the person */
  'POST /person/delete': {
    body?: OwnProof | undefined
    reply: undefined
  }
  /** Set up two-factor authentication: get a secret for an app */
  'POST /person/two-factor': {
    body?: PasswordProof | undefined
    reply: TwoFactorSecret
  }
  /** Turn two-factor authentication on, with a first code */
  'POST /person/two-factor/confirm': {
    body: TwoFactorConfirmation
    reply: RecoveryCodes
  }
  /** Turn two-factor authentication off */
  'POST /person/two-factor/disable': {
    body: CodeProof
    reply: undefined
  }
  /** Replace the recovery codes */
  'POST /person/two-factor/recovery-codes': {
    body: CodeProof
    reply: RecoveryCodes
  }
  /** Begin to add a passkey: get the options for the browser */
  'POST /person/passkey-challenge': {
    body?: OwnProof | undefined
    reply: PasskeySetUp
  }
  /** Add a passkey that the browser has created */
  'POST /person/passkeys': {
    body: PasskeyCreate
    reply: Passkey
  }
  /** List the passkeys of the person */
  'GET /person/passkeys': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: PasskeyList
  }
  /** Rename a passkey */
  'PATCH /person/passkeys/{passkey_id}': {
    path: {
      /** Id of the passkey, a UUID */
      passkey_id: string
    }
    body: PasskeyUpdate
    reply: Passkey
  }
  /** Remove a passkey */
  'POST /person/passkeys/{passkey_id}/delete': {
    path: {
      /** Id of the passkey, a UUID */
      passkey_id: string
    }
    body?: OwnProof | undefined
    reply: undefined
  }
  /** List the sessions of the person */
  'GET /account/sessions': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: SessionList
  }
  /** End a session of the person */
  'DELETE /account/sessions/{session_id}': {
    path: {
      /** Id of the session, a UUID */
      session_id: string
    }
    reply: undefined
  }
  /** List the people in the account */
  'GET /account/members': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: MemberList
  }
  /** Change the role of a member */
  'PATCH /account/members/{member_id}': {
    path: {
      /** Id of the member, a UUID */
      member_id: string
    }
    body: MemberUpdate
    reply: Member
  }
  /** Remove a member */
  'DELETE /account/members/{member_id}': {
    path: {
      /** Id of the member, a UUID */
      member_id: string
    }
    reply: undefined
  }
  /** Leave an account */
  'POST /person/leave': {
    body: AccountChoice
    reply: undefined
  }
  /** List invitations */
  'GET /account/invitations': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: InvitationList
  }
  /** Invite a person to the account by mail */
  'POST /account/invitations': {
    body: InvitationCreate
    reply: Invitation
  }
  /** Withdraw an invitation */
  'DELETE /account/invitations/{invitation_id}': {
    path: {
      /** Id of the invitation, a UUID */
      invitation_id: string
    }
    reply: undefined
  }
  /** See what the link of an invitation is for */
  'POST /invitations/look': {
    body: LinkUse
    reply: OpenInvitation
  }
  /** Accept an invitation */
  'POST /invitations/accept': {
    body: InvitationAcceptance
    reply: SignIn
  }
  /** Get the account, its quotas, and the token or person in use */
  'GET /account/me': {
    reply: Account
  }
  /** List projects */
  'GET /account/projects': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: ProjectList
  }
  /** Create a project */
  'POST /account/projects': {
    body: ProjectCreate
    reply: Project
  }
  /** Get a project */
  'GET /account/projects/{project_id}': {
    path: {
      /** Id of the project, a UUID */
      project_id: string
    }
    reply: Project
  }
  /** Update a project */
  'PATCH /account/projects/{project_id}': {
    path: {
      /** Id of the project, a UUID */
      project_id: string
    }
    body?: ProjectUpdate | undefined
    reply: Project
  }
  /** Delete an empty project */
  'DELETE /account/projects/{project_id}': {
    path: {
      /** Id of the project, a UUID */
      project_id: string
    }
    reply: undefined
  }
  /** List SSH keys */
  'GET /account/ssh_keys': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Label selector: up to 32 terms name=value, name!=value, name in (a,b), name notin (a,b), name or !name, separated by commas; all must hold. name!=value and notin include objects without that label. */
      label?: string | undefined
    } | undefined
    reply: SshKeyList
  }
  /** Add an SSH public key */
  'POST /account/ssh_keys': {
    body: SshKeyCreate
    reply: SshKey
  }
  /** Get an SSH key */
  'GET /account/ssh_keys/{ssh_key_id}': {
    path: {
      /** Id of the SSH key, a UUID */
      ssh_key_id: string
    }
    reply: SshKey
  }
  /** Rename an SSH key */
  'PATCH /account/ssh_keys/{ssh_key_id}': {
    path: {
      /** Id of the SSH key, a UUID */
      ssh_key_id: string
    }
    body?: SshKeyUpdate | undefined
    reply: SshKey
  }
  /** Delete an SSH key */
  'DELETE /account/ssh_keys/{ssh_key_id}': {
    path: {
      /** Id of the SSH key, a UUID */
      ssh_key_id: string
    }
    reply: undefined
  }
  /** List API tokens */
  'GET /account/tokens': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: TokenList
  }
  /** Create an API token */
  'POST /account/tokens': {
    body: TokenCreate
    reply: NewToken
  }
  /** Get an API token, without its value */
  'GET /account/tokens/{token_id}': {
    path: {
      /** Id of the token, a UUID */
      token_id: string
    }
    reply: Token
  }
  /** Revoke an API token */
  'DELETE /account/tokens/{token_id}': {
    path: {
      /** Id of the token, a UUID */
      token_id: string
    }
    query?: {
      /** Whether tokens created with it stay valid; its parent and person become theirs */
      keep_children?: boolean | undefined
    } | undefined
    reply: undefined
  }
  /** Get the balance and how long it will last */
  'GET /account/balance': {
    reply: Balance
  }
  /** List transactions */
  'GET /account/transactions': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: TransactionList
  }
  /** Get the costs of a month by item and project */
  'GET /account/usage': {
    query?: {
      /** A calendar month in UTC, such as 2026-11 */
      month?: string | undefined
    } | undefined
    reply: Usage
  }
  /** Get the costs of a month as CSV */
  'GET /account/usage.csv': {
    query?: {
      /** A calendar month in UTC, such as 2026-11 */
      month?: string | undefined
    } | undefined
    reply: string
  }
  /** List invoices and statements */
  'GET /account/documents': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: DocumentList
  }
  /** Get an invoice or statement */
  'GET /account/documents/{document_id}': {
    path: {
      /** Id of the document, a UUID */
      document_id: string
    }
    reply: DocumentDetails
  }
  /** Get an invoice or statement as PDF or CSV */
  'GET /account/documents/{document_id}/content': {
    path: {
      /** Id of the document, a UUID */
      document_id: string
    }
    reply: Blob
  }
  /** Get an invoice or statement as PDF */
  'GET /account/documents/{document_id}/content.pdf': {
    path: {
      /** Id of the document, a UUID */
      document_id: string
    }
    reply: Blob
  }
  /** Get an invoice or statement as CSV */
  'GET /account/documents/{document_id}/content.csv': {
    path: {
      /** Id of the document, a UUID */
      document_id: string
    }
    reply: string
  }
  /** List the payment providers */
  'GET /account/payment_providers': {
    reply: PaymentProviderList
  }
  /** List payments */
  'GET /account/payments': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: PaymentList
  }
  /** Top up the balance */
  'POST /account/payments': {
    body?: PaymentCreate | undefined
    reply: Payment
  }
  /** Get a payment */
  'GET /account/payments/{payment_id}': {
    path: {
      /** Id of the payment, a UUID */
      payment_id: string
    }
    reply: Payment
  }
  /** List saved payment methods */
  'GET /account/payment_methods': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: PaymentMethodList
  }
  /** Delete a saved payment method */
  'DELETE /account/payment_methods/{payment_method_id}': {
    path: {
      /** Id of the payment method, a UUID */
      payment_method_id: string
    }
    reply: undefined
  }
  /** Get the automatic top-up */
  'GET /account/auto_top_up': {
    reply: AutoTopUp
  }
  /** Set the automatic top-up */
  'PUT /account/auto_top_up': {
    body: AutoTopUpSet
    reply: AutoTopUp
  }
  /** Turn off the automatic top-up */
  'DELETE /account/auto_top_up': {
    reply: undefined
  }
  /** List credits that end */
  'GET /account/credits': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: AccountCreditList
  }
  /** Redeem a promo code */
  'POST /account/credits': {
    body: Redemption
    reply: AccountCredit
  }
  /** List promo codes */
  'GET /operator/promo_codes': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: PromoCodeList
  }
  /** Create a promo code */
  'POST /operator/promo_codes': {
    body: PromoCodeCreate
    reply: NewPromoCode
  }
  /** Get a promo code */
  'GET /operator/promo_codes/{promo_code_id}': {
    path: {
      /** Id of the promo code, a UUID */
      promo_code_id: string
    }
    reply: PromoCode
  }
  /** Revoke a promo code */
  'POST /operator/promo_codes/{promo_code_id}/revoke': {
    path: {
      /** Id of the promo code, a UUID */
      promo_code_id: string
    }
    reply: PromoCode
  }
  /** List invoices for bank transfers */
  'GET /account/transfers': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: TransferList
  }
  /** Ask for an invoice to pay by bank transfer */
  'POST /account/transfers': {
    body: TransferCreate
    reply: Transfer
  }
  /** Get an invoice for a bank transfer */
  'GET /account/transfers/{transfer_id}': {
    path: {
      /** Id of the transfer, a UUID */
      transfer_id: string
    }
    reply: Transfer
  }
  /** Get an invoice for a bank transfer as PDF */
  'GET /account/transfers/{transfer_id}/content.pdf': {
    path: {
      /** Id of the transfer, a UUID */
      transfer_id: string
    }
    reply: Blob
  }
  /** List zones */
  'GET /zones': {
    reply: Array<Zone>
  }
  /** List OS templates */
  'GET /templates': {
    reply: Array<Template>
  }
  /** List presets with their prices in a zone */
  'GET /pricing/presets': {
    query: {
      /** Name of a zone, as `GET /zones` lists them */
      zone_slug: string
      /** Processor vendor; a zone may have both, at different prices */
      cpu_type: 'amd' | 'intel'
    }
    reply: Array<Preset>
  }
  /** Get the limits and prices of custom plans in a zone */
  'GET /pricing/limits': {
    query: {
      /** Name of a zone, as `GET /zones` lists them */
      zone_slug: string
      /** Processor vendor; a zone may have both, at different prices */
      cpu_type: 'amd' | 'intel'
    }
    reply: Limits
  }
  /** List the available capacity by zone and CPU type */
  'GET /pricing/capacity': {
    query?: {
      /** Name of a zone, as `GET /zones` lists them */
      zone_slug?: string | undefined
      /** Processor vendor; a zone may have both, at different prices */
      cpu_type?: 'amd' | 'intel' | undefined
    } | undefined
    reply: Array<Capacity>
  }
  /** List events, oldest or newest first */
  'GET /events': {
    query?: {
      /** The last event that you have seen; the events after it are returned. 00000000-0000-0000-0000-000000000000 is before all events. */
      after?: string | undefined
      /** Oldest first (asc) or newest first (desc) */
      order?: 'asc' | 'desc' | undefined
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
    } | undefined
    reply: EventList
  }
  /** Follow events as they happen (server-sent events) */
  'GET /events/stream': {
    query?: {
      /** The last event that you have seen; the events after it are returned. 00000000-0000-0000-0000-000000000000 is before all events. */
      after?: string | undefined
    } | undefined
    reply: string
  }
  /** List the audit log: who changed what, and from where */
  'GET /account/audit': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: AuditEntryList
  }
  /** List webhooks */
  'GET /webhooks': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: WebhookList
  }
  /** Create a webhook */
  'POST /webhooks': {
    body: WebhookCreate
    reply: NewWebhook
  }
  /** Get a webhook */
  'GET /webhooks/{webhook_id}': {
    path: {
      /** Id of the webhook, a UUID */
      webhook_id: string
    }
    reply: Webhook
  }
  /** Update a webhook */
  'PATCH /webhooks/{webhook_id}': {
    path: {
      /** Id of the webhook, a UUID */
      webhook_id: string
    }
    body?: WebhookUpdate | undefined
    reply: Webhook
  }
  /** Delete a webhook and its deliveries */
  'DELETE /webhooks/{webhook_id}': {
    path: {
      /** Id of the webhook, a UUID */
      webhook_id: string
    }
    reply: undefined
  }
  /** Rotate the secret of a webhook */
  'POST /webhooks/{webhook_id}/rotate-secret': {
    path: {
      /** Id of the webhook, a UUID */
      webhook_id: string
    }
    reply: NewWebhook
  }
  /** Send a test event to a webhook */
  'POST /webhooks/{webhook_id}/test': {
    path: {
      /** Id of the webhook, a UUID */
      webhook_id: string
    }
    reply: WebhookTest
  }
  /** List the deliveries of a webhook with their attempts and replies */
  'GET /webhooks/{webhook_id}/deliveries': {
    path: {
      /** Id of the webhook, a UUID */
      webhook_id: string
    }
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: DeliveryList
  }
  /** List servers */
  'GET /servers': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Id of a project */
      project_id?: string | undefined
      /** Name of a zone, as `GET /zones` lists them */
      zone_slug?: string | undefined
      /** Only those with this status */
      status?: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'rebuilding' | 'resetting_password' | 'restoring' | 'rescuing' | 'unrescuing' | 'suspended' | 'error' | 'deleting' | undefined
      /** Whether the size is a preset or chosen freely */
      plan_type?: 'preset' | 'custom' | undefined
      /** Processor vendor; a zone may have both, at different prices */
      cpu_type?: 'amd' | 'intel' | undefined
      /** Id of a template: the operating system that the server is created from */
      template_id?: string | undefined
      /** Only those with exactly this name */
      name?: string | undefined
      /** Label selector: up to 32 terms name=value, name!=value, name in (a,b), name notin (a,b), name or !name, separated by commas; all must hold. name!=value and notin include objects without that label. */
      label?: string | undefined
      /** Order of the list; with a dash descending */
      sort?: 'created_at' | '-created_at' | 'name' | '-name' | undefined
    } | undefined
    reply: ServerList
  }
  /** Create a server */
  'POST /servers': {
    body: ServerCreate
    reply: Server
  }
  /** Get a server */
  'GET /servers/{server_id}': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: Server
  }
  /** Update a server, resize it, or change the ISO in its drive */
  'PATCH /servers/{server_id}': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: ServerUpdate | undefined
    reply: Server
  }
  /** Delete a server and its disk */
  'DELETE /servers/{server_id}': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: Operation
  }
  /** Get the details of a server, including SSH access */
  'GET /servers/{server_id}/details': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: ServerDetails
  }
  /** Get the current resource usage of a server */
  'GET /servers/{server_id}/stats': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: ServerStats
  }
  /** Get the resource usage of a server over time */
  'GET /servers/{server_id}/metrics': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    query?: {
      /** Beginning of the period; default: one hour before `end` */
      start?: string | undefined
      /** End of the period, after `start` and at most 30 days from it; default: now */
      end?: string | undefined
      /** Seconds between points; by default such that there are at most 200 points */
      step?: number | undefined
      /** One or more of cpu, memory, disk, network, separated by commas; default: all */
      type?: string | undefined
    } | undefined
    reply: ServerMetrics
  }
  /** Start a server */
  'POST /servers/{server_id}/start': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: StartRequest | undefined
    reply: Operation
  }
  /** Stop a server */
  'POST /servers/{server_id}/stop': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: StopRequest | undefined
    reply: Operation
  }
  /** Reboot a server */
  'POST /servers/{server_id}/reboot': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: StopRequest | undefined
    reply: Operation
  }
  /** List the operations of a server, even a deleted one */
  'GET /servers/{server_id}/operations': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: OperationList
  }
  /** Get an operation, or wait until it has finished */
  'GET /servers/{server_id}/operations/{operation_id}': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
      /** Id of the operation, a UUID */
      operation_id: string
    }
    query?: {
      /** How many seconds to wait for the operation to finish */
      wait?: number | undefined
    } | undefined
    reply: Operation
  }
  /** Quote the price of a server and check whether it can be created */
  'POST /pricing/quote': {
    body: QuoteRequest
    reply: Quote
  }
  /** Replace the disk of a server by a new operating system */
  'POST /servers/{server_id}/rebuild': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: RebuildRequest | undefined
    reply: Operation
  }
  /** Make a snapshot of a server */
  'POST /snapshots': {
    body: SnapshotCreate
    reply: Snapshot
  }
  /** List snapshots */
  'GET /snapshots': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Only the snapshots of this server */
      server_id?: string | undefined
      /** Label selector: up to 32 terms name=value, name!=value, name in (a,b), name notin (a,b), name or !name, separated by commas; all must hold. name!=value and notin include objects without that label. */
      label?: string | undefined
    } | undefined
    reply: SnapshotList
  }
  /** Return the disk of a server to a snapshot or a backup */
  'POST /servers/{server_id}/restore': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: RestoreRequest | undefined
    reply: Operation
  }
  /** List the backups of a server */
  'GET /servers/{server_id}/backups': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: BackupList
  }
  /** Set a new password on a running server */
  'POST /servers/{server_id}/reset_password': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: Operation
  }
  /** Boot a server into a rescue system */
  'POST /servers/{server_id}/rescue': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: RescueRequest | undefined
    reply: Operation
  }
  /** Boot a server from its own disk again */
  'POST /servers/{server_id}/unrescue': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: UnrescueRequest | undefined
    reply: Operation
  }
  /** Open the serial console of a server */
  'POST /servers/{server_id}/console': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: ConsoleTicket
  }
  /** Open the screen of a server */
  'POST /servers/{server_id}/screen': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: ConsoleTicket
  }
  /** List the published ports of a server */
  'GET /servers/{server_id}/ports': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: PublishedPortList
  }
  /** Publish a port of a server */
  'POST /servers/{server_id}/ports': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body: PortPublish
    reply: PublishedPort
  }
  /** Stop publishing a port of a server */
  'DELETE /servers/{server_id}/ports/{port_id}': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
      /** Id of the port, a UUID */
      port_id: string
    }
    reply: undefined
  }
  /** List public addresses */
  'GET /addresses': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Only the addresses of this server */
      server_id?: string | undefined
      /** Label selector: up to 32 terms name=value, name!=value, name in (a,b), name notin (a,b), name or !name, separated by commas; all must hold. name!=value and notin include objects without that label. */
      label?: string | undefined
    } | undefined
    reply: AddressList
  }
  /** Reserve a public address */
  'POST /addresses': {
    body: AddressCreate
    reply: Address
  }
  /** Get a public address */
  'GET /addresses/{address_id}': {
    path: {
      /** Id of the address, a UUID */
      address_id: string
    }
    reply: Address
  }
  /** Move a public address, or change its reverse DNS name */
  'PATCH /addresses/{address_id}': {
    path: {
      /** Id of the address, a UUID */
      address_id: string
    }
    body?: AddressUpdate | undefined
    reply: Address
  }
  /** Release a public address */
  'DELETE /addresses/{address_id}': {
    path: {
      /** Id of the address, a UUID */
      address_id: string
    }
    query?: {
      /** Whether to delete the address even if a server has it */
      force?: boolean | undefined
    } | undefined
    reply: undefined
  }
  /** List private networks */
  'GET /networks': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Only the networks of this server */
      server_id?: string | undefined
      /** Label selector: up to 32 terms name=value, name!=value, name in (a,b), name notin (a,b), name or !name, separated by commas; all must hold. name!=value and notin include objects without that label. */
      label?: string | undefined
    } | undefined
    reply: NetworkList
  }
  /** Create a private network */
  'POST /networks': {
    body: NetworkCreate
    reply: Network
  }
  /** Get a private network */
  'GET /networks/{network_id}': {
    path: {
      /** Id of the network, a UUID */
      network_id: string
    }
    reply: Network
  }
  /** Rename a private network */
  'PATCH /networks/{network_id}': {
    path: {
      /** Id of the network, a UUID */
      network_id: string
    }
    body?: NetworkUpdate | undefined
    reply: Network
  }
  /** Delete a private network */
  'DELETE /networks/{network_id}': {
    path: {
      /** Id of the network, a UUID */
      network_id: string
    }
    reply: undefined
  }
  /** Attach a server to a private network */
  'POST /networks/{network_id}/servers': {
    path: {
      /** Id of the network, a UUID */
      network_id: string
    }
    body: NetworkAttach
    reply: Operation
  }
  /** Detach a server from a private network */
  'DELETE /networks/{network_id}/servers/{server_id}': {
    path: {
      /** Id of the network, a UUID */
      network_id: string
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: Operation
  }
  /** List volumes */
  'GET /volumes': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Only the volumes of this server */
      server_id?: string | undefined
      /** Label selector: up to 32 terms name=value, name!=value, name in (a,b), name notin (a,b), name or !name, separated by commas; all must hold. name!=value and notin include objects without that label. */
      label?: string | undefined
    } | undefined
    reply: VolumeList
  }
  /** Create a volume */
  'POST /volumes': {
    body: VolumeCreate
    reply: Volume
  }
  /** Get a volume */
  'GET /volumes/{volume_id}': {
    path: {
      /** Id of the volume, a UUID */
      volume_id: string
    }
    reply: Volume
  }
  /** Rename a volume, or grow it */
  'PATCH /volumes/{volume_id}': {
    path: {
      /** Id of the volume, a UUID */
      volume_id: string
    }
    body?: VolumeUpdate | undefined
    reply: Volume | Operation
  }
  /** Delete a volume */
  'DELETE /volumes/{volume_id}': {
    path: {
      /** Id of the volume, a UUID */
      volume_id: string
    }
    reply: Operation
  }
  /** Attach a volume to a server */
  'POST /volumes/{volume_id}/attach': {
    path: {
      /** Id of the volume, a UUID */
      volume_id: string
    }
    body: VolumeAttach
    reply: Operation
  }
  /** Detach a volume from its server */
  'POST /volumes/{volume_id}/detach': {
    path: {
      /** Id of the volume, a UUID */
      volume_id: string
    }
    reply: Operation
  }
  /** List firewalls */
  'GET /firewalls': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Only the firewalls of this server, by its id or its labels */
      server_id?: string | undefined
      /** Label selector: up to 32 terms name=value, name!=value, name in (a,b), name notin (a,b), name or !name, separated by commas; all must hold. name!=value and notin include objects without that label. */
      label?: string | undefined
    } | undefined
    reply: FirewallList
  }
  /** Create a firewall */
  'POST /firewalls': {
    body: FirewallCreate
    reply: Firewall
  }
  /** Get a firewall */
  'GET /firewalls/{firewall_id}': {
    path: {
      /** Id of the firewall, a UUID */
      firewall_id: string
    }
    reply: Firewall
  }
  /** Update a firewall */
  'PATCH /firewalls/{firewall_id}': {
    path: {
      /** Id of the firewall, a UUID */
      firewall_id: string
    }
    body?: FirewallUpdate | undefined
    reply: Firewall
  }
  /** Delete a firewall */
  'DELETE /firewalls/{firewall_id}': {
    path: {
      /** Id of the firewall, a UUID */
      firewall_id: string
    }
    reply: undefined
  }
  /** Attach a firewall to servers */
  'POST /firewalls/{firewall_id}/servers': {
    path: {
      /** Id of the firewall, a UUID */
      firewall_id: string
    }
    body: FirewallAttach
    reply: Firewall
  }
  /** Detach a firewall from a server */
  'DELETE /firewalls/{firewall_id}/servers/{server_id}': {
    path: {
      /** Id of the firewall, a UUID */
      firewall_id: string
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: undefined
  }
  /** Get a snapshot */
  'GET /snapshots/{snapshot_id}': {
    path: {
      /** Id of the snapshot, a UUID */
      snapshot_id: string
    }
    reply: Snapshot
  }
  /** Change a snapshot */
  'PATCH /snapshots/{snapshot_id}': {
    path: {
      /** Id of the snapshot, a UUID */
      snapshot_id: string
    }
    body?: SnapshotUpdate | undefined
    reply: Snapshot
  }
  /** Delete a snapshot */
  'DELETE /snapshots/{snapshot_id}': {
    path: {
      /** Id of the snapshot, a UUID */
      snapshot_id: string
    }
    reply: undefined
  }
  /** List backups */
  'GET /backups': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Only the backups of this server, which may be deleted by now */
      server_id?: string | undefined
    } | undefined
    reply: BackupList
  }
  /** Get a backup */
  'GET /backups/{backup_id}': {
    path: {
      /** Id of the backup, a UUID */
      backup_id: string
    }
    reply: Backup
  }
  /** Delete a backup */
  'DELETE /backups/{backup_id}': {
    path: {
      /** Id of the backup, a UUID */
      backup_id: string
    }
    reply: undefined
  }
  /** Turn a backup into a snapshot */
  'POST /backups/{backup_id}/snapshot': {
    path: {
      /** Id of the backup, a UUID */
      backup_id: string
    }
    body?: BackupKeep | undefined
    reply: Snapshot
  }
  /** List images */
  'GET /images': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Label selector: up to 32 terms name=value, name!=value, name in (a,b), name notin (a,b), name or !name, separated by commas; all must hold. name!=value and notin include objects without that label. */
      label?: string | undefined
    } | undefined
    reply: ImageList
  }
  /** Make an image */
  'POST /images': {
    body: ImageCreate
    reply: Image
  }
  /** Upload a part of a file */
  'PATCH /images/{image_id}/content': {
    path: {
      /** Id of the image, a UUID */
      image_id: string
    }
    body: Blob
    reply: Image
  }
  /** Make the image from the uploaded file */
  'POST /images/{image_id}/import': {
    path: {
      /** Id of the image, a UUID */
      image_id: string
    }
    body?: ImageImport | undefined
    reply: Image
  }
  /** Get an image */
  'GET /images/{image_id}': {
    path: {
      /** Id of the image, a UUID */
      image_id: string
    }
    reply: Image
  }
  /** Rename an image */
  'PATCH /images/{image_id}': {
    path: {
      /** Id of the image, a UUID */
      image_id: string
    }
    body?: ImageUpdate | undefined
    reply: Image
  }
  /** Delete an image */
  'DELETE /images/{image_id}': {
    path: {
      /** Id of the image, a UUID */
      image_id: string
    }
    reply: undefined
  }
  /** List ISOs */
  'GET /isos': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: IsoList
  }
  /** Upload or fetch an ISO */
  'POST /isos': {
    body: IsoCreate
    reply: Iso
  }
  /** Upload a part of an ISO */
  'PATCH /isos/{iso_id}/content': {
    path: {
      /** Id of the iso, a UUID */
      iso_id: string
    }
    body: Blob
    reply: Iso
  }
  /** Check the uploaded ISO */
  'POST /isos/{iso_id}/import': {
    path: {
      /** Id of the iso, a UUID */
      iso_id: string
    }
    body?: ImageImport | undefined
    reply: Iso
  }
  /** Get an ISO */
  'GET /isos/{iso_id}': {
    path: {
      /** Id of the iso, a UUID */
      iso_id: string
    }
    reply: Iso
  }
  /** Rename an ISO */
  'PATCH /isos/{iso_id}': {
    path: {
      /** Id of the iso, a UUID */
      iso_id: string
    }
    body?: IsoUpdate | undefined
    reply: Iso
  }
  /** Delete an ISO */
  'DELETE /isos/{iso_id}': {
    path: {
      /** Id of the iso, a UUID */
      iso_id: string
    }
    reply: undefined
  }
  /** List the operations of the account */
  'GET /operations': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Queued (`pending`), in progress (`running`) or finished: `succeeded`, `failed`, or `canceled` by a later request */
      status?: 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled' | undefined
      /** Type of the operation */
      type?: 'create' | 'start' | 'stop' | 'reboot' | 'resize' | 'rebuild' | 'restore' | 'rescue' | 'unrescue' | 'snapshot' | 'backup' | 'reset_password' | 'delete' | 'attach_network' | 'detach_network' | 'import' | 'insert_iso' | 'eject_iso' | 'attach_volume' | 'detach_volume' | 'resize_volume' | 'delete_volume' | undefined
      /** Type of the resource that the operation is on */
      subject_type?: 'server' | 'network' | 'image' | 'iso' | 'drive' | 'volume' | undefined
      /** Id of the resource that the operation is on */
      subject_id?: string | undefined
      /** Leaves out operations on servers of other projects */
      project_id?: string | undefined
    } | undefined
    reply: OperationList
  }
  /** Get an operation of the account, or wait until it has finished */
  'GET /operations/{operation_id}': {
    path: {
      /** Id of the operation, a UUID */
      operation_id: string
    }
    query?: {
      /** How many seconds to wait for the operation to finish */
      wait?: number | undefined
    } | undefined
    reply: Operation
  }
  /** List the accounts of the installation */
  'GET /operator/accounts': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Part of the e-mail address or the name, in upper or lower case, or the whole id */
      search?: string | undefined
      /** Status of the account */
      status?: 'active' | 'suspended' | 'closed' | undefined
      /** The operator's own id of the account, unique in the installation, without spaces */
      external_id?: string | undefined
      /** Up to 40 lower-case letters, digits, - and _ */
      tag?: string | undefined
    } | undefined
    reply: OperatedAccountList
  }
  /** Create an account for a customer */
  'POST /operator/accounts': {
    body: AccountCreate
    reply: OperatedAccount
  }
  /** Get an account */
  'GET /operator/accounts/{account_id}': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    reply: OperatedAccount
  }
  /** Change the name, the external id, the tags and the notes of an account */
  'PATCH /operator/accounts/{account_id}': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body?: OperatedAccountUpdate | undefined
    reply: OperatedAccount
  }
  /** Set limits of an account */
  'POST /operator/accounts/{account_id}/limits': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: LimitChange
    reply: OperatedAccount
  }
  /** Create a link that signs the owner of an account in */
  'POST /operator/accounts/{account_id}/login': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    reply: LoginLink
  }
  /** Create an API token of an account */
  'POST /operator/accounts/{account_id}/tokens': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: TokenCreate
    reply: NewToken
  }
  /** Set the prices of an account */
  'POST /operator/accounts/{account_id}/prices': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: PriceChange
    reply: OperatedAccount
  }
  /** Let an account pay afterwards */
  'POST /operator/accounts/{account_id}/credit_limit': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: CreditLimitChange
    reply: OperatedAccount
  }
  /** Suspend an account */
  'POST /operator/accounts/{account_id}/suspend': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: StatusChange
    reply: OperatedAccount
  }
  /** Resume a suspended, frozen or closed account */
  'POST /operator/accounts/{account_id}/resume': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: StatusChange
    reply: OperatedAccount
  }
  /** Close an account */
  'POST /operator/accounts/{account_id}/close': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: AccountClose
    reply: OperatedAccount
  }
  /** Freeze an account, with its evidence kept */
  'POST /operator/accounts/{account_id}/freeze': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: StatusChange
    reply: OperatedAccount
  }
  /** Credit the balance of an account */
  'POST /operator/accounts/{account_id}/credit': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: Credit
    reply: OperatedAccount
  }
  /** Debit the balance of an account */
  'POST /operator/accounts/{account_id}/debit': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: Debit
    reply: OperatedAccount
  }
  /** List the servers of all accounts */
  'GET /operator/servers': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Only those of this account */
      account_id?: string | undefined
      /** Part of the name, in upper or lower case, or the whole id */
      search?: string | undefined
      /** Only those with this status */
      status?: 'creating' | 'running' | 'stopped' | 'starting' | 'stopping' | 'rebooting' | 'resizing' | 'rebuilding' | 'resetting_password' | 'restoring' | 'rescuing' | 'unrescuing' | 'suspended' | 'error' | 'deleting' | undefined
      /** Only those in this zone */
      zone_slug?: string | undefined
      /** Only the one with this public address, as `ipv4` or `ipv6` shows it */
      address?: string | undefined
    } | undefined
    reply: OperatedServerList
  }
  /** Get a server of any account */
  'GET /operator/servers/{server_id}': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: OperatedServer
  }
  /** Change a server of any account, or resize it while it is stopped */
  'PATCH /operator/servers/{server_id}': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: ServerUpdate | undefined
    reply: OperatedServer
  }
  /** Create a server for an account */
  'POST /operator/accounts/{account_id}/servers': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: ServerCreate
    reply: OperatedServer
  }
  /** Suspend one server of any account */
  'POST /operator/servers/{server_id}/suspend': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body: ServerReason
    reply: OperatedServer
  }
  /** Resume a server that an operator suspended */
  'POST /operator/servers/{server_id}/resume': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body: ServerReason
    reply: OperatedServer
  }
  /** Move a stopped server to another account */
  'POST /operator/servers/{server_id}/move': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body: ServerMove
    reply: OperatedServer
  }
  /** Start a server of any account */
  'POST /operator/servers/{server_id}/start': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body: ServerReason
    reply: OperatedOperation
  }
  /** Stop a server of any account */
  'POST /operator/servers/{server_id}/stop': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body: ServerStop
    reply: OperatedOperation
  }
  /** Reboot a server of any account */
  'POST /operator/servers/{server_id}/reboot': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body: ServerStop
    reply: OperatedOperation
  }
  /** Delete a server of any account, and its disk */
  'POST /operator/servers/{server_id}/delete': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body: ServerTermination
    reply: OperatedOperation
  }
  /** Replace the disk of a server of any account by a new operating system */
  'POST /operator/servers/{server_id}/rebuild': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: RebuildRequest | undefined
    reply: OperatedOperation
  }
  /** Set a new password on a running server of any account */
  'POST /operator/servers/{server_id}/reset_password': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    reply: OperatedOperation
  }
  /** Boot a server of any account into a rescue system */
  'POST /operator/servers/{server_id}/rescue': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: RescueRequest | undefined
    reply: OperatedOperation
  }
  /** Boot a server of any account from its own disk again */
  'POST /operator/servers/{server_id}/unrescue': {
    path: {
      /** Id of the server, a UUID */
      server_id: string
    }
    body?: UnrescueRequest | undefined
    reply: OperatedOperation
  }
  /** List the payments of all accounts */
  'GET /operator/payments': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Payments of this account only */
      account_id?: string | undefined
      /** Only payments with a problem */
      has_problem?: boolean | undefined
    } | undefined
    reply: OperatedPaymentList
  }
  /** Get a payment of any account */
  'GET /operator/payments/{payment_id}': {
    path: {
      /** Id of the payment, a UUID */
      payment_id: string
    }
    reply: OperatedPayment
  }
  /** Refund a payment, or a part of it */
  'POST /operator/payments/{payment_id}/refund': {
    path: {
      /** Id of the payment, a UUID */
      payment_id: string
    }
    body: RefundCreate
    reply: OperatedPayment
  }
  /** Book money that arrived by bank transfer */
  'POST /operator/transfers': {
    body: Arrival
    reply: Transfer
  }
  /** List the invoices and statements of an account */
  'GET /operator/accounts/{account_id}/documents': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: DocumentList
  }
  /** Get an invoice or statement of an account */
  'GET /operator/accounts/{account_id}/documents/{document_id}': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
      /** Id of the document, a UUID */
      document_id: string
    }
    reply: DocumentDetails
  }
  /** Correct an invoice of an account */
  'POST /operator/accounts/{account_id}/documents/{document_id}/corrections': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
      /** Id of the document, a UUID */
      document_id: string
    }
    body: CorrectionCreate
    reply: DocumentDetails
  }
  /** Show the text of the catalogue in force */
  'GET /operator/catalog': {
    reply: CatalogText
  }
  /** Replace the catalogue */
  'PUT /operator/catalog': {
    body: CatalogReplacement
    reply: ReplacedCatalog
  }
  /** Check a catalogue, and compare it with the one in force */
  'POST /operator/catalog/check': {
    body: CatalogCheck
    reply: CheckedCatalog
  }
  /** List the capacity of each zone, and how much of it is sold */
  'GET /operator/capacity': {
    reply: Array<ZoneRoom>
  }
  /** List the images of the templates, with their progress */
  'GET /operator/images': {
    reply: Array<OperatedImage>
  }
  /** Show how many snapshots, images and backups are copied off site */
  'GET /operator/offsite': {
    reply: OffsiteState
  }
  /** List the operations of all accounts that are in progress or failed */
  'GET /operator/operations': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Operations in progress (`active`), or failed ones among the last 10,000 (`failed`) */
      state?: 'active' | 'failed' | undefined
    } | undefined
    reply: OperatedOperationList
  }
  /** List signs of abuse, each with what to do */
  'GET /operator/abuse': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Only signs of this kind */
      kind?: 'outgoing_flood' | 'many_connections' | 'mail_tries' | 'cpu_at_limit' | 'accounts_of_network' | 'accounts_of_card' | undefined
      /** Only signs about this account */
      account_id?: string | undefined
    } | undefined
    reply: AbuseSignList
  }
  /** List complaints about the account and its servers */
  'GET /account/complaints': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Open ones, the earliest deadline first, or closed ones, newest first (default: open) */
      status?: 'open' | 'closed' | undefined
    } | undefined
    reply: ComplaintList
  }
  /** Get a complaint */
  'GET /account/complaints/{complaint_id}': {
    path: {
      /** Id of the complaint, a UUID */
      complaint_id: string
    }
    reply: ComplaintWithMessages
  }
  /** Answer a complaint */
  'POST /account/complaints/{complaint_id}/answers': {
    path: {
      /** Id of the complaint, a UUID */
      complaint_id: string
    }
    body: ComplaintAnswer
    reply: ComplaintWithMessages
  }
  /** List complaints about all accounts, each with what to do */
  'GET /operator/complaints': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
      /** Open ones, the earliest deadline first, or closed ones, newest first (default: open) */
      status?: 'open' | 'closed' | undefined
      /** Only complaints about this account */
      account_id?: string | undefined
    } | undefined
    reply: OperatedComplaintList
  }
  /** Get a complaint about an account */
  'GET /operator/complaints/{complaint_id}': {
    path: {
      /** Id of the complaint, a UUID */
      complaint_id: string
    }
    reply: OperatedComplaintWithMessages
  }
  /** Open a complaint about an account */
  'POST /operator/accounts/{account_id}/complaints': {
    path: {
      /** Id of the account, a UUID */
      account_id: string
    }
    body: ComplaintCreate
    reply: OperatedComplaintWithMessages
  }
  /** Reply to the customer of a complaint */
  'POST /operator/complaints/{complaint_id}/replies': {
    path: {
      /** Id of the complaint, a UUID */
      complaint_id: string
    }
    body: ComplaintReply
    reply: OperatedComplaintWithMessages
  }
  /** Close a complaint */
  'POST /operator/complaints/{complaint_id}/close': {
    path: {
      /** Id of the complaint, a UUID */
      complaint_id: string
    }
    body: ComplaintClose
    reply: OperatedComplaintWithMessages
  }
  /** List announcements of the operator */
  'GET /announcements': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: AnnouncementList
  }
  /** List all announcements */
  'GET /operator/announcements': {
    query?: {
      /** Number of items per page; a number above the maximum is refused with 422 */
      limit?: number | undefined
      /** Number of items to skip, for pages other than the first; the `Link` header has the address of each page */
      offset?: number | undefined
    } | undefined
    reply: OperatedAnnouncementList
  }
  /** Announce maintenance, an incident or news */
  'POST /operator/announcements': {
    body: AnnouncementCreate
    reply: OperatedAnnouncement
  }
  /** Get an announcement */
  'GET /operator/announcements/{announcement_id}': {
    path: {
      /** Id of the announcement, a UUID */
      announcement_id: string
    }
    reply: OperatedAnnouncement
  }
  /** Change an announcement */
  'PATCH /operator/announcements/{announcement_id}': {
    path: {
      /** Id of the announcement, a UUID */
      announcement_id: string
    }
    body?: AnnouncementUpdate | undefined
    reply: OperatedAnnouncement
  }
  /** End an announcement */
  'POST /operator/announcements/{announcement_id}/end': {
    path: {
      /** Id of the announcement, a UUID */
      announcement_id: string
    }
    reply: OperatedAnnouncement
  }
}

/** The values of a BerthError's code; a newer service may have more. */
export type ErrorCode =
  | 'access_denied'
  | 'account_exists'
  | 'account_frozen'
  | 'account_in_use'
  | 'account_not_found'
  | 'account_status_conflict'
  | 'account_suspended'
  | 'account_token_required'
  | 'address_in_use'
  | 'address_not_allowed'
  | 'address_not_found'
  | 'address_unavailable'
  | 'already_member'
  | 'announcement_ended'
  | 'announcement_not_found'
  | 'authorization_pending'
  | 'backend_unavailable'
  | 'backup_not_found'
  | 'backup_not_ready'
  | 'bad_request'
  | 'bank_transaction_taken'
  | 'capacity_unavailable'
  | 'catalog_changed'
  | 'catalog_not_writable'
  | 'complaint_closed'
  | 'complaint_not_found'
  | 'correction_too_large'
  | 'delete_protected'
  | 'document_not_correctable'
  | 'document_not_found'
  | 'email_unverified'
  | 'expired_token'
  | 'firewall_in_use'
  | 'firewall_limit_reached'
  | 'firewall_not_found'
  | 'idempotency_key_in_use'
  | 'idempotency_key_reused'
  | 'identity_for_another'
  | 'identity_not_found'
  | 'image_in_use'
  | 'image_not_found'
  | 'image_not_uploading'
  | 'insufficient_balance'
  | 'insufficient_scope'
  | 'internal_error'
  | 'invalid_json'
  | 'invalid_token'
  | 'invitation_for_another'
  | 'invitation_not_found'
  | 'iso_in_use'
  | 'iso_is_public'
  | 'iso_not_found'
  | 'last_owner'
  | 'link_invalid'
  | 'member_not_found'
  | 'missing_token'
  | 'network_address_unavailable'
  | 'network_attached'
  | 'network_in_use'
  | 'network_not_found'
  | 'no_account'
  | 'no_console'
  | 'no_provider'
  | 'not_a_member'
  | 'not_supported'
  | 'operation_in_progress'
  | 'operation_not_found'
  | 'operator_required'
  | 'origin_not_allowed'
  | 'owner_unclear'
  | 'passkey_limit_reached'
  | 'passkey_not_found'
  | 'passkey_refused'
  | 'passkeys_unavailable'
  | 'payload_too_large'
  | 'payment_method_not_found'
  | 'payment_not_found'
  | 'payment_refused'
  | 'payments_off'
  | 'person_required'
  | 'port_is_system'
  | 'port_not_found'
  | 'port_taken'
  | 'precondition_failed'
  | 'project_is_default'
  | 'project_not_empty'
  | 'project_not_found'
  | 'promo_code_exists'
  | 'promo_code_invalid'
  | 'promo_code_not_found'
  | 'promo_code_redeemed'
  | 'provider_refused'
  | 'quota_exceeded'
  | 'rate_limited'
  | 'reference_taken'
  | 'refund_too_large'
  | 'rescue_conflict'
  | 'role_not_allowed'
  | 'server_attached'
  | 'server_not_found'
  | 'server_state_conflict'
  | 'session_ended'
  | 'session_not_found'
  | 'sign_in_again'
  | 'sign_in_failed'
  | 'sign_up_closed'
  | 'slow_down'
  | 'snapshot_in_use'
  | 'snapshot_not_found'
  | 'ssh_key_exists'
  | 'ssh_key_not_found'
  | 'terms_not_accepted'
  | 'ticket_invalid'
  | 'token_expired'
  | 'token_not_found'
  | 'token_not_revocable'
  | 'token_revoked'
  | 'too_many_announcements'
  | 'too_many_complaints'
  | 'too_many_corrections'
  | 'too_many_credits'
  | 'too_many_messages'
  | 'too_many_open_payments'
  | 'too_many_payment_methods'
  | 'too_many_transfers'
  | 'transfer_not_found'
  | 'transfers_not_offered'
  | 'two_factor_off'
  | 'two_factor_on'
  | 'two_factor_required'
  | 'unsupported_media_type'
  | 'upload_offset'
  | 'user_code_not_found'
  | 'validation_failed'
  | 'volume_detached'
  | 'volume_in_use'
  | 'volume_not_found'
  | 'webhook_not_found'
  | 'webhook_not_verified'
  | 'wrong_code'
  | 'wrong_password'
