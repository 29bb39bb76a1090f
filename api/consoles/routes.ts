import type { Capacity } from '../catalog/capacity.ts'
import { catalogProblems } from '../catalog/schema.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { DriverError } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { soon } from '../drivers/soon.ts'
import type { Actor } from '../http/contract/auth.ts'
import { isoTime } from '../http/contract/fields.ts'
import { ApiError } from '../http/contract/problem.ts'
import { PREFIX, type Route, route } from '../http/contract/route.ts'
import { operationProblems } from '../operations/schema.ts'
import { recordConsole } from '../servers/events.ts'
import { guard } from '../servers/guard.ts'
import { serverLoader } from '../servers/rows.ts'
import { serverProblems } from '../servers/schema.ts'
import { allowedIn } from '../servers/states.ts'
import type { ServerTable } from '../servers/tables.ts'
import type { Consoles } from './consoles.ts'
import { CONSOLE_PATH, CONSOLE_PROTOCOL, ConsoleTicket } from './schema.ts'

export interface ConsoleOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  capacity: Capacity
  consoles: Consoles
}

export function consoleRoute(options: ConsoleOptions): Route {
  const { db, clock, consoles } = options
  const url = PREFIX + CONSOLE_PATH
  const issued = async (
    actor: Actor,
    server: ServerTable,
    setHeader: (name: string, value: string) => void,
  ) => {
    setHeader('location', url)
    const { ticket, expiresAt } = await consoles.issue({ actor, server })
    return { url, ticket, expires_at: isoTime(expiresAt) }
  }
  return route({
    id: 'openConsole',
    method: 'POST',
    path: '/servers/:server_id/console',
    scope: 'servers:write',
    tag: 'Servers',
    summary: 'Open the serial console of a server',
    description: `Returns a ticket for one WebSocket, to be opened within a minute by \`new WebSocket(url, ["${CONSOLE_PROTOCOL}", ticket])\`: binary messages carry the guest's output, starting with its last 64 KiB, and your input. The console works without a network in the guest, stays open during reboots, and closes when the token of this request expires or is revoked; a server that is off has no console.`,
    params: { server_id: serverProblems.server_not_found },
    load: serverLoader(db),
    reply: { 201: ConsoleTicket },
    isOfToken: true,
    problems: {
      server_state_conflict: { current_status: 'stopped', allowed_statuses: allowedIn.console },
      not_supported: { feature: 'console' },
    },
    errors: [
      catalogProblems.not_supported,
      serverProblems.server_state_conflict,
      operationProblems.operation_in_progress,
    ],
    run: async ({ actor, loaded, remember, setHeader, report }) => {
      await guard(db, loaded, 'console')
      await requireConsole(options, loaded)
      const reply = await issued(actor, loaded, setHeader)
      await db.transaction().execute(async (tx) => {
        await recordConsole(tx, loaded, clock.now())
        await remember(tx, loaded.server_id)
      })
      report({ event: 'secret_shown', objectId: loaded.server_id })
      return reply
    },
    recover: async ({ actor, loaded, setHeader }) => issued(actor, loaded, setHeader),
  })
}

/** Checks that the machine has a console; by its status it is on or about to be. @throws ApiError not_supported */
async function requireConsole(
  { drivers, capacity, clock }: ConsoleOptions,
  server: ServerTable,
): Promise<void> {
  await capacity.require(server, 'console')
  const asked = drivers
    .at(server.pool)
    .openConsole(server.server_id)
    .then(
      (console) => void console.close(),
      (error: unknown) => {
        if (error instanceof DriverError && error.code === 'unsupported') return 'unsupported'
        throw error
      },
    )
  if ((await soon(clock, asked)) !== 'unsupported') return
  throw new ApiError(
    catalogProblems.not_supported,
    'The server was started by an earlier version, which gave it no console. Stop and start it.',
    { feature: 'console' },
  )
}
