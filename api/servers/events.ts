import type { Queries } from '../database/database.ts'
import { type Event, record } from '../events/outbox.ts'
import { findActive } from '../operations/operations.ts'
import type { OperationTable } from '../operations/tables.ts'
import { serverSubject } from './operations.ts'
import { isBusy } from './states.ts'
import type { ServerTable } from './tables.ts'
import { serverData } from './view.ts'

/** Columns whose changes are reported as events, because customers set them, pay for them or should know about them. */
const DESCRIBED = [
  'name',
  'description',
  'project_id',
  'labels',
  'delete_protection',
  'networks',
  'plan_type',
  'preset_id',
  'cpu',
  'ram_mb',
  'disk_gb',
  'template_id',
  'source_id',
  'ssh_keys',
  'price_month',
  'price_hour',
  'backup_hour',
  'delete_at',
  'ipv4',
  'ipv6',
] as const satisfies readonly (keyof ServerTable)[]

/** Records the event of a new server, once its first operation exists. */
export function recordCreated(tx: Queries, server: ServerTable, operation: OperationTable): Promise<void> {
  return record(tx, [eventOf('server.created', server, serverData(server, operation))])
}

/** Records the events of a change, if customers can see it. */
export async function recordChange(
  tx: Queries,
  before: ServerTable,
  after: ServerTable,
  begun?: OperationTable,
): Promise<void> {
  // The event shows the row from before the deletion, which removes the keys.
  if (after.deleted_at !== null)
    return record(tx, [eventOf('server.deleted', after, serverData(before, null))])
  const hasStatus = before.status !== after.status
  const isUpdated = DESCRIBED.some((field) => before[field] !== after[field])
  if (!hasStatus && !isUpdated) return
  const findBegun = async () => begun ?? (await findActive(tx, serverSubject(after.server_id)))
  const active = isBusy(after) ? await findBegun() : null
  const view = serverData(after, active)
  const change = { ...view, old_status: before.status, new_status: after.status }
  await record(tx, [
    ...(hasStatus ? [eventOf('server.status_changed', after, change)] : []),
    ...(isUpdated ? [eventOf('server.updated', after, view)] : []),
  ])
}

/** Records the move of a server to another account: as a deletion in the old account and a creation in the new one. */
export function recordMoved(tx: Queries, before: ServerTable, after: ServerTable): Promise<void> {
  return record(tx, [
    { ...eventOf('server.deleted', before, serverData(before, null)), at: after.updated_at },
    eventOf('server.created', after, serverData(after, null)),
  ])
}

/** Records that the serial console or the screen was opened. */
export async function recordConsole(tx: Queries, server: ServerTable, at: number): Promise<void> {
  const active = isBusy(server) ? await findActive(tx, serverSubject(server.server_id)) : null
  await record(tx, [{ ...eventOf('server.console_opened', server, serverData(server, active)), at }])
}

function eventOf(type: Event['type'], server: ServerTable, data: Event['data']): Event {
  return { accountId: server.account_id, type, data, at: server.updated_at }
}
