import type { Queries } from '../../database/database.ts'
import { labelsColumn } from '../../database/labels.ts'
import type { Actor } from '../../http/contract/auth.ts'
import { isoTime } from '../../http/contract/fields.ts'
import { bodyIssue, found, invalid } from '../../http/contract/problem.ts'
import type { Remember } from '../../http/contract/route.ts'
import { fullBackup } from '../../snapshots/backups.ts'
import { holdSnapshot, insertSnapshot, requireSnapshot } from '../../snapshots/snapshots.ts'
import type { SnapshotTable } from '../../snapshots/tables.ts'
import { begin, beginCopy, type Started } from '../begin.ts'
import { requireCover } from '../cover.ts'
import { guard, requireUnprotected } from '../guard.ts'
import { type RebuildOptions, requireMeans } from '../rebuild/rebuild.ts'
import { serverProblems } from '../schema.ts'
import { findServer, lockServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import type { RestoreRequest, SnapshotCreate } from './schema.ts'

/**
 * Begins to copy the disk of a server, which keeps its status.
 * @throws ApiError validation_failed, not_supported, server_state_conflict, operation_in_progress, quota_exceeded,
 *   insufficient_balance
 */
export async function takeSnapshot(
  { db, clock, catalog, capacity, engine }: RebuildOptions,
  { accountId }: Actor,
  { server_id, name, labels }: SnapshotCreate,
  remember: Remember,
): Promise<SnapshotTable> {
  const missing = () => invalid([bodyIssue('server_id', 'not_found', `No such server: ${server_id}.`)])
  const candidate = await findServer(db, accountId, server_id)
  if (!candidate) throw missing()
  await capacity.require(candidate, 'snapshots')
  const row = await db.transaction().execute(async (tx) => {
    const server = await lockServer(tx, server_id)
    if (!server) throw missing()
    await guard(tx, server, 'snapshot')
    const now = clock.now()
    await requireSnapshot(tx, { catalog, requireCover }, server, now)
    const made = await copyDisk(tx, server, 'snapshot', name, now, labels)
    await remember(tx, made.snapshot_id)
    return made
  })
  engine.wake()
  return row
}

/** Begins to copy the disk of a server, whose row is locked. */
export async function copyDisk(
  tx: Queries,
  server: ServerTable,
  type: 'snapshot' | 'backup',
  name: string | undefined,
  now: number,
  labels?: Readonly<Record<string, string>>,
): Promise<SnapshotTable> {
  const { account_id, server_id } = server
  const base = type === 'backup' ? await fullBackup(tx, server_id) : null
  const begun = await beginCopy(tx, server, type, base, now)
  const copied = {
    ...systemOf(server),
    ...begun,
    account_id,
    server_id,
    item_type: type,
    ...labelsColumn(labels),
  }
  return insertSnapshot(tx, { ...copied, name: name ?? nameFor(server, now) }, now)
}

/** The place of a server's disk, and the login of the system on it. */
function systemOf({ zone_slug, pool, disk_gb, template_id, username, ...server }: ServerTable) {
  const { ssh_keys, password } = server
  const instance_id = server.instance_id ?? server.server_id
  return { zone_slug, pool, disk_gb, template_id, username, ssh_keys, password, instance_id }
}

/** Minutes are precise enough: a server makes one snapshot at a time. */
function nameFor({ name }: ServerTable, now: number): string {
  return `${name} ${isoTime(now).slice(0, 16).replace('T', ' ')}`
}

/**
 * Begins to return a server to one of its snapshots or backups. All else of the server stays.
 * @throws ApiError validation_failed, server_not_found, server_state_conflict, operation_in_progress, delete_protected,
 *   insufficient_balance, not_supported
 */
export async function restore(
  options: RebuildOptions,
  { accountId }: Actor,
  { server_id }: ServerTable,
  { snapshot_id, backup_id = snapshot_id }: RestoreRequest,
  remember: Remember,
): Promise<Started> {
  const { db, clock, engine } = options
  const started = await db.transaction().execute(async (tx) => {
    const server = found(await lockServer(tx, server_id), serverProblems.server_not_found)
    await guard(tx, server, 'restore')
    requireUnprotected(server)
    await requireMeans(tx, options, server, 'restore')
    // The account is locked before the snapshot, as in orders. The schema requires one of the two ids.
    const snapshot = await holdSnapshot(tx, accountId, backup_id as string)
    const field = snapshot_id === undefined ? 'backup_id' : 'snapshot_id'
    if (snapshot?.server_id !== server_id || snapshot.pool !== server.pool) {
      const detail = `The server has no available snapshot or backup ${backup_id}.`
      throw invalid([bodyIssue(field, 'not_found', detail)])
    }
    const { template_id, snapshot_id: source_id, username, ssh_keys, password, instance_id } = snapshot
    const login = { template_id, source_id, username, ssh_keys, password, user_data: server.user_data }
    const change = { snapshot_id: source_id }
    const begun = await begin(tx, server, 'restore', { login, instance_id }, { now: clock.now(), change })
    await remember(tx, begun.operation.operation_id)
    return begun
  })
  engine.wake()
  return started
}
