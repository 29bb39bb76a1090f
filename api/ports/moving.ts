import { v7 as uuid } from 'uuid'
import type { Queries } from '../database/database.ts'
import { record } from '../events/outbox.ts'
import { noteEnded } from './ended.ts'
import { requirePortQuota } from './ports.ts'
import { portView } from './view.ts'

/**
 * Gives the ports of a stopped server to another account, whose row is locked. The ports get new ids but keep their
 * numbers, so that `berthd trace` knows who had them when.
 * @param host the name or address that customers connect to
 * @throws ApiError quota_exceeded
 */
export async function movePorts(
  tx: Queries,
  serverId: string,
  { to, host, now }: { to: string; host: string; now: number },
): Promise<void> {
  const rows = await tx.deleteFrom('ports').where('server_id', '=', serverId).returningAll().execute()
  await noteEnded(tx, rows, now)
  // A port that was to close at the next start has closed: the machine is off.
  const moved = rows
    .filter(({ status }) => status !== 'closing')
    .map((row) => ({ ...row, port_id: uuid(), account_id: to, created_at: now }))
  const published = moved.filter(({ is_system }) => is_system === 0)
  if (published.length > 0) await requirePortQuota(tx, to, published.length)
  if (moved.length > 0) await tx.insertInto('ports').values(moved).execute()
  const shown = (type: 'port.deleted' | 'port.created', all: typeof rows) =>
    all
      .filter(({ is_system, status }) => is_system === 0 && status !== 'closing')
      .map((row) => ({ accountId: row.account_id, type, data: portView(row, host), at: now }))
  await record(tx, [...shown('port.deleted', rows), ...shown('port.created', moved)])
}
