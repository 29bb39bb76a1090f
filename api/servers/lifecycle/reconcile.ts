import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import type { Driver, MachineState } from '../../drivers/driver.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { Loop } from '../../loop.ts'
import type { Engine } from '../../operations/engine.ts'
import type { Peers } from '../../processes/peers.ts'
import { begin } from '../begin.ts'
import { BOOT_TIMEOUT, watchedIn } from '../states.ts'
import { knownServers, listRunning, lockServer, poolsOfRunning, updateServer } from '../store.ts'
import type { ServerTable } from '../tables.ts'
import type { Connectivity } from './connectivity.ts'
import { discardSnapshots } from './discard.ts'
import { endLeftovers } from './leftovers.ts'

const LOOK_EVERY_MS = 10_000
/** The servers of a pool that are read at once. */
const PAGE = 1_000
const SWEEP_EVERY_MS = 60_000
/** The status reason of a server whose host does not answer, although it may be running. */
const HOST_UNAVAILABLE = 'host_unavailable'
/**
 * A machine that dies this often within this time is not started again, because that would only waste the host's CPU.
 */
const MAX_CRASHES = 5
const CRASHES_COUNT_FOR_MS = 10 * 60_000
const FIRST_BACKOFF_MS = 1_000

type Watched = Awaited<ReturnType<typeof listRunning>>[number]

interface ReconcilerOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  engine: Engine
  connectivity: Connectivity
  log: Logger
  peers: Peers
}

/** Pools whose driver is not open are left to the process with the duty, which reports them. */
function hasPools({ drivers, peers }: Pick<ReconcilerOptions, 'drivers' | 'peers'>): boolean {
  return peers.holds('reconciler') || drivers.pools.some((pool) => peers.holdsPool(pool))
}

/** Records changes of machines outside of operations: they turned off, died, or answered late. */
export class Reconciler {
  readonly #options: ReconcilerOptions
  readonly #loop: Loop
  readonly #sweeping: Loop

  constructor(options: ReconcilerOptions) {
    this.#options = options
    this.#loop = new Loop({
      clock: options.clock,
      log: options.log,
      turn: () => this.look(),
      failure: 'machines could not be checked; trying again',
      pauseMs: () => LOOK_EVERY_MS,
      peers: options.peers,
      isOurs: () => hasPools(options),
    })
    this.#sweeping = new Loop({
      clock: options.clock,
      log: options.log,
      turn: () => this.sweep(),
      failure: 'machines could not be swept; trying again',
      pauseMs: () => SWEEP_EVERY_MS,
      peers: options.peers,
      isOurs: () => hasPools(options),
    })
  }

  start(): void {
    this.#options.drivers.watch(() => this.#loop.wake())
    this.#loop.start()
    this.#sweeping.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#loop.stop(), this.#sweeping.stop()])
  }

  /** Ends machines that a process left behind when it was cut off, and removes deleted snapshots from hosts. */
  async sweep(): Promise<void> {
    await endLeftovers(this.#options)
    await discardSnapshots(this.#options)
  }

  /** Checks the machines of this process's pools, each separately, so that a driver that is down delays no other. */
  async look(): Promise<void> {
    const { db, log, peers } = this.#options
    const pools = (await poolsOfRunning(db)).filter((pool) => peers.holdsPool(pool))
    await Promise.all(
      pools.map((pool) =>
        this.#lookAt(pool).catch((error: unknown) =>
          log.error({ err: error, pool }, 'the machines of a pool could not be checked; trying again'),
        ),
      ),
    )
  }

  async #lookAt(pool: string): Promise<void> {
    const { db, drivers, connectivity } = this.#options
    await connectivity.tellRunning(pool)
    const driver = drivers.at(pool)
    const machines = await driver.list()
    for (let after: string | undefined = ''; after !== undefined; ) {
      const servers: Watched[] = await listRunning(db, pool, { after, limit: PAGE })
      await this.#compare(driver, servers, machines)
      after = servers.length < PAGE ? undefined : servers.at(-1)?.server_id
    }
  }

  /** @param machines may be older than the servers, whose machines are inspected before anything is changed */
  async #compare(
    driver: Driver,
    servers: readonly Watched[],
    machines: ReadonlyMap<string, MachineState>,
  ): Promise<void> {
    const { log } = this.#options
    const isOn = ({ server_id }: Watched) => machines.get(server_id)?.power === 'running'
    const late = servers.filter((server) => isOn(server) && server.status_reason === BOOT_TIMEOUT)
    await Promise.all(late.map(({ server_id }) => this.#askLate(driver, server_id)))
    for (const server of servers)
      if (isOn(server) && server.status_reason === HOST_UNAVAILABLE)
        await this.#write(server.server_id, { status_reason: null, down_at: null }, HOST_UNAVAILABLE)
    for (const { server_id, status_reason } of servers.filter((server) => !isOn(server))) {
      if (machines.get(server_id)?.power === 'away' && status_reason === HOST_UNAVAILABLE) continue
      try {
        // The machine is inspected again, because listing many may take long enough for a start or a reboot.
        await this.#updateFrom(server_id, await driver.inspect(server_id))
      } catch (error) {
        log.error({ err: error, server_id }, 'the machine of a server could not be checked')
      }
    }
  }

  /** Probes a guest again that did not answer within the time limit of its operation. */
  async #askLate(driver: Driver, serverId: string): Promise<void> {
    const answer = await driver.ready(serverId).catch(() => null)
    if (!answer) return
    const host_keys = JSON.stringify(answer.hostKeys)
    await this.#write(serverId, { status_reason: null, host_keys }, BOOT_TIMEOUT)
  }

  /** Lists machines of the drivers that belong to no server. They are reported, never changed. */
  async orphans(): Promise<string[]> {
    const { db, drivers } = this.#options
    const lists = await Promise.allSettled(drivers.pools.map((pool) => drivers.at(pool).list()))
    const ids = lists.flatMap((list) => (list.status === 'fulfilled' ? [...list.value.keys()] : []))
    const known = await knownServers(db, ids)
    return ids.filter((id) => !known.has(id))
  }

  async #updateFrom(serverId: string, machine: MachineState): Promise<void> {
    const { log, clock } = this.#options
    const down_at = clock.now()
    if (machine.power === 'running') return
    if (machine.power === 'away') {
      // A machine that moves between hosts is briefly unavailable, as expected.
      if (machine.isMoving) return
      log.error({ server_id: serverId }, 'the host of a server does not answer')
      return this.#write(serverId, { status_reason: HOST_UNAVAILABLE, down_at })
    }
    if (machine.power === 'hung')
      return log.error({ server_id: serverId }, 'the machine of a server does not respond')
    if (machine.power === 'stopped' && machine.reason === 'guest_shutdown') {
      const off = { status: 'stopped', status_reason: 'guest_shutdown', started_at: null } as const
      return this.#write(serverId, off)
    }
    if (machine.power === 'absent') {
      log.error({ server_id: serverId }, 'the machine of a running server is gone')
      const lost = { status: 'error', status_reason: 'disk_lost', started_at: null, down_at } as const
      return this.#write(serverId, lost)
    }
    await this.#restart(serverId)
  }

  /** Starts a machine that died, each time after a longer pause. */
  async #restart(serverId: string): Promise<void> {
    const { clock, engine, log } = this.#options
    const now = clock.now()
    let runAt = now
    await this.#whileOn(serverId, async (tx, server) => {
      // A server is started once its snapshot is made.
      if (server.copying !== null) return
      const isRecent = now - (server.crashed_at ?? 0) < CRASHES_COUNT_FOR_MS
      const crashes = isRecent ? server.crash_count + 1 : 1
      log.warn({ server_id: serverId, crashes }, 'the machine of a server died')
      const crash = { crash_count: crashes, crashed_at: now, started_at: null, down_at: now }
      if (crashes > MAX_CRASHES) {
        const change = { ...crash, status: 'error', status_reason: 'crash_loop', updated_at: now } as const
        return updateServer(tx, server, change)
      }
      runAt = now + FIRST_BACKOFF_MS * 2 ** (crashes - 1)
      await begin(tx, server, 'start', {}, { now, runAt, change: { ...crash, status_reason: 'crashed' } })
    })
    engine.wake(runAt)
  }

  /**
   * Writes a change to a server whose machine should still be on, and records the event.
   * @param reason the status reason that the server must still have
   */
  async #write(serverId: string, change: Partial<ServerTable>, reason?: string): Promise<void> {
    const updated_at = this.#options.clock.now()
    await this.#whileOn(serverId, async (tx, server) => {
      // A list may miss a machine whose host is known to be away already.
      if (change.status_reason === HOST_UNAVAILABLE && server.status_reason === HOST_UNAVAILABLE) return
      if (reason === undefined || reason === server.status_reason)
        await updateServer(tx, server, { ...change, updated_at })
    })
  }

  /** Writes to a server whose machine should still be on; any other status comes from a newer operation. */
  async #whileOn(
    serverId: string,
    write: (tx: Queries, server: ServerTable) => Promise<void>,
  ): Promise<void> {
    await this.#options.db.transaction().execute(async (tx) => {
      const server = await lockServer(tx, serverId)
      if (server && watchedIn.includes(server.status)) await write(tx, server)
    })
  }
}
