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
import type { Admission } from './tickets.ts'

export interface ConsoleOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  capacity: Capacity
  consoles: Consoles
}

type Kind = Admission['kind']

const texts = {
  console: {
    summary: 'Open the serial console of a server',
    about: `binary messages carry the guest's output, starting with its last 64 KiB, and your input. The console works without a network in the guest, stays open during reboots, and closes when the token of this request expires or is revoked; a server that is off has no console.`,
    old: 'The server was started by an earlier version, which gave it no console. Stop and start it.',
  },
  screen: {
    summary: 'Open the screen of a server',
    about: `binary messages carry RFB, the protocol of VNC, without a password; noVNC shows it: \`new RFB(element, url, { wsProtocols: ["${CONSOLE_PROTOCOL}", ticket] })\`. It shows what the guest's monitor would, boot loaders and installers included, takes keys and the pointer, and closes when the server turns off.`,
    old: 'The server was started by an earlier version, which gave it no screen. Stop and start it.',
  },
} satisfies Record<Kind, object>

export function consoleRoutes(options: ConsoleOptions): Route[] {
  return [ticketRoute(options, 'console'), ticketRoute(options, 'screen')]
}

function ticketRoute(options: ConsoleOptions, kind: Kind): Route {
  const { db, clock, consoles } = options
  const url = PREFIX + CONSOLE_PATH
  const issued = async (
    actor: Actor,
    server: ServerTable,
    setHeader: (name: string, value: string) => void,
  ) => {
    setHeader('location', url)
    const { ticket, expiresAt } = await consoles.issue({ kind, actor, server })
    return { url, ticket, expires_at: isoTime(expiresAt) }
  }
  return route({
    id: kind === 'console' ? 'openConsole' : 'openScreen',
    method: 'POST',
    path: `/servers/:server_id/${kind}`,
    scope: 'servers:write',
    tag: 'Servers',
    summary: texts[kind].summary,
    description: `Returns a ticket for one WebSocket, to be opened within a minute by \`new WebSocket(url, ["${CONSOLE_PROTOCOL}", ticket])\`: ${texts[kind].about}`,
    params: { server_id: serverProblems.server_not_found },
    load: serverLoader(db),
    reply: { 201: ConsoleTicket },
    isOfToken: true,
    problems: {
      server_state_conflict: { current_status: 'stopped', allowed_statuses: allowedIn.console },
      not_supported: { feature: kind },
    },
    errors: [
      catalogProblems.not_supported,
      serverProblems.server_state_conflict,
      operationProblems.operation_in_progress,
    ],
    run: async ({ actor, loaded, remember, setHeader, report }) => {
      await guard(db, loaded, 'console')
      await requireOpening(options, loaded, kind)
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

/** Checks that the machine has this kind of console; its status says on or starting. @throws ApiError not_supported */
async function requireOpening(
  { drivers, capacity, clock }: ConsoleOptions,
  server: ServerTable,
  kind: Kind,
): Promise<void> {
  await capacity.require(server, kind)
  const driver = drivers.at(server.pool)
  const { server_id } = server
  const opening = kind === 'screen' ? driver.openScreen(server_id) : driver.openConsole(server_id)
  const asked = opening.then(
    (console) => void console.close(),
    (error: unknown) => {
      if (error instanceof DriverError && error.code === 'unsupported') return 'unsupported'
      throw error
    },
  )
  if ((await soon(clock, asked)) !== 'unsupported') return
  throw new ApiError(catalogProblems.not_supported, texts[kind].old, { feature: kind })
}
