import type { Queries } from '../database/database.ts'
import { guard } from './guard.ts'
import { findServer, getServer, lockServer, updateServer } from './store.ts'
import type { ServerTable } from './tables.ts'

/**
 * Locks a server to change what it has.
 * @returns undefined where it is gone, or is not the one that is meant
 * @throws ApiError operation_in_progress
 */
async function lockToChange(
  tx: Queries,
  serverId: string,
  isMeant: (server: ServerTable) => boolean,
): Promise<ServerTable | undefined> {
  const server = await lockServer(tx, serverId)
  if (!server || !isMeant(server)) return undefined
  await guard(tx, server, 'update')
  return server
}

/** Access to the rows of servers for the features below: api/app.ts hands it to them. */
export const serverRows = {
  find: findServer,
  get: getServer,
  lock: lockServer,
  lockToChange,
  update: updateServer,
}
