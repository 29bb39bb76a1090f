import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { DriverError } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { SnapshotState } from '../drivers/snapshots.ts'
import { ApiError } from '../http/contract/problem.ts'
import { again, done, fail, next, type Runner, runner, type Step } from '../operations/procedure.ts'
import { DownloadError, type DownloadOptions, fetchPart } from './download.ts'
import { announceFile } from './image-files.ts'
import type { ImportData } from './images.ts'
import type { Offsite } from './offsite.ts'
import { type Covering, finishSnapshot } from './snapshots.ts'
import type { SnapshotTable } from './tables.ts'

export interface ImportOptions extends Covering {
  db: Database
  clock: Clock
  drivers: Drivers
  downloads: DownloadOptions
  log: Logger
  offsite: Offsite
}

const ASK_MS = 1_000

/** The pause before the next call to a host that did not answer. */
const HOST_MS = 5_000

/** The procedure that makes images. */
export function imageProcedures(options: ImportOptions): Record<'import', Runner> {
  const { db, clock, catalog } = options
  return {
    import: runner<ImportData, SnapshotTable | undefined>({
      steps: { download: downloadStep(options), import: importStep(options) },
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
  slow: 'The image took too long to make. Try again.',
  failed: 'The image could not be made. Try again.',
}

/** The progress, in percent, at which a download is complete. */
const DOWNLOADED = 70
/** A remote server that does not answer gets this many tries for each part. */
const TRIES = 4

type ImportStep = Step<ImportData, SnapshotTable | undefined>

/** Fetches the next part of a file. */
function downloadStep(options: ImportOptions): ImportStep {
  const { db, clock, drivers, downloads, log } = options
  return async ({ operation_id, subject_id, data, attempt }, signal, row) => {
    if (!row || row.deleted_at !== null) return DELETED
    const { url = '', received = 0 } = data
    try {
      const { content, bytes, total, version } = await fetchPart(url, received, downloads, signal)
      const size = { content_bytes: total, now: clock.now() }
      if (received === 0) await db.transaction().execute((tx) => announceFile(tx, options, row, size))
      else if (total !== data.total || version !== data.version)
        return fail('image_unreachable', 'The file changed while it was fetched. Try again.')
      await drivers.at(row.pool).receive(subject_id, received, content)
      const end = received + bytes
      const progress = Math.floor((end / total) * DOWNLOADED)
      return next(end < total ? 'download' : 'import', progress, { received: end, total, version })
    } catch (error) {
      if (error instanceof ApiError) return fail(error.type.code, error.message)
      if (error instanceof DownloadError && (error.isLasting || attempt + 1 >= TRIES))
        return fail('image_unreachable', error.message)
      if (!(error instanceof DriverError)) throw error
      if (error.code === 'disk_full') return fail('disk_full', FAILURES.disk_full)
      // The host lost the beginning of the file.
      if (error.code === 'not_found') return next('download', 0, { received: 0 })
      return waitForHost(error, operation_id, log)
    }
  }
}

const DELETED = fail('image_deleted', 'The image was deleted meanwhile.')

/** @throws the error unless the host does not answer */
function waitForHost(error: DriverError, operation_id: string, log: Logger) {
  if (error.code !== 'unavailable') throw error
  log.warn({ err: error, operation_id }, 'a host does not answer; waiting for it')
  return again(HOST_MS)
}

/** The source of an image, for its driver. */
function sourceOf({ snapshot_id, sha256 = null, total }: ImportData, row: SnapshotTable) {
  if (snapshot_id !== undefined) return { snapshotId: snapshot_id }
  const isIso = row.item_type === 'iso'
  return { owner: row.account_id, bytes: total ?? Number(row.content_bytes), sha256, ...(isIso && { isIso }) }
}

/** Restores a snapshot to a host that has lost it. */
async function bringSource(offsite: Offsite, snapshotId: string) {
  const back = await offsite.bring(snapshotId)
  if (back.state === 'copying') return again(ASK_MS)
  if (back.state === 'failed' && back.code === 'unavailable') return again(HOST_MS)
  if (back.state === 'failed' && back.code === 'disk_full') return fail('disk_full', FAILURES.disk_full)
  return fail('snapshot_lost', 'The snapshot is no longer on its host.')
}

function importStep({ drivers, log, offsite }: ImportOptions): ImportStep {
  return async ({ operation_id, subject_id, data }, _signal, row) => {
    if (!row || row.deleted_at !== null) return DELETED
    try {
      const state = await drivers.at(row.pool).importImage(subject_id, sourceOf(data, row))
      if (state.state === 'copying') {
        const before = data.total === undefined ? 0 : DOWNLOADED
        return again(ASK_MS, Math.min(99, Math.floor(before + state.progress * (100 - before))))
      }
      if (state.state === 'failed') {
        if (state.code === 'unusable') return fail('image_unusable', state.message)
        log.error({ operation_id, image_id: subject_id, reason: state.message }, 'an image could not be made')
        return fail(state.code, FAILURES[state.code])
      }
      const { bytes, diskGb, consistency, base } = state
      return done({ made: { bytes, diskGb, consistency, ...(base && { base }) } })
    } catch (error) {
      if (!(error instanceof DriverError)) throw error
      if (error.code !== 'not_found') return waitForHost(error, operation_id, log)
      if (data.snapshot_id !== undefined) return bringSource(offsite, data.snapshot_id)
      return fail('file_lost', 'The uploaded file is no longer on its host. Upload it again.')
    }
  }
}
