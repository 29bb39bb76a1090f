import { expect } from 'vitest'
import { systemClock } from '../../../api/clock.ts'
import { storeOnPostgres } from '../../../api/commands/shared-store.ts'
import type { Database } from '../../../api/database/database.ts'
import { machinesIn } from '../../../api/drivers/simulator/machine.ts'
import { Simulator } from '../../../api/drivers/simulator/simulator.ts'
import { volumesIn } from '../../../api/drivers/simulator/volumes.ts'
import type { Customers } from './customers.ts'
import { brokenAtRest, brokenLedgers } from './invariants.ts'
import { PORTS } from './orders.ts'

/** A dead process's leftovers are gone within a quarter of this time on an idle machine. */
const PATIENCE_MS = 120_000

/**
 * Waits until everything that the customers have begun is finished, and they have received all events. They must have
 * stopped sending requests.
 * @param position the position of the last event that they had received before
 * @returns a sentence for each broken promise
 */
export async function brokenAfter(db: Database, customers: Customers, position: number): Promise<string[]> {
  const active = db.selectFrom('operations').selectAll().where('status', 'in', ['pending', 'running'])
  await expect.poll(() => active.execute(), { timeout: PATIENCE_MS }).toEqual([])
  // The events of the latest order are published and received.
  const published = async () => (await eventsFrom(db, position))?.length
  await expect.poll(async () => (await published()) === customers.heard.length).toBe(true)
  expect(customers.heard).toEqual(await eventsFrom(db, position))
  expect(customers.heard.length).toBeGreaterThan(customers.accepted.length)
  const rows = await db.selectFrom('servers').select(['server_id', 'name']).execute()
  const ids = new Set(rows.map(({ server_id }) => server_id))
  const simulator = new Simulator({
    ...{ clock: systemClock, shared: machinesIn(storeOnPostgres(db)) },
    volumes: volumesIn(storeOnPostgres(db)),
  })
  // A command of a process that was cut off may have arrived late: the service looks for such machines each minute.
  const isSwept = async () => {
    const live = await db.selectFrom('servers').select('server_id').where('deleted_at', 'is', null).execute()
    const known = new Set(live.map(({ server_id }) => server_id))
    return [...(await simulator.list()).keys()].every((id) => known.has(id))
  }
  await expect.poll(isSwept, { timeout: PATIENCE_MS }).toBe(true)
  const machines = await simulator.list()
  return [
    ...customers.strange,
    ...customers.accepted.filter((id) => !ids.has(id)).map((id) => `${id} was lost`),
    ...(new Set(rows.map(({ name }) => name)).size < rows.length ? ['a server was created twice'] : []),
    ...(await brokenAtRest({ db, machines, volumes: await simulator.listVolumes(), ports: PORTS })),
    ...(await brokenLedgers(db)),
  ]
}

/** Returns the ids of the events after a position; null if a position is missing. */
async function eventsFrom(db: Database, after: number): Promise<string[] | null> {
  const events = db.selectFrom('events').select(['event_id', 'position']).orderBy('position')
  const unseen = await events
    .where((eb) => eb.or([eb('position', '>', after), eb('position', 'is', null)]))
    .execute()
  const isWhole = unseen.every(({ position }, index) => position === after + index + 1)
  return isWhole ? unseen.map(({ event_id }) => event_id) : null
}
