import { letGo } from '../addresses/addresses.ts'
import type { Queries } from '../database/database.ts'
import { BACKUPS_KEPT_MS, expireBackups } from '../snapshots/backups.ts'
import { begin, type Started } from './begin.ts'
import type { ServerTable } from './tables.ts'

/** Begins to delete a server, whose row is locked, and releases its addresses. Its backups stay for some days. */
export async function beginDelete(tx: Queries, server: ServerTable, now: number): Promise<Started> {
  await letGo(tx, server, now)
  await expireBackups(tx, server, now + BACKUPS_KEPT_MS, now)
  const change = { ipv4: null, ipv6: null, copying: null, backup_due_at: null }
  return begin(tx, server, 'delete', {}, { now, change })
}
