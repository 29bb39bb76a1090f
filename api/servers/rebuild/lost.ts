import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import type { Stock } from '../../drivers/module.ts'
import type { Offsite } from '../../snapshots/offsite.ts'
import { newestCopy } from '../../snapshots/queries.ts'
import { holdSnapshot } from '../../snapshots/snapshots.ts'
import type { SnapshotTable } from '../../snapshots/tables.ts'
import { leaveVolumes } from '../../volumes/attachments.ts'
import { begin } from '../begin.ts'
import { machinesOf } from '../queries.ts'
import { isBusy } from '../states.ts'
import { lockServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'

export interface BringOptions {
  db: Database
  clock: Clock
  offsite: Offsite
}

/** A server that has lost its disk, or may have: its member of the cluster does not answer. */
export interface Lost {
  server_id: string
  account_id: string
  name: string
  /**
   * `begun`: the server is being restored; `no_copy`: no copy exists; `busy`: an operation is in progress;
   * `away`: its member does not answer, so the server may be running, and is left alone.
   */
  outcome: 'begun' | 'no_copy' | 'busy' | 'away'
  /** When its copy was made. */
  copied_at: number | null
}

/**
 * Begins to restore all servers of a host or cluster that have lost their disk, each from its newest copy
 * there or off site. Each ends in its earlier status: running, stopped or suspended. Lost volumes are
 * detached, as they have no copy.
 * @param look lists the host's disk or the cluster; the rows are read first, so that machines made meanwhile
 * do not count as lost
 */
export async function bringBack(
  options: BringOptions,
  pool: string,
  look: () => Promise<Stock>,
): Promise<Lost[]> {
  const { db } = options
  const rows = await machinesOf(db, pool)
  const stock = await look()
  const lost: Lost[] = []
  const isWhole = (id: string) => stock.machines.get(id) === true && !stock.away?.has(id)
  for (const row of rows.filter(({ server_id }) => !isWhole(server_id))) {
    const { server_id, account_id, name } = row
    if (stock.away?.has(server_id)) {
      lost.push({ server_id, account_id, name, outcome: 'away', copied_at: null })
      continue
    }
    const isThere = (copy: SnapshotTable) =>
      stock.snapshots.get(copy.snapshot_id) === true || options.offsite.has(copy)
    const copy = await newestCopy(db, server_id, isThere)
    // A server that was never completed has no disk to lose.
    if (!copy && !row.has_disk) continue
    const outcome = copy ? await beginRestore(options, server_id, copy, stock) : 'no_copy'
    lost.push({ server_id, account_id, name, outcome, copied_at: copy?.created_at ?? null })
  }
  return lost
}

function beginRestore(
  { db, clock }: BringOptions,
  serverId: string,
  { snapshot_id }: SnapshotTable,
  { volumes }: Stock,
): Promise<'begun' | 'busy' | 'no_copy'> {
  return db.transaction().execute(async (tx) => {
    const now = clock.now()
    const server = await lockServer(tx, serverId)
    if (!server || isBusy(server)) return 'busy'
    const copy = await holdSnapshot(tx, server.account_id, snapshot_id)
    if (!copy) return 'no_copy'
    await leaveVolumes(tx, serverId, now, (id) => !volumes.has(id))
    const { template_id, username, ssh_keys, password, instance_id } = copy
    const origin = { template_id, source_id: snapshot_id }
    const login = { ...origin, username, ssh_keys, password, user_data: server.user_data }
    const data = { login, instance_id, ...restOf(server) }
    const change = { snapshot_id, status_reason: server.status_reason }
    await begin(tx, server, 'restore', data, { now, change })
    return 'begun'
  })
}

/** A server that was off stays off, and one that was suspended stays suspended. */
function restOf({ status, suspended_from }: ServerTable) {
  if (status === 'suspended')
    return { start_on_create: false, suspend: suspended_from ?? ('stopped' as const) }
  return status === 'stopped' ? { start_on_create: false } : {}
}
