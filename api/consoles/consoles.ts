import type { FastifyBaseLogger as Logger } from 'fastify'
import type { WebSocket } from 'ws'
import { paidBy } from '../billing/ledger.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Console } from '../drivers/console.ts'
import { DriverError } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Access } from '../http/contract/auth.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'
import { findRoom, type Holder } from '../http/limits/places.ts'
import type { SocketRoute } from '../http/server/websocket.ts'
import { Loop } from '../loop.ts'
import { serverRows } from '../servers/rows.ts'
import { checkAction } from '../servers/states.ts'
import { CONSOLE_PATH, CONSOLE_PROTOCOL } from './schema.ts'
import { type Admission, ConsoleTickets } from './tickets.ts'
import { Viewer } from './viewer.ts'

const BOUNDS = { noun: 'consoles', most: 500, ofAccount: 10, ofUnpaid: 2 }
const LOOK_MS = 1_000

interface ConsolesOptions {
  db: Database
  clock: Clock
  log: Logger
  drivers: Drivers
  access: Access
}

/** The open serial consoles and screens of servers. Customers open one with a ticket. */
export class Consoles {
  readonly #options: ConsolesOptions
  readonly #tickets: ConsoleTickets
  readonly #viewers = new Map<Viewer, WebSocket>()
  readonly #loop: Loop
  #isStopped = false
  /** The route that opens the WebSockets of consoles. */
  readonly socket: SocketRoute

  constructor(options: ConsolesOptions) {
    this.#options = options
    this.#tickets = new ConsoleTickets(options.db, options.clock)
    this.#loop = new Loop({
      ...options,
      turn: () => this.look(),
      failure: 'the viewers of consoles could not be checked; trying again',
      pauseMs: () => LOOK_MS,
    })
    const admit = (offered: readonly string[], address: string) => this.#admit(offered, address)
    this.socket = { id: 'console', path: CONSOLE_PATH, protocol: CONSOLE_PROTOCOL, admit }
  }

  start(): void {
    this.#loop.start()
  }

  /** Ends all consoles. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#loop.stop()
    const sockets = [...this.#viewers.values()]
    for (const viewer of this.#viewers.keys()) viewer.end('service_stopping')
    await Promise.all(sockets.map((socket) => closed(socket)))
  }

  /** @throws ApiError rate_limited */
  async issue(admission: Admission): Promise<{ ticket: string; expiresAt: number }> {
    findRoom(placesOf(this.#open()), await this.#holderOf(admission), BOUNDS)
    return this.#tickets.issue(admission)
  }

  /** Closes consoles whose viewer has lost access or is gone. */
  async look(): Promise<void> {
    if (this.#viewers.size === 0) return
    const { access, clock } = this.#options
    const valid = await access.stillValid([...this.#viewers.keys()].map(({ admission }) => admission.actor))
    for (const viewer of this.#viewers.keys()) {
      if (valid.has(viewer.admission.actor)) viewer.look(clock.now())
      else viewer.end('access_ended')
    }
  }

  /** @throws ApiError invalid_token, rate_limited */
  async #admit(offered: readonly string[], address: string): Promise<(socket: WebSocket) => void> {
    const admission = await this.#tickets.redeem(offered[0] ?? '')
    const isValid = admission && (await this.#options.access.isUsableFrom(admission.actor, address))
    if (!isValid || this.#isStopped)
      throw new ApiError(
        httpProblems.invalid_token,
        'The ticket is unknown, was used, or has expired. Get another one with POST /servers/{server_id}/console or /screen.',
      )
    const holder = await this.#holderOf(admission)
    const viewers = this.#open()
    const at = findRoom(placesOf(viewers), holder, BOUNDS)
    if (at !== null) viewers[at]?.end('place_given_up')
    return (socket) => this.#show(admission, holder, socket)
  }

  async #holderOf({ actor: { accountId } }: Admission): Promise<Holder> {
    return { accountId, hasPaid: (await paidBy(this.#options.db, accountId)) > 0 }
  }

  #open(): Viewer[] {
    return [...this.#viewers.keys()].filter(({ isOver }) => !isOver)
  }

  #show(admission: Admission, holder: Holder, socket: WebSocket): void {
    const { clock, log } = this.#options
    const attach = (seen: Buffer) => this.#attach(admission, seen)
    const viewer = new Viewer({ socket, admission, holder, clock, attach })
    this.#viewers.set(viewer, socket)
    socket.once('close', () => this.#viewers.delete(viewer))
    viewer.run().catch((error: unknown) => {
      log.error({ err: error, server_id: admission.server.server_id }, 'a console could not be shown')
      viewer.end('internal_error')
    })
  }

  async #attach({ kind, actor, server }: Admission, seen: Buffer): Promise<Console | null | 'server_off'> {
    const { db, drivers } = this.#options
    const row = await serverRows.find(db, actor.accountId, server.server_id)
    if (!row || checkAction('console', row) !== 'allowed') return 'server_off'
    const driver = drivers.at(server.pool)
    const { server_id } = server
    const opened = kind === 'screen' ? driver.openScreen(server_id) : driver.openConsole(server_id, seen)
    return opened.catch((error: unknown) => {
      // The machine may be turned on soon, or its host may answer again.
      if (error instanceof DriverError) return null
      throw error
    })
  }
}

function placesOf(viewers: readonly Viewer[]): Holder[] {
  return viewers.map(({ holder }) => holder)
}

function closed(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState === socket.CLOSED) resolve()
    else socket.once('close', () => resolve())
  })
}
