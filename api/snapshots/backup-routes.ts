import { atLimit } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { billingProblems } from '../billing/schema.ts'
import type { Catalog } from '../catalog/file.ts'
import type { Queries } from '../database/database.ts'
import type { Actor } from '../http/contract/auth.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { found } from '../http/contract/problem.ts'
import { type Route, route, type SetHeader } from '../http/contract/route.ts'
import { keepBackup } from './backups.ts'
import { Backup, BackupKeep, BackupQuery, Snapshot, snapshotProblems } from './schema.ts'
import {
  deleteSnapshot,
  findSnapshot,
  listSnapshots,
  type SnapshotsOptions,
  snapshotQuota,
} from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'
import { backupView, snapshotView } from './view.ts'

const tag = 'Backups'
const path = '/backups'

export interface BackupRoutesOptions extends SnapshotsOptions {
  catalog: Catalog
  requireCover: (tx: Queries, accountId: string, added: number) => Promise<void>
}

export function backupRoutes(options: BackupRoutesOptions): Route[] {
  const { db } = options
  const object = {
    path: `${path}/:backup_id`,
    tag,
    params: { backup_id: snapshotProblems.backup_not_found },
    load: async ({ actor, params }: { actor: Actor; params: { backup_id: string } }) =>
      found(
        await findSnapshot(db, actor.accountId, params.backup_id, 'backup'),
        snapshotProblems.backup_not_found,
      ),
  }
  return [
    route({
      id: 'listBackups',
      method: 'GET',
      path,
      scope: 'servers:read',
      tag,
      summary: 'List backups',
      description:
        'Returns the backups of the account, newest first, also those of servers that were deleted in the last days. `server_id` selects the backups of one server.',
      query: BackupQuery,
      reply: { 200: listOf(Backup) },
      run: (call) =>
        paged(
          call,
          (page) => listSnapshots(db, call.actor.accountId, call.query, page, 'backup'),
          backupView,
        ),
    }),
    route({
      id: 'getBackup',
      method: 'GET',
      ...object,
      scope: 'servers:read',
      summary: 'Get a backup',
      description: 'Returns the backup with its status and size. A deleted backup returns 404.',
      reply: { 200: Backup },
      run: async ({ loaded }) => backupView(loaded),
    }),
    route({
      id: 'deleteBackup',
      method: 'DELETE',
      ...object,
      scope: 'servers:write',
      summary: 'Delete a backup',
      description:
        'One that is still being made is canceled, and made again soon. Servers that were created or restored from it keep working.',
      reply: { 204: null },
      errors: [snapshotProblems.snapshot_in_use],
      run: ({ loaded }) => deleteSnapshot(options, loaded),
    }),
    keepRoute(options, object),
  ]
}

function keepRoute(
  options: BackupRoutesOptions,
  object: {
    path: string
    tag: string
    params: { backup_id: typeof snapshotProblems.backup_not_found }
  },
): Route {
  const { db, clock } = options
  const shown = (row: SnapshotTable, setHeader: SetHeader) => {
    setHeader('location', `/v1/snapshots/${row.snapshot_id}`)
    return snapshotView(row)
  }
  return route({
    id: 'keepBackup',
    method: 'POST',
    ...object,
    path: `${object.path}/snapshot`,
    // A repeated request finds the backup as a snapshot.
    load: async ({ actor: { accountId }, params: { backup_id } }) =>
      found(
        (await findSnapshot(db, accountId, backup_id, 'backup')) ??
          (await findSnapshot(db, accountId, backup_id)),
        snapshotProblems.backup_not_found,
      ),
    scope: 'servers:write',
    summary: 'Turn a backup into a snapshot',
    description:
      'The backup leaves the list of backups and becomes a snapshot of the same id. It stays until it is deleted, and is billed like any other.',
    body: BackupKeep,
    reply: { 201: Snapshot },
    problems: { quota_exceeded: atLimit(snapshotQuota) },
    errors: [
      accountProblems.quota_exceeded,
      billingProblems.insufficient_balance,
      snapshotProblems.backup_not_ready,
      snapshotProblems.snapshot_not_found,
    ],
    run: async ({ loaded, body, remember, setHeader }) => {
      const kept = await db.transaction().execute(async (tx) => {
        const row = await keepBackup(tx, options, loaded, { name: body.name, now: clock.now() })
        await remember(tx, row.snapshot_id)
        return row
      })
      return shown(kept, setHeader)
    },
    recover: async ({ actor, setHeader }, snapshotId) => {
      const row = await findSnapshot(db, actor.accountId, snapshotId)
      return shown(found(row, snapshotProblems.snapshot_not_found), setHeader)
    },
  })
}
