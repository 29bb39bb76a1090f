import { sql } from 'kysely'
import { billedAddresses } from '../addresses/queries.ts'
import type { BilledItem } from '../billing/rates.ts'
import type { Queries } from '../database/database.ts'
import { billedSnapshots } from '../snapshots/queries.ts'
import { billedVolumes } from '../volumes/queries.ts'
import { poweredStatuses, watchedIn } from './states.ts'
import type { ServerTable } from './tables.ts'
import { LISTED } from './view.ts'

// Queries for the SQL of other features, which need not know the table of servers: api/app.ts hands them over.

const isGone = sql<number>`CASE WHEN deleted_at IS NULL AND status <> 'deleting' THEN 0 ELSE 1 END`

/** All servers, including deleted ones and those being deleted. */
export function allServers(db: Queries) {
  return db
    .selectFrom('servers')
    .select(['server_id', 'account_id', 'name', 'project_id', isGone.as('is_gone')])
}

/** Returns the projects of some of an account's servers, including recently deleted ones. */
export function projectsOf(db: Queries, accountId: string, serverIds: readonly string[]) {
  return allServers(db).where('account_id', '=', accountId).where('server_id', 'in', serverIds).execute()
}

/** Returns the names of some of an account's servers, including recently deleted ones. */
export async function serverNames(
  db: Queries,
  accountId: string,
  serverIds: readonly string[],
): Promise<Map<string, string>> {
  if (serverIds.length === 0) return new Map()
  const own = db.selectFrom('servers').select(['server_id', 'name']).where('account_id', '=', accountId)
  const rows = await own.where('server_id', 'in', serverIds).execute()
  return new Map(rows.map(({ server_id, name }) => [server_id, name]))
}

/** Returns the names of servers of any account, including recently deleted ones; for operators. */
export async function namesOfServers(
  db: Queries,
  serverIds: readonly string[],
): Promise<Map<string, string>> {
  if (serverIds.length === 0) return new Map()
  const rows = await allServers(db).where('server_id', 'in', serverIds).execute()
  return new Map(rows.map(({ server_id, name }) => [server_id, name]))
}

/**
 * Everything that may be billed, including deleted objects: servers and their backups, public addresses, snapshots
 * and volumes.
 */
export function billedItems(db: Queries) {
  const projects = (within: Queries) =>
    within.selectFrom('servers').select(['server_id', 'account_id', 'project_id'])
  return db
    .selectFrom('servers')
    .select(['server_id as item_id', 'account_id', 'name', 'project_id', isGone.as('is_gone')])
    .unionAll(billedAddresses(db, projects))
    .unionAll(billedBackups(db))
    .unionAll(billedSnapshots(db, (within) => projects(within).where('deleted_at', 'is', null)))
    .unionAll(billedVolumes(db, projects))
}

/** All backups of a server are billed as one item. */
function billedBackups(db: Queries) {
  return db
    .selectFrom('servers')
    .select(({ ref }) => [
      ref('backup_item').$notNull().as('item_id'),
      'account_id',
      'name',
      'project_id',
      isGone.as('is_gone'),
    ])
    .where('backup_item', 'is not', null)
}

/** The fields by which billing names a server. */
export function billedServer({
  server_id,
  account_id,
}: Pick<ServerTable, 'server_id' | 'account_id'>): BilledItem {
  return { item_type: 'server', item_id: server_id, account_id }
}

/** Servers that are not deleted, including those being deleted. */
export function presentServers(db: Queries) {
  return db.selectFrom('servers').select('server_id').where('deleted_at', 'is', null)
}

/** The accounts that have servers in these zones. */
export function accountsIn(db: Queries, zones: readonly string[]) {
  return db
    .selectFrom('servers')
    .select('account_id')
    .where('deleted_at', 'is', null)
    .where('zone_slug', 'in', zones)
}

/** The zones in which an account has servers. */
export async function zonesOf(db: Queries, accountId: string): Promise<string[]> {
  const zones = presentServers(db).clearSelect().select('zone_slug').distinct()
  const rows = await zones.where('account_id', '=', accountId).execute()
  return rows.map(({ zone_slug }) => zone_slug)
}

/** Queries the zones, templates and presets of existing servers, which the catalogue must keep. */
export function orderedServers(db: Queries) {
  return db
    .selectFrom('servers')
    .select(['zone_slug', 'cpu_type', 'template_id', 'preset_id'])
    .distinct()
    .where('deleted_at', 'is', null)
}

/** The ISOs in the drives of servers, by zone. */
export function isosInDrives(db: Queries) {
  return db
    .selectFrom('servers')
    .select(['zone_slug', 'iso_id'])
    .distinct()
    .where('iso_id', 'is not', null)
    .where('deleted_at', 'is', null)
}

/** The numbers of servers and accounts that pay the prices of a zone and CPU type. */
export function payersOf(db: Queries) {
  return db
    .selectFrom('servers')
    .select((eb) => [
      'zone_slug',
      'cpu_type',
      eb.fn.countAll<number>().as('servers'),
      eb.fn.count<number>('account_id').distinct().as('accounts'),
    ])
    .where('deleted_at', 'is', null)
    .groupBy(['zone_slug', 'cpu_type'])
}

/** The servers of all accounts, with the columns of lists. */
export function listedServers(db: Queries) {
  return presentServers(db).select([...LISTED, 'account_id'])
}

/** A server of any account, unless it is deleted: for operators. */
export function findOfAny(db: Queries, serverId: string): Promise<ServerTable | undefined> {
  return presentServers(db).selectAll().where('server_id', '=', serverId).executeTakeFirst()
}

/** The servers of all accounts as an operator's commands print them. */
export function operatedServers(db: Queries) {
  return presentServers(db).select([
    'account_id',
    'name',
    'status',
    'status_reason',
    'zone_slug',
    'cpu',
    'ram_mb',
    'disk_gb',
    'ssh_port',
    'delete_protection',
    'created_at',
  ])
}

/** Queries the servers that are not deleted, with their pools. */
export function pooledServers(db: Queries) {
  return presentServers(db).select('pool')
}

/** Servers whose machines may be on. */
export function poweredServers(db: Queries) {
  return pooledServers(db).select('account_id').where('status', 'in', poweredStatuses)
}

/** Queries servers whose machines may be on, with the sizes by which meter readings are divided. */
export function meteredServers(db: Queries) {
  return poweredServers(db).select('cpu')
}

/** The servers of a pool whose machines should be on. */
export function runningServers(db: Queries, pool: string) {
  return presentServers(db).where('status', 'in', watchedIn).where('pool', '=', pool)
}

/** The servers of an account, with the columns that decide which firewalls they have. */
export function protectedServers(db: Queries, accountId: string) {
  return presentServers(db)
    .select(['account_id', 'zone_slug', 'pool', 'labels'])
    .where('account_id', '=', accountId)
    .execute()
}

/** True if a server is about to get a disk from a snapshot. */
export async function isUsingSnapshot(db: Queries, snapshotId: string): Promise<boolean> {
  const user = await presentServers(db)
    .where('snapshot_id', '=', snapshotId)
    .where((eb) => eb.or([eb('has_disk', '=', 0), eb('status', 'in', ['restoring', 'rebuilding'])]))
    .limit(1)
    .executeTakeFirst()
  return user !== undefined
}

/** Returns the names of the servers that have this ISO in their drive. */
export async function withIso(db: Queries, isoId: string): Promise<string[]> {
  const rows = await presentServers(db).select('name').where('iso_id', '=', isoId).orderBy('name').execute()
  return rows.map(({ name }) => name)
}

/** The servers that should have a machine on a host, unless an operation is in progress. */
export function machinesOf(db: Queries, pool: string) {
  return db
    .selectFrom('servers')
    .select(['server_id', 'account_id', 'name', 'status', 'copying', 'backing_up', 'has_disk'])
    .where('pool', '=', pool)
    .where('deleted_at', 'is', null)
    .orderBy('server_id')
    .execute()
}

/** Returns the pools of the given servers, without deleted servers. */
export async function poolsOfServers(db: Queries, ids: readonly string[]) {
  return ids.length === 0 ? [] : presentServers(db).select('pool').where('server_id', 'in', ids).execute()
}
