import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Peers } from '../../processes/peers.ts'
import { undiscardedSnapshots } from '../../snapshots/queries.ts'
import { discarded } from '../../snapshots/snapshots.ts'
import { LATE_MS } from './leftovers.ts'

interface DiscardOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  peers: Peers
  log: Logger
}

/** Removes snapshots from their hosts that are deleted or could not be made. */
export async function discardSnapshots(options: DiscardOptions): Promise<void> {
  const { drivers, peers, log } = options
  await Promise.all(
    drivers.pools
      .filter((pool) => peers.holdsPool(pool))
      .map((pool) =>
        discardIn(pool, options).catch((error: unknown) =>
          log.error({ err: error, pool }, 'the snapshots of a pool could not be removed; trying again'),
        ),
      ),
  )
}

async function discardIn(pool: string, { db, clock, drivers }: DiscardOptions): Promise<void> {
  const now = clock.now()
  for (const { snapshot_id, updated_at } of await undiscardedSnapshots(db, pool)) {
    await drivers.at(pool).removeSnapshot(snapshot_id)
    // Until then, a process that was cut off may begin the copy again.
    if (updated_at < now - LATE_MS) await discarded(db, snapshot_id)
  }
}
