import type { SnapshotState } from '../../drivers/snapshots.ts'
import { again, done, fail, type Procedure, type Step } from '../../operations/procedure.ts'
import { BACKUPS_KEPT_MS, finishBackup } from '../../snapshots/backups.ts'
import { finishSnapshot } from '../../snapshots/snapshots.ts'
import { yieldTurns } from '../backup-turns.ts'
import { nextWindow } from '../backup-window.ts'
import type { SnapshotData } from '../operations.ts'
import { isUsingSnapshot } from '../queries.ts'
import { lockServer, updateServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import type { ProcedureOptions } from './spec.ts'

const ASK_MS = 1_000

const FAILURES: Record<Extract<SnapshotState, { state: 'failed' }>['code'], string> = {
  disk_full: 'The host of the server has no room for the snapshot. Try again later.',
  slow: 'The disk of the server took too long to copy. Stop the server, or let it write less, and try again.',
  failed: 'The disk of the server could not be copied. Try again.',
}

/** Copies the disk of a server; its machine may turn off meanwhile. */
export function copyStep({ drivers, log }: ProcedureOptions): Step<SnapshotData, ServerTable> {
  return async ({ operation_id, data }, _signal, { server_id, pool }) => {
    const state = await drivers.at(pool).snapshot(server_id, data.snapshot_id, data.base_id)
    if (state.state === 'copying') return again(ASK_MS, Math.min(99, Math.floor(state.progress * 100)))
    if (state.state === 'failed') {
      log.error({ operation_id, server_id, reason: state.message }, 'a snapshot could not be made')
      return fail(state.code === 'slow' ? 'copy_too_slow' : state.code, FAILURES[state.code])
    }
    const { state: _ready, ...made } = state
    return done({ made })
  }
}

/** Ends a backup, after which the next one is due. */
export function backupConcluder({
  clock,
}: ProcedureOptions): Procedure<SnapshotData, ServerTable>['conclude'] {
  return async (operation, outcome) => {
    const { subject_id, data } = operation
    const { snapshot_id, made } = data
    return async (tx) => {
      const now = clock.now()
      const server = await lockServer(tx, subject_id)
      const hour = server?.backup_hour ?? null
      if (server?.backing_up === snapshot_id) {
        const backup_due_at = hour === null ? null : nextWindow(hour, now)
        await updateServer(tx, server, { backing_up: null, backup_due_at, updated_at: now })
        if (outcome.status === 'failed') await yieldTurns(tx, server, operation, now)
      }
      await finishBackup(tx, snapshot_id, {
        made: outcome.status === 'succeeded' && made ? made : null,
        expiresAt: hour === null ? now + BACKUPS_KEPT_MS : null,
        isUsing: isUsingSnapshot,
        now,
      })
    }
  }
}

export function copyConcluder({
  clock,
  catalog,
}: ProcedureOptions): Procedure<SnapshotData, ServerTable>['conclude'] {
  return async (operation, outcome) => {
    const { subject_id, data } = operation
    const { snapshot_id, made } = data
    return async (tx) => {
      const now = clock.now()
      const server = await lockServer(tx, subject_id)
      if (server?.copying === snapshot_id) {
        await updateServer(tx, server, { copying: null, updated_at: now })
        if (outcome.status === 'failed') await yieldTurns(tx, server, operation, now)
      }
      await finishSnapshot(
        tx,
        catalog,
        snapshot_id,
        outcome.status === 'succeeded' && made ? made : null,
        now,
      )
    }
  }
}
