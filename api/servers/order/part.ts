import type { Capacity } from '../../catalog/capacity.ts'
import type { Catalog, Zone } from '../../catalog/file.ts'
import type { PriceItem } from '../../catalog/plans.ts'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import type { Feature, PortRange } from '../../drivers/driver.ts'
import type { Issue } from '../../http/contract/problem.ts'
import type { Secrets } from '../../secrets.ts'
import type { BackupColumns } from '../backups.ts'
import type { QuoteRequest } from '../order-schema.ts'
import type { ServerTable } from '../tables.ts'
import type { Facts } from './facts.ts'

export interface OrderOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  capacity: Capacity
  secrets: Secrets
  sshPorts: PortRange
  /** The address that customers connect to, by the zone of a server. */
  hostOf: (zoneSlug: string) => string
}

/** A request, and the zone that it names. */
export interface Asked {
  options: OrderOptions
  /** The catalogue at the prices of the account. */
  catalog: Catalog
  accountId: string
  request: QuoteRequest
  /** Missing if the zone is unknown: such an order is refused, but only once all its mistakes are found. */
  zone: Zone | undefined
  /** Features of the zone. */
  features: readonly Feature[]
  /** The moment whose prices apply. */
  at: number
}

/** A server that is ordered, before its account is locked. */
export type NewServer = Pick<
  ServerTable,
  'server_id' | 'account_id' | 'zone_slug' | 'cpu_type' | 'pool' | 'labels' | 'created_at'
>

/** A server that is ordered, as far as its parts need it. */
export type OrderedServer = NewServer & Pick<ServerTable, 'project_id'>

/** The place of a part in the transaction of its order. */
export interface Taking {
  server: OrderedServer
  facts: Facts
  reserve: Reserve
}

/** Columns of a server's row that parts decide when they are taken. */
export type TakenColumns = Pick<ServerTable, 'ssh_port' | 'ipv4' | 'ipv6' | 'networks'> & BackupColumns

export interface PartPrice {
  price_hour: number
  price_month: number
  item: PriceItem
}

/**
 * One thing that an order takes. `create` runs all parts and fails with the first that is unavailable;
 * `quote` runs the same parts in a dry run and collects all failures. Methods throw ApiErrors.
 */
export interface OrderPart {
  /** Invalid values of the request. */
  issues?: readonly Issue[]
  price?: PartPrice | null
  /** Runs before the transaction, since a host may be slow to reply. */
  check?: (server: NewServer) => Promise<void>
  /** Takes the part, and returns its columns of the server's row. */
  take?: (tx: Queries, taking: Taking) => Promise<Partial<TakenColumns>>
  /** Writes rows that belong to the server, once the server's own row is written. */
  add?: (tx: Queries, taking: Taking) => Promise<void>
}

/** Reserves room in the pool of a server, which is taken with the commit. */
export type Reserve = Parameters<Parameters<Capacity['reserving']>[1]>[1]
