import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Offsite } from '../../snapshots/offsite.ts'
import { recordVerified, unverifiedCopies, verifyLater, verifySharing } from '../../snapshots/verification.ts'
import { postponeBackups } from '../store.ts'

/** Copies of a pool that one look may verify. A host reads one at a time. */
const AT_ONCE = 20

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

async function verifyIn(pool: string, { db, clock, drivers, log, offsite }: VerifyOptions): Promise<void> {
  for (const { snapshot_id, server_id, ...row } of await unverifiedCopies(db, pool, clock.now(), AT_ONCE)) {
    const found = await drivers.at(pool).verifySnapshot(snapshot_id)
    if (found.state === 'reading') return
    if (found.state === 'damaged')
      log.error({ snapshot_id, server_id, reason: found.message }, 'a copy of a disk is damaged')
    const now = clock.now()
    if (found.state === 'damaged' && offsite.has(row)) {
      // The copy off site takes its place, once somebody needs it.
      await drivers.at(pool).removeSnapshot(snapshot_id)
      await verifyLater(db, snapshot_id, now)
      continue
    }
    if (found.state === 'damaged') await verifySharing(db, { snapshot_id, ...row }, now)
    await db.transaction().execute(async (tx) => {
      const isLost = await recordVerified(tx, snapshot_id, found, now)
      // Another one takes its place as soon as possible.
      if (isLost) await postponeBackups(tx, { server_id }, now)
    })
  }
}
