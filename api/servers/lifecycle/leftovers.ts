import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import type { Driver } from '../../drivers/driver.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Engine } from '../../operations/engine.ts'
import type { Peers } from '../../processes/peers.ts'
import { deletedVolumes } from '../../volumes/queries.ts'
import { begin } from '../begin.ts'
import { offIn } from '../states.ts'
import { deletedServers, listOff, lockServer } from '../store.ts'

/** Commands of a process that was cut off have reached their machines by then, or never will. */
export const LATE_MS = 3600_000

/** The servers of a pool that are read at once. */
const PAGE = 1_000
type Off = Awaited<ReturnType<typeof listOff>>[number]

interface LeftoverOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  peers: Peers
  engine: Engine
  log: Logger
}

/**
 * Undoes commands that reached a machine too late. A process that is cut off from the database is declared dead, and
 * another one continues its operations. The last command of the first may still arrive after that.
 */
export async function endLeftovers(options: LeftoverOptions): Promise<void> {
  const { drivers, peers, engine, log } = options
  await Promise.all(
    drivers.pools
      .filter((pool) => peers.holdsPool(pool))
      .map((pool) =>
        endIn(pool, options).catch((error: unknown) =>
          log.error({ err: error, pool }, 'the machines of a pool could not be swept; trying again'),
        ),
      ),
  )
  engine.wake()
}

async function endIn(pool: string, { db, clock, drivers, log }: LeftoverOptions): Promise<void> {
  const driver = drivers.at(pool)
  const machines = await driver.list()
  // However long ago they were deleted: no process may have run since the command arrived.
  for (const server_id of await deletedServers(db, pool, [...machines.keys()])) {
    // It may have been deleted since it was listed.
    if ((await driver.inspect(server_id)).power === 'absent') continue
    log.warn({ server_id }, 'a machine appeared after its server was deleted; it is deleted')
    await driver.destroy(server_id)
  }
  await removeVolumes(pool, { db, driver, log })
  for (let after: string | undefined = ''; after !== undefined; ) {
    const off: Off[] = await listOff(db, pool, { after, limit: PAGE })
    for (const server of off)
      if (machines.get(server.server_id)?.power === 'running')
        await turnOff({ db, clock, driver, log }, server.server_id, server.updated_at)
    after = off.length < PAGE ? undefined : off.at(-1)?.server_id
  }
}

/** Removes volumes that were created after they were deleted: nobody has them, and nobody pays for them. */
async function removeVolumes(
  pool: string,
  { db, driver, log }: Pick<LeftoverOptions, 'db' | 'log'> & { driver: Driver },
): Promise<void> {
  const listed = await driver.listVolumes()
  const deleted = await deletedVolumes(db, pool, [...listed.keys()])
  if (deleted.length === 0) return
  // Some may have been removed since they were listed.
  const still = await driver.listVolumes()
  for (const volume_id of deleted.filter((id) => still.has(id))) {
    log.warn({ volume_id }, 'a volume appeared after it was deleted; it is removed')
    await driver.removeVolume(volume_id)
  }
}

/** Turns a machine off again, unless its server changed since `seenAt`. */
async function turnOff(
  { db, clock, driver, log }: Pick<LeftoverOptions, 'db' | 'clock' | 'log'> & { driver: Driver },
  serverId: string,
  seenAt: number,
): Promise<void> {
  // The list may be older than the server's last operation.
  if ((await driver.inspect(serverId)).power !== 'running') return
  await db.transaction().execute(async (tx) => {
    const server = await lockServer(tx, serverId)
    if (!server || !offIn.includes(server.status) || server.updated_at !== seenAt || server.copying) return
    log.warn({ server_id: serverId }, 'a machine is on although its server is off; it is turned off')
    const suspend = server.suspended_from ? { suspend: server.suspended_from } : {}
    const change = { status_reason: server.status_reason }
    await begin(tx, server, 'stop', { force: true, ...suspend }, { now: clock.now(), change })
  })
}
