import type { Queries } from '../database/database.ts'
import type { Actor } from '../http/contract/auth.ts'
import { found } from '../http/contract/problem.ts'
import { guard } from './guard.ts'
import { serverSubject } from './operations.ts'
import { isUsingSnapshot, withIso } from './queries.ts'
import { serverProblems } from './schema.ts'
import { findServer, getServer, lockServer, updateServer } from './store.ts'
import type { ServerTable } from './tables.ts'

/**
 * Locks a server to change its resources.
 * @returns undefined if the server is deleted, or not the intended one
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

/** Changes a server, unless it is deleted. */
async function update(tx: Queries, serverId: string, change: Partial<ServerTable>): Promise<void> {
  const server = await lockServer(tx, serverId)
  if (server) await updateServer(tx, server, change)
}

/** Access to the rows of servers for the features below: api/app.ts hands it to them. */
export const serverRows = {
  find: findServer,
  get: getServer,
  lock: lockServer,
  lockToChange,
  update,
  subject: serverSubject,
  isUsing: isUsingSnapshot,
  withIso,
}

/** Finds the server that a path names. */
export function serverLoader(db: Queries) {
  return async ({ actor, params }: { actor: Actor; params: { server_id: string } }) =>
    found(await findServer(db, actor.accountId, params.server_id), serverProblems.server_not_found)
}
export type ServerLoader = ReturnType<typeof serverLoader>
