import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import type { Driver, MachineState } from '../../drivers/driver.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { ApiError } from '../../http/contract/problem.ts'
import type { Engine } from '../../operations/engine.ts'
import type { Peers } from '../../processes/peers.ts'
import { returnVolume } from '../../volumes/attachments.ts'
import { volumesAmong } from '../../volumes/queries.ts'
import { begin } from '../begin.ts'
import { serverRows } from '../rows.ts'
import { offIn } from '../states.ts'
import { deletedServers, listOff, lockServer } from '../store.ts'

/** By then, commands of a process that was cut off have reached their machines, or never will. */
export const LATE_MS = 3600_000

/** After this time a volume's last operation is over, and no list of volumes predates its end. */
const SETTLED_MS = 600_000

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
  // Old deletions count too: perhaps no process has run since the command arrived.
  for (const server_id of await deletedServers(db, pool, [...machines.keys()])) {
    // The machine may have been deleted since it was listed.
    if ((await driver.inspect(server_id)).power === 'absent') continue
    log.warn({ server_id }, 'a machine appeared after its server was deleted; it is deleted')
    await driver.destroy(server_id)
  }
  await sweepVolumes(pool, machines, { db, clock, driver, log })
  for (let after: string | undefined = ''; after !== undefined; ) {
    const off: Off[] = await listOff(db, pool, { after, limit: PAGE })
    for (const server of off)
      if (machines.get(server.server_id)?.power === 'running')
        await turnOff({ db, clock, driver, log }, server.server_id, server.updated_at)
    after = off.length < PAGE ? undefined : off.at(-1)?.server_id
  }
}

/**
 * Removes volumes that a late command created after their deletion: nobody has them or pays for them. Returns
 * moved volumes to the servers of their rows.
 */
async function sweepVolumes(
  pool: string,
  machines: Map<string, MachineState>,
  { db, clock, driver, log }: Pick<LeftoverOptions, 'db' | 'clock' | 'log'> & { driver: Driver },
): Promise<void> {
  const listed = await driver.listVolumes()
  const volumes = await volumesAmong(db, pool, [...listed.keys()])
  const settled = clock.now() - SETTLED_MS
  const wrong = volumes.filter(({ volume_id, server_id, deleted_at, status, updated_at }) => {
    if (deleted_at !== null) return true
    const isQuiet = (status === 'available' || status === 'attached') && updated_at <= settled
    // A server without a machine gets its volumes with the next one.
    return isQuiet && listed.get(volume_id) !== server_id && (server_id === null || machines.has(server_id))
  })
  if (wrong.length === 0) return
  // Some volumes may have changed since they were listed.
  const still = await driver.listVolumes()
  for (const volume of wrong) {
    const { volume_id, server_id, deleted_at } = volume
    const holder = still.get(volume_id)
    if (holder === undefined) continue
    if (deleted_at !== null) {
      log.warn({ volume_id }, 'a volume appeared after it was deleted; it is removed')
      await driver.removeVolume(volume_id)
    } else if (holder !== server_id) {
      log.warn({ volume_id, server_id, holder }, 'a volume is not where it was attached; it is brought back')
      await returnVolume({ db, clock, serverRows }, volume, holder).catch((error: unknown) => {
        // A later sweep handles the volume, once the server's operation has ended.
        if (!(error instanceof ApiError)) throw error
      })
    }
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
