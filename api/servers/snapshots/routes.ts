import Type from 'typebox'
import { atLimit } from '../../accounts/quotas.ts'
import { accountProblems } from '../../accounts/schema.ts'
import { billingProblems } from '../../billing/schema.ts'
import { catalogProblems } from '../../catalog/schema.ts'
import { listOf, paged, pagingQuery } from '../../http/contract/paging.ts'
import { found } from '../../http/contract/problem.ts'
import { type Route, route, type SetHeader } from '../../http/contract/route.ts'
import { OPERATION } from '../../operations/schema.ts'
import { Backup, Snapshot, snapshotProblems } from '../../snapshots/schema.ts'
import { findSnapshot, listSnapshots, snapshotQuota } from '../../snapshots/snapshots.ts'
import type { SnapshotTable } from '../../snapshots/tables.ts'
import { backupView, snapshotView } from '../../snapshots/view.ts'
import { accepted, conflict, STATE_ERRORS } from '../operation-replies.ts'
import { type RebuildRoutesOptions, replacingDisk } from '../rebuild/routes.ts'
import { serverLoader } from '../rows.ts'
import { serverProblems } from '../schema.ts'
import { RestoreRequest, SnapshotCreate } from './schema.ts'
import { restore, takeSnapshot } from './snapshots.ts'

export function copyRoutes(options: RebuildRoutesOptions): Route[] {
  return [takeRoute(options), restoreRoute(options), backupsRoute(options)]
}

function backupsRoute({ db }: RebuildRoutesOptions): Route {
  return route({
    id: 'listServerBackups',
    method: 'GET',
    path: '/servers/:server_id/backups',
    scope: 'servers:read',
    tag: 'Backups',
    summary: 'List the backups of a server',
    description:
      'Newest first. `GET /backups` also lists those of servers that were deleted in the last days.',
    params: { server_id: serverProblems.server_not_found },
    load: serverLoader(db),
    query: Type.Object(pagingQuery),
    reply: { 200: listOf(Backup) },
    run: (call) =>
      paged(
        call,
        (page) =>
          listSnapshots(db, call.actor.accountId, { server_id: call.loaded.server_id }, page, 'backup'),
        backupView,
      ),
  })
}

function takeRoute(options: RebuildRoutesOptions): Route {
  const shown = (row: SnapshotTable, setHeader: SetHeader) => {
    setHeader('location', `/v1/snapshots/${row.snapshot_id}`)
    return snapshotView(row)
  }
  return route({
    id: 'createSnapshot',
    method: 'POST',
    path: '/snapshots',
    scope: 'servers:write',
    tag: 'Snapshots',
    summary: 'Make a snapshot of a server',
    description:
      'Copies the disk of a running or stopped server as it is at one moment, while it keeps running. Meanwhile no other operation can begin on the server, except a forced stop or its deletion, which cancel the snapshot. It is billed by the GB of the copy once it is available, and stays when the server is deleted.',
    body: SnapshotCreate,
    reply: { 202: Snapshot },
    examples: {
      202: {
        status: 'creating',
        operation_id: OPERATION,
        size_gb: null,
        kind: null,
        bytes: null,
        consistency: null,
        price_month_rub: '0.00',
      },
    },
    problems: {
      server_state_conflict: conflict('snapshot', 'error'),
      quota_exceeded: atLimit(snapshotQuota),
      not_supported: { feature: 'snapshots' },
    },
    errors: [
      ...STATE_ERRORS,
      accountProblems.quota_exceeded,
      billingProblems.insufficient_balance,
      catalogProblems.not_supported,
      snapshotProblems.snapshot_not_found,
    ],
    run: async ({ actor, body, remember, setHeader }) =>
      shown(await takeSnapshot(options, actor, body, remember), setHeader),
    recover: async ({ actor, setHeader }, snapshotId) =>
      shown(
        found(
          await findSnapshot(options.db, actor.accountId, snapshotId),
          snapshotProblems.snapshot_not_found,
        ),
        setHeader,
      ),
  })
}

function restoreRoute(options: RebuildRoutesOptions): Route {
  return route({
    id: 'restoreServer',
    method: 'POST',
    path: '/servers/:server_id/restore',
    scope: 'servers:write',
    tag: 'Servers',
    summary: 'Return the disk of a server to a snapshot or a backup',
    description:
      'The disk becomes as it was in the snapshot or backup, with its host keys, users and passwords; everything written since is lost. The server is powered off once the copy is known to be there, and runs afterwards, also if it was stopped. Refused while `delete_protection` is set.',
    ...replacingDisk(options, 'restore'),
    body: RestoreRequest,
    run: async ({ actor, loaded, body, remember, setHeader }) =>
      accepted((await restore(options, actor, loaded, body, remember)).operation, setHeader),
  })
}
