import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Catalog } from '../catalog/file.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { DriverError } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { SnapshotState } from '../drivers/snapshots.ts'
import { again, done, fail, type Runner, runner, type Step } from '../operations/procedure.ts'
import type { ImportData } from './images.ts'
import { finishSnapshot } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'

export interface ImportOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  drivers: Drivers
  log: Logger
}

const ASK_MS = 1_000

/** The pause before the next call to a host that did not answer. */
const HOST_MS = 5_000

/** The procedure that makes images. */
export function imageProcedures(options: ImportOptions): Record<'import', Runner> {
  const { db, clock, catalog } = options
  return {
    import: runner<ImportData, SnapshotTable | undefined>({
      steps: { import: importStep(options) },
      read: ({ subject_id }) =>
        db.selectFrom('snapshots').selectAll().where('snapshot_id', '=', subject_id).executeTakeFirst(),
      conclude: async ({ subject_id, data }, outcome) => {
        const made = outcome.status === 'succeeded' ? (data.made ?? null) : null
        const reason = outcome.status === 'failed' ? outcome.message : null
        return (tx) => finishSnapshot(tx, catalog, subject_id, made, clock.now(), reason)
      },
    }),
  }
}

const FAILURES: Record<Extract<SnapshotState, { state: 'failed' }>['code'], string> = {
  disk_full: 'The host has no room for the image. Try again later.',
  failed: 'The image could not be made. Try again.',
}

function importStep({ drivers, log }: ImportOptions): Step<ImportData, SnapshotTable | undefined> {
  return async ({ operation_id, subject_id, data }, _signal, row) => {
    if (!row || row.deleted_at !== null) return fail('image_deleted', 'The image was deleted meanwhile.')
    try {
      const state = await drivers.at(row.pool).importImage(subject_id, { snapshotId: data.snapshot_id })
      if (state.state === 'copying') return again(ASK_MS, Math.min(99, Math.floor(state.progress * 100)))
      if (state.state === 'failed') {
        if (state.code === 'unusable') return fail('image_unusable', state.message)
        log.error({ operation_id, image_id: subject_id, reason: state.message }, 'an image could not be made')
        return fail(state.code, FAILURES[state.code])
      }
      const { bytes, diskGb, consistency } = state
      return done({ made: { bytes, diskGb, consistency } })
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      if (error.code === 'not_found') return fail('snapshot_lost', 'The snapshot is no longer on its host.')
      if (error.code !== 'unavailable') throw error
      log.warn({ err: error, operation_id }, 'a host does not answer; waiting for it')
      return again(HOST_MS)
    }
  }
}
