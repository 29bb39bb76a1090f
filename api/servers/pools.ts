import { moveUsage } from '../catalog/usage.ts'
import type { Database } from '../database/database.ts'
import type { DriverName } from '../drivers/modules/modules.ts'
import { presentServers } from './queries.ts'
import { moveServers } from './store.ts'

/** The pool of the default driver, from the time before pools had the names of their drivers. */
const UNNAMED = 'local'

/** Returns the ids of servers whose pool does not name its driver. */
export async function unnamedPool(db: Database): Promise<string[]> {
  const rows = await presentServers(db).where('pool', '=', UNNAMED).execute()
  return rows.map(({ server_id }) => server_id)
}

/** Moves those servers and their reservations to a driver's pool. */
export async function namePool(db: Database, driver: DriverName): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await moveUsage(tx, UNNAMED, driver)
    await moveServers(tx, UNNAMED, driver)
  })
}
