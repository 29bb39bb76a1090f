import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { DriverError } from '../../drivers/driver.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Offsite } from '../../snapshots/offsite.ts'
import {
  recordVerified,
  unverifiedCopies,
  verifyAt,
  verifyLater,
  verifySharing,
} from '../../snapshots/verification.ts'
import { postponeBackups } from '../store.ts'

/** The most copies of a pool that one round verifies. A host reads one at a time. */
const AT_ONCE = 20
/** The pause before the next check of a snapshot whose copy off site is missing or incomplete. */
const SENT_MS = 3600_000
/** The time after which a copy is tried again that its host could not read for another reason than silence. */
const FAULT_MS = 3600_000

interface VerifyOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  log: Logger
  offsite: Offsite
}

/** Verifies copies that are due, each pool separately, so that a driver that is down delays no other. */
export async function verifyCopies(options: VerifyOptions): Promise<void> {
  const { drivers, log } = options
  await Promise.all(
    drivers.pools.map((pool) =>
      verifyIn(pool, options).catch((error: unknown) =>
        log.error({ err: error, pool }, 'the copies of a pool could not be verified; trying again'),
      ),
    ),
  )
}

async function verifyIn(pool: string, options: VerifyOptions): Promise<void> {
  const { db, clock, log } = options
  for (const copy of await unverifiedCopies(db, pool, clock.now(), AT_ONCE))
    try {
      if (!(await verify(pool, options, copy))) return
    } catch (error) {
      if (error instanceof DriverError && error.code === 'unavailable') throw error
      const { snapshot_id } = copy
      log.error(
        { err: error, snapshot_id },
        'a copy of a disk could not be verified; trying again in an hour',
      )
      await verifyAt(db, snapshot_id, clock.now() + FAULT_MS)
    }
}

/** @returns false if its host is still reading it */
async function verify(
  pool: string,
  { db, clock, drivers, log, offsite }: VerifyOptions,
  { snapshot_id, server_id, ...row }: Awaited<ReturnType<typeof unverifiedCopies>>[number],
): Promise<boolean> {
  const kept = await drivers.at(pool).verifySnapshot(snapshot_id)
  const found = kept.state === 'exported' ? await compareSent(offsite, { snapshot_id, ...row }) : kept
  if (found.state === 'reading') return false
  if (found.state === 'later') {
    await verifyAt(db, snapshot_id, clock.now() + found.pauseMs)
    return true
  }
  if (found.state === 'damaged')
    log.error({ snapshot_id, server_id, reason: found.message }, 'a copy of a disk is damaged')
  const now = clock.now()
  if (found.state === 'damaged' && offsite.has(row)) {
    // The copy off site replaces the damaged one once somebody needs it.
    await drivers.at(pool).removeSnapshot(snapshot_id)
    await verifyLater(db, snapshot_id, now)
    return true
  }
  if (found.state === 'damaged') await verifySharing(db, { snapshot_id, ...row }, now)
  await db.transaction().execute(async (tx) => {
    const isLost = await recordVerified(tx, snapshot_id, found, now)
    // Another backup replaces the lost one as soon as possible.
    if (isLost) await postponeBackups(tx, { server_id }, now)
  })
  return true
}

/**
 * Verifies the copy off site of a snapshot that can only be exported. A damaged copy is sent again, since the
 * host has the snapshot.
 */
async function compareSent(
  offsite: Offsite,
  row: { snapshot_id: string; offsite_at: number | null; offsite_place: string | null },
): Promise<{ state: 'reading' } | { state: 'intact' } | { state: 'later'; pauseMs: number }> {
  if (!offsite.has(row)) return { state: 'later', pauseMs: SENT_MS }
  const { state } = await offsite.check(row.snapshot_id)
  return state === 'failed' ? { state: 'later', pauseMs: SENT_MS } : { state }
}
