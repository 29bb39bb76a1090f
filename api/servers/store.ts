import { sql } from 'kysely'
import type { Queries } from '../database/database.ts'
import type { ServerTable } from '../database/schema.ts'
import type { Page } from '../http/paging.ts'
import type { ServerQuery } from './schema.ts'

export function insertServer(tx: Queries, row: ServerTable) {
  return tx.insertInto('servers').values(row).execute()
}

/** A server of the account that is not gone. */
export function findServer(
  db: Queries,
  accountId: string,
  serverId: string,
): Promise<ServerTable | undefined> {
  return alive(db)
    .selectAll()
    .where('server_id', '=', serverId)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
}

/** Any server, also one that is gone: for operations, which know no account. */
export function getServer(db: Queries, serverId: string): Promise<ServerTable> {
  return db.selectFrom('servers').selectAll().where('server_id', '=', serverId).executeTakeFirstOrThrow()
}

/** The server's row, which no other transaction changes until this one ends. */
export async function lockServer(tx: Queries, serverId: string): Promise<ServerTable | undefined> {
  return tx
    .updateTable('servers')
    .set((eb) => ({ status: eb.ref('status') }))
    .where('server_id', '=', serverId)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

export function updateServer(tx: Queries, serverId: string, change: Partial<ServerTable>) {
  return tx.updateTable('servers').set(change).where('server_id', '=', serverId).execute()
}

export async function listServers(db: Queries, accountId: string, filter: ServerQuery, page: Page) {
  let matching = alive(db).where('account_id', '=', accountId)
  for (const field of [
    'project_id',
    'zone_slug',
    'status',
    'plan_type',
    'cpu_type',
    'template_id',
    'name',
  ] as const) {
    const wanted = filter[field]
    if (wanted !== undefined) matching = matching.where(field, '=', wanted)
  }
  if (filter.label !== undefined) matching = matching.where(labelMatches(filter.label))
  const isDescending = (filter.sort ?? '-created_at').startsWith('-')
  const direction = isDescending ? 'desc' : 'asc'
  // Ids are made in order of time, so that the newest first is a walk along an index.
  const byName = filter.sort?.endsWith('name') ?? false
  const sorted = byName ? matching.orderBy('name', direction) : matching
  const [items, { total }] = await Promise.all([
    sorted.selectAll().orderBy('server_id', direction).limit(page.limit).offset(page.offset).execute(),
    matching.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ])
  return { items, total }
}

/** Labels are JSON text: a whole `"name":"value"` or `"name":` in it can only be a label, as quotes inside are escaped. */
function labelMatches(label: string) {
  const [name = '', value] = label.split(/=(.*)/s)
  const fragment =
    value === undefined ? `${JSON.stringify(name)}:` : `${JSON.stringify(name)}:${JSON.stringify(value)}`
  // LIKE would ignore case on one of the two databases; replace is exact on both.
  return sql<boolean>`replace(labels, ${fragment}, '') <> labels`
}

/** The servers whose machines should be on. */
export function listRunning(db: Queries) {
  return alive(db).select('server_id').where('status', '=', 'running').execute()
}

/** Which of these ids belong to servers that are not gone. */
export async function knownServers(db: Queries, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await alive(db).select('server_id').where('server_id', 'in', ids).execute()
  return new Set(rows.map((row) => row.server_id))
}

export async function isPortFree(db: Queries, port: number): Promise<boolean> {
  const row = await db
    .selectFrom('servers')
    .select('server_id')
    .where('ssh_port', '=', port)
    .executeTakeFirst()
  return row === undefined
}

export async function usedPorts(db: Queries): Promise<Set<number>> {
  const rows = await db.selectFrom('servers').select('ssh_port').where('ssh_port', 'is not', null).execute()
  return new Set(rows.map((row) => row.ssh_port ?? 0))
}

function alive(db: Queries) {
  return db.selectFrom('servers').where('deleted_at', 'is', null)
}
