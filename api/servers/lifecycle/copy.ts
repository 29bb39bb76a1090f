import type { SnapshotState } from '../../drivers/snapshots.ts'
import { again, done, fail, type Procedure, type Step } from '../../operations/procedure.ts'
import { finishSnapshot } from '../../snapshots/snapshots.ts'
import type { SnapshotData } from '../operations.ts'
import { lockServer, updateServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import type { ProcedureOptions } from './spec.ts'

const ASK_MS = 1_000

const FAILURES: Record<Extract<SnapshotState, { state: 'failed' }>['code'], string> = {
  disk_full: 'The host of the server has no room for the snapshot. Try again later.',
  failed: 'The disk of the server could not be copied. Try again.',
}

/** Copies the disk of a server; its machine may turn off meanwhile. */
export function copyStep({ drivers, log }: ProcedureOptions): Step<SnapshotData, ServerTable> {
  return async ({ operation_id, data }, _signal, { server_id, pool }) => {
    const state = await drivers.at(pool).snapshot(server_id, data.snapshot_id)
    if (state.state === 'copying') return again(ASK_MS, Math.min(99, Math.floor(state.progress * 100)))
    if (state.state === 'failed') {
      log.error({ operation_id, server_id, reason: state.message }, 'a snapshot could not be made')
      return fail(state.code, FAILURES[state.code])
    }
    const { bytes, diskGb, consistency } = state
    return done({ made: { bytes, diskGb, consistency } })
  }
}

export function copyConcluder({
  clock,
  catalog,
}: ProcedureOptions): Procedure<SnapshotData, ServerTable>['conclude'] {
  return async ({ subject_id, data: { snapshot_id, made } }, outcome) =>
    async (tx) => {
      const now = clock.now()
      const server = await lockServer(tx, subject_id)
      if (server?.copying === snapshot_id) await updateServer(tx, server, { copying: null, updated_at: now })
      await finishSnapshot(
        tx,
        catalog,
        snapshot_id,
        outcome.status === 'succeeded' && made ? made : null,
        now,
      )
    }
}
