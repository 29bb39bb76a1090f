import type { Queries } from '../database/database.ts'
import { moduleOfPool } from '../drivers/modules/modules.ts'
import { MOST_VOLUMES } from '../drivers/volumes.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import type { OperationTable } from '../operations/tables.ts'
import { beginOperation, refuseBusy } from './operations.ts'
import { volumeProblems } from './schema.ts'
import { lockVolume, updateVolume, volumesOf } from './store.ts'
import type { VolumeTable } from './tables.ts'
import type { VolumesOptions } from './volumes.ts'

/** The columns of a server that concern its volumes. */
interface VolumeServer {
  server_id: string
  account_id: string
  zone_slug: string
  pool: string
}

export interface VolumeAttachmentsOptions extends VolumesOptions {
  serverRows: {
    /** @throws ApiError operation_in_progress */
    lockToChange(
      tx: Queries,
      serverId: string,
      isMeant: (server: VolumeServer) => boolean,
    ): Promise<VolumeServer | undefined>
  }
}

/**
 * Attaches a volume to a server of its zone.
 * @throws ApiError validation_failed, not_supported, volume_not_found, volume_in_use, operation_in_progress
 */
export async function attachVolume(
  { db, clock, capacity, engine, serverRows }: VolumeAttachmentsOptions,
  { volume_id, account_id, zone_slug, pool }: VolumeTable,
  server_id: string,
  remember: Remember,
): Promise<OperationTable> {
  await capacity.require({ pool, zone_slug }, 'volumes')
  const device = moduleOfPool(pool)?.volumePath(volume_id) ?? null
  const operation = await db.transaction().execute(async (tx) => {
    const isMeant = (server: VolumeServer) => server.account_id === account_id && server.pool === pool
    const server = await serverRows.lockToChange(tx, server_id, isMeant)
    if (server?.zone_slug !== zone_slug)
      throw invalid([bodyIssue('server_id', 'not_found', `No such server in ${zone_slug}.`)])
    const row = found(await lockVolume(tx, volume_id), volumeProblems.volume_not_found)
    await refuseBusy(tx, row)
    if (row.server_id !== null)
      throw new ApiError(
        volumeProblems.volume_in_use,
        row.server_id === server_id
          ? 'The server already has this volume.'
          : 'Another server has the volume. Detach it first.',
      )
    if ((await volumesOf(tx, server_id)).length >= MOST_VOLUMES) {
      const message = `The server already has ${MOST_VOLUMES} volumes, the maximum.`
      throw invalid([bodyIssue('server_id', 'above_maximum', message)])
    }
    const now = clock.now()
    const begun = await beginOperation(tx, 'attach_volume', { ...row, server_id }, {}, now)
    await updateVolume(tx, row, { status: 'attaching', server_id, device, updated_at: now })
    await remember(tx, begun.operation_id)
    return begun
  })
  engine.wake()
  return operation
}

/** @throws ApiError volume_not_found, volume_detached, operation_in_progress */
export async function detachVolume(
  { db, clock, engine }: VolumesOptions,
  { volume_id }: VolumeTable,
  remember: Remember,
): Promise<OperationTable> {
  const operation = await db.transaction().execute(async (tx) => {
    const row = found(await lockVolume(tx, volume_id), volumeProblems.volume_not_found)
    await refuseBusy(tx, row)
    if (row.server_id === null)
      throw new ApiError(volumeProblems.volume_detached, 'No server has the volume.')
    const now = clock.now()
    const begun = await beginOperation(tx, 'detach_volume', row, {}, now)
    await updateVolume(tx, row, { status: 'detaching', updated_at: now })
    await remember(tx, begun.operation_id)
    return begun
  })
  engine.wake()
  return operation
}

/** The volumes that a server has: its machine gets them before it starts. */
export async function attachedTo(db: Queries, serverId: string): Promise<VolumeTable[]> {
  return (await volumesOf(db, serverId)).filter(({ status }) => status === 'attached')
}

/** True if an operation attaches a volume to a server, or detaches one. */
export async function isAttaching(db: Queries, serverId: string): Promise<boolean> {
  return (await volumesOf(db, serverId)).some(({ status }) => status !== 'attached')
}

/**
 * Begins to return a volume to the place in its row, after a late command moved it.
 * @param volume the row as it was read; nothing happens if it changed since
 * @param holder the server whose machine has the volume; null: none has it
 * @throws ApiError operation_in_progress
 */
export async function returnVolume(
  { db, clock, serverRows }: Pick<VolumeAttachmentsOptions, 'db' | 'clock' | 'serverRows'>,
  { volume_id, server_id, updated_at }: Pick<VolumeTable, 'volume_id' | 'server_id' | 'updated_at'>,
  holder: string | null,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (server_id !== null && !(await serverRows.lockToChange(tx, server_id, () => true))) return
    const row = await lockVolume(tx, volume_id)
    if (row?.updated_at !== updated_at) return
    await refuseBusy(tx, row)
    const now = clock.now()
    const [type, status] =
      server_id === null
        ? (['detach_volume', 'detaching'] as const)
        : (['attach_volume', 'attaching'] as const)
    await beginOperation(tx, type, { ...row, server_id: server_id ?? holder }, { returns: true }, now)
    await updateVolume(tx, row, { status, updated_at: now })
  })
}

/**
 * Takes all volumes from a server that is gone. They stay in the account.
 * @param isMeant selects the volumes to detach
 */
export async function leaveVolumes(
  tx: Queries,
  serverId: string,
  now: number,
  isMeant: (volumeId: string) => boolean = () => true,
): Promise<void> {
  for (const { volume_id } of await volumesOf(tx, serverId)) {
    const row = isMeant(volume_id) ? await lockVolume(tx, volume_id) : undefined
    if (row?.server_id === serverId) await updateVolume(tx, row, { ...DETACHED, updated_at: now })
  }
}

/** The columns of a volume that no server has. */
export const DETACHED = { status: 'available', server_id: null, device: null } as const
