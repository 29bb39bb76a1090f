import type { Actor } from '../http/contract/auth.ts'
import { listOf, paged } from '../http/contract/paging.ts'
import { found } from '../http/contract/problem.ts'
import { type Route, route } from '../http/contract/route.ts'
import { Snapshot, SnapshotQuery, SnapshotUpdate, snapshotProblems } from './schema.ts'
import {
  deleteSnapshot,
  findSnapshot,
  listSnapshots,
  type SnapshotsOptions,
  updateSnapshot,
} from './snapshots.ts'
import { snapshotView } from './view.ts'

const tag = 'Snapshots'
const path = '/snapshots'

export function snapshotRoutes(options: SnapshotsOptions): Route[] {
  return [listRoute(options), ...objectRoutes(options)]
}

function listRoute({ db }: SnapshotsOptions): Route {
  return route({
    id: 'listSnapshots',
    method: 'GET',
    path,
    scope: 'servers:read',
    tag,
    summary: 'List snapshots',
    description:
      'Returns the snapshots of the account, newest first, also those of deleted servers. `server_id` selects the snapshots of one server.',
    query: SnapshotQuery,
    reply: { 200: listOf(Snapshot) },
    run: (call) =>
      paged(call, (page) => listSnapshots(db, call.actor.accountId, call.query, page), snapshotView),
  })
}

function objectRoutes(options: SnapshotsOptions): Route[] {
  const object = {
    path: `${path}/:snapshot_id`,
    tag,
    params: { snapshot_id: snapshotProblems.snapshot_not_found },
    load: async ({ actor, params }: { actor: Actor; params: { snapshot_id: string } }) => {
      const row = await findSnapshot(options.db, actor.accountId, params.snapshot_id)
      return found(row, snapshotProblems.snapshot_not_found)
    },
  }
  return [
    route({
      id: 'getSnapshot',
      method: 'GET',
      ...object,
      scope: 'servers:read',
      summary: 'Get a snapshot',
      description: 'Returns the snapshot with its status, size and price. A deleted snapshot returns 404.',
      reply: { 200: Snapshot },
      run: async ({ loaded }) => snapshotView(loaded),
    }),
    route({
      id: 'updateSnapshot',
      method: 'PATCH',
      ...object,
      scope: 'servers:write',
      summary: 'Change a snapshot',
      description:
        'Its name and labels can be changed. They may be changed while the snapshot is being made.',
      body: SnapshotUpdate,
      reply: { 200: Snapshot },
      run: async ({ loaded, body }) => snapshotView(await updateSnapshot(options, loaded, body)),
    }),
    route({
      id: 'deleteSnapshot',
      method: 'DELETE',
      ...object,
      scope: 'servers:write',
      summary: 'Delete a snapshot',
      description:
        'Its billing ends at once. One that is still being made is canceled. Servers that were created or restored from it keep working.',
      reply: { 204: null },
      errors: [snapshotProblems.snapshot_in_use],
      run: ({ loaded }) => deleteSnapshot(options, loaded),
    }),
  ]
}
