import { letGo } from '../addresses/addresses.ts'
import type { Queries } from '../database/database.ts'
import { begin, type Started } from './begin.ts'
import type { ServerTable } from './tables.ts'

/** Begins to delete a server, whose row is locked, and releases its addresses. */
export async function beginDelete(tx: Queries, server: ServerTable, now: number): Promise<Started> {
  await letGo(tx, server, now)
  return begin(tx, server, 'delete', {}, { now, change: { ipv4: null, ipv6: null, copying: null } })
}
