import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Catalog } from '../catalog/file.ts'
import type { CatalogSource } from '../catalog/live.ts'
import type { Clock } from '../clock.ts'
import type { Config, NameServerSettings, ProviderSettings, Receipt } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { FullDisk } from '../database/full-disk.ts'
import type { RecentReads } from '../database/replica.ts'
import type { PortRange } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { RateLimits } from '../http/limits/rate-limit.ts'
import type { Pages } from '../http/server/pages.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { Vault } from '../offsite/vault.ts'
import type { EngineOptions } from '../operations/engine.ts'
import type { Passwords } from '../people/guard/passwords.ts'
import type { SignUpPolicy } from '../people/sign-in/admission.ts'
import type { Peers } from '../processes/peers.ts'
import type { Secrets } from '../secrets.ts'
import type { Offsite } from '../snapshots/offsite.ts'
import type { Telemetry } from '../telemetry.ts'
import type { Range } from '../webhooks/addresses.ts'
import type { Lookup } from '../webhooks/send.ts'

export interface AppOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  catalog: Catalog
  /** The text of the catalogue, for operators (default: this process shows and checks none). */
  catalogText?: CatalogSource
  secrets: Secrets
  log: Logger
  /** Receives the security log (default: the other log). */
  securityLog?: Logger | undefined
  sshPorts: PortRange
  rateLimits: RateLimits
  /** The time that servers keep running after the account's balance is used up (default: a day). */
  graceMs?: number
  /** The time after which suspended servers are deleted (default: never). */
  keepSuspendedMs?: number | null
  /** The time for which each charge is kept by itself (default: for ever). */
  keepChargesMs?: number | null
  /** The address that customers' ssh commands name. */
  sshHost: string
  /** The URL of the API, including /v1 (default: the address that its description was loaded from). */
  publicUrl?: string | undefined
  /** The interval of measurements of machines (default: 10 s). */
  sampleSeconds?: number
  /** Ranges that webhooks may reach besides the public internet (default: none). */
  webhookAllow?: readonly Range[]
  /** Ranges of reverse proxies whose X-Forwarded-For is trusted (default: none). */
  trustProxy?: readonly string[]
  /** Ranges that files of images may come from besides the public internet (default: none). */
  downloadAllow?: readonly Range[]
  /** Resolves the names of hosts of webhooks and files (default: DNS). */
  lookup?: Lookup
  /** Sends mails (default: they stay in the queue). */
  mailer?: Mailer
  /** Hashes passwords (default: at the service's own cost). */
  passwords?: Passwords
  /** The people who can sign up (default: everybody). */
  signUp?: SignUpPolicy
  /** The credit of people who sign up (default: none). */
  trialCredit?: Config['trialCredit']
  /** The OpenID Connect provider that people can sign in with (default: none). */
  oidc?: ProviderSettings | null
  /** The APIs of payment providers, with keys (default: none). */
  yookassa?: URL | null
  stripe?: URL | null
  /** The codes for receipts by the law 54-FZ (default: no receipts). */
  receipt?: Receipt | null
  /** The name server for reverse DNS names (default: none). */
  rdns?: NameServerSettings | null
  /** The address of the console, for links in mails. */
  siteUrl?: () => string
  /** The console as it was built; without one `/` leads to the API's documentation. */
  pages?: Pages | null
  /** False if the installation has no console (default: true). */
  hasConsole?: boolean
  /** True if `/hcloud/v1` answers (default: false). */
  hasHcloud?: boolean
  /** Records writes that fail because a disk is full (default: only those of requests). */
  disk?: FullDisk
  /** The place off site for copies of disks (default: none). */
  vault?: Vault | null
  /** The service's own metrics. */
  telemetry?: Telemetry | undefined
  /** Runs reads whose data may be a second old (default: on the database itself). */
  recent?: RecentReads
  /** The other processes that serve the same database (default: none). */
  peers?: Peers
  /** The name under which this process takes work. */
  owner?: string
  /** True if the process serves nothing but health checks. */
  isWorker?: boolean
  /** For tests: undocumented replies fail, and each step can be observed and recorded or not. */
  validateReplies?: boolean
  observe?: NonNullable<EngineOptions['observe']>
  saveEveryMs?: number
}

/** The options, completed with what several parts of the program need. */
export type Wired = AppOptions & {
  peers: Peers
  recent: RecentReads
  disk: FullDisk
  offsite: Offsite
}
