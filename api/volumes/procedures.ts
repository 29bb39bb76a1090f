import { changeRate } from '../billing/rates.ts'
import { releaseCapacity } from '../catalog/usage.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { DriverError } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { findActive, subjectIsGone } from '../operations/operations.ts'
import {
  done,
  fail,
  type Operation,
  type Outcome,
  type Runner,
  runner,
  type Step,
} from '../operations/procedure.ts'
import type { OperationTable } from '../operations/tables.ts'
import { DETACHED } from './attachments.ts'
import { plans, type VolumeOperation, type VolumeOperations, volumeSubject } from './operations.ts'
import { getVolume, lockVolume, updateVolume } from './store.ts'
import type { VolumeTable } from './tables.ts'
import { billedVolume } from './volumes.ts'

interface ProcedureOptions {
  db: Database
  clock: Clock
  drivers: Drivers
}

/** The effect of a type of operation on its volume, and the consequences of its result. */
interface Parts<Data> {
  step: (operation: Operation<Data>, volume: VolumeTable) => Promise<ReturnType<typeof fail> | undefined>
  /** Procedure.endsDone. */
  endsDone?: boolean
  /** Undoes a step that failed halfway, if it can. */
  undo?: (operation: Operation<Data>, volume: VolumeTable) => Promise<void>
  end: (tx: Queries, volume: VolumeTable, outcome: Outcome, operation: Operation<Data>) => Promise<void>
}

export function volumeProcedures(options: ProcedureOptions): Record<VolumeOperation, Runner> {
  return {
    attach_volume: procedure(options, 'attach_volume', attaching(options)),
    detach_volume: procedure(options, 'detach_volume', detaching(options)),
    resize_volume: procedure(options, 'resize_volume', growing(options)),
    delete_volume: procedure(options, 'delete_volume', removing(options)),
  }
}

function procedure<Type extends VolumeOperation>(
  { db }: ProcedureOptions,
  type: Type,
  { step, endsDone = false, undo, end }: Parts<VolumeOperations[Type]>,
): Runner {
  const run: Step<VolumeOperations[Type], VolumeTable> = async (operation, _signal, volume) =>
    (await step(operation, volume).catch(unsupported)) ?? done()
  return runner<VolumeOperations[Type], VolumeTable>({
    steps: { [plans[type].step]: run },
    endsDone,
    read: ({ subject_id }: OperationTable) => getVolume(db, subject_id),
    conclude: async (operation, outcome, read) => {
      if (undo && outcome.status === 'failed' && (await isHeld(db, operation)))
        await undo(operation, read).catch(() => {})
      return async (tx) => {
        const volume = await lockVolume(tx, operation.subject_id)
        if (volume) await end(tx, volume, outcome, operation)
      }
    },
  })
}

/** True if the process still holds the operation: another one may have carried it out since its lease ran out. */
async function isHeld(db: Database, operation: Omit<OperationTable, 'data'>): Promise<boolean> {
  const active = await findActive(db, operation)
  return active?.operation_id === operation.operation_id && active.lease_owner === operation.lease_owner
}

function unsupported(error: unknown) {
  if (!(error instanceof DriverError && error.code === 'unsupported')) throw error
  return fail(
    'not_supported',
    'The server can neither get nor give back this volume while it runs. Stop it, try again, and start it afterwards.',
  )
}

function attaching({ clock, drivers }: ProcedureOptions): Parts<VolumeOperations['attach_volume']> {
  return {
    step: async (_operation, { volume_id, pool, size_gb, server_id }) => {
      const driver = drivers.at(pool)
      await driver.volume(volume_id, size_gb)
      // A server is deleted only after the operations on its volumes.
      if (server_id !== null) await driver.attachVolume(volume_id, server_id)
      return undefined
    },
    undo: async ({ server_id, data }, { volume_id, pool }) => {
      if (server_id !== null && !data.returns) await drivers.at(pool).detachVolume(volume_id, server_id)
    },
    end: async (tx, volume, { status }, { data }) => {
      const isKept = status === 'succeeded' || data.returns
      const after = isKept ? ({ status: 'attached' } as const) : DETACHED
      await updateVolume(tx, volume, { ...after, updated_at: clock.now() })
    },
  }
}

function detaching({ clock, drivers }: ProcedureOptions): Parts<object> {
  return {
    step: async ({ server_id }, { volume_id, pool }) => {
      if (server_id !== null) await drivers.at(pool).detachVolume(volume_id, server_id)
      return undefined
    },
    end: async (tx, volume, { status }) => {
      const isFree = status === 'succeeded' || volume.server_id === null
      const after = isFree ? DETACHED : ({ status: 'attached' } as const)
      await updateVolume(tx, volume, { ...after, updated_at: clock.now() })
    },
  }
}

function growing({ clock, drivers }: ProcedureOptions): Parts<VolumeOperations['resize_volume']> {
  return {
    step: async (_operation, { volume_id, pool, size_gb }) => {
      await drivers.at(pool).volume(volume_id, size_gb)
      return undefined
    },
    end: async (tx, volume, { status }, { data: { before } }) => {
      if (status === 'succeeded') return
      const now = clock.now()
      await changeRate(tx, billedVolume(volume), before, now)
      await updateVolume(tx, volume, { ...before, updated_at: now })
      await giveBack(tx, volume, volume.size_gb - before.size_gb)
    },
  }
}

function removing({ clock, drivers }: ProcedureOptions): Parts<object> {
  return {
    // The volume may be deleted already without the host's confirmation; a new one in its place would be
    // empty.
    endsDone: true,
    step: async (_operation, { volume_id, pool }) => {
      await drivers.at(pool).removeVolume(volume_id)
      return undefined
    },
    end: async (tx, volume) => {
      const now = clock.now()
      await updateVolume(tx, volume, { deleted_at: now, updated_at: now }, 'volume.deleted')
      await subjectIsGone(tx, volumeSubject(volume.volume_id), now)
      await giveBack(tx, volume, volume.size_gb)
    },
  }
}

function giveBack(tx: Queries, { pool }: VolumeTable, disk_gb: number): Promise<void> {
  return releaseCapacity(tx, pool, { cpu: 0, ram_mb: 0, disk_gb })
}
