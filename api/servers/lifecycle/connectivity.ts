import type { FastifyBaseLogger as Logger } from 'fastify'
import { Semaphore } from '../../concurrency.ts'
import type { Database } from '../../database/database.ts'
import type { ServerNetwork } from '../../drivers/driver.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { rulesOfServers } from '../../firewalls/protection.ts'
import { cardsOf } from '../../networks/memberships.ts'
import { type Connected, listConnected, listRunningConnected } from '../connected.ts'
import { poolsOfServers } from '../queries.ts'

/** The most servers in one update of a driver with all of its pool. */
const PAGE = 1_000

interface ConnectivityOptions {
  db: Database
  drivers: Drivers
  log: Logger
}

/** Pending changes for the driver of one pool. */
interface Line {
  inTurn: Semaphore
  /** The servers of its next update. */
  changed: Set<string>
}

/**
 * Keeps the drivers' view of connectivity in step with the database: ports, addresses, networks and firewalls. Each
 * driver gets one update at a time, read at that moment, so that an older state never follows a newer one. A driver
 * that is slow or down delays no other.
 */
export class Connectivity {
  readonly #options: ConnectivityOptions
  /** Servers whose pools are not known yet. */
  readonly #changed = new Set<string>()
  readonly #sorting = new Semaphore(1)
  readonly #lines = new Map<string, Line>()

  constructor(options: ConnectivityOptions) {
    this.#options = options
  }

  /** Updates the drivers of these servers soon, in one batch. If that fails, the reconciler repeats it. */
  changed(serverIds: readonly string[]): void {
    const { log } = this.#options
    for (const serverId of serverIds) this.#changed.add(serverId)
    this.#sorting.run(() => this.#tellChanged()).catch((error: unknown) => log.error({ err: error }, FAILED))
  }

  /** @throws DriverError */
  async tell({ server_id, pool }: Pick<Connected, 'server_id' | 'pool'>): Promise<void> {
    await this.#lineOf(pool).inTurn.run(async () =>
      this.#connect(pool, await listConnected(this.#options.db, [server_id])),
    )
  }

  /**
   * Updates the driver of a pool with all its running servers. Usually nothing changes: this repairs the state after the
   * service was killed or the database was restored.
   */
  async tellRunning(pool: string): Promise<void> {
    const { db } = this.#options
    // Other updates of the pool take their turns between the parts.
    for (let after: string | undefined = ''; after !== undefined; )
      await this.#trying(pool, async () => {
        const walk = { after: after ?? '', limit: PAGE }
        after = undefined
        const servers = await listRunningConnected(db, pool, walk)
        await this.#connect(pool, servers)
        after = servers.length < PAGE ? undefined : servers.at(-1)?.server_id
      })
  }

  /** Resolves when drivers know all changes until now. */
  async settled(): Promise<void> {
    await this.#sorting.run(async () => {})
    await Promise.all([...this.#lines.values()].map(({ inTurn }) => inTurn.run(async () => {})))
  }

  /** Many changes of a server in a row become one update. */
  async #tellChanged(): Promise<void> {
    const { db } = this.#options
    const ids = [...this.#changed]
    this.#changed.clear()
    for (const [pool, servers] of Map.groupBy(await poolsOfServers(db, ids), (server) => server.pool)) {
      const { changed } = this.#lineOf(pool)
      for (const { server_id } of servers) changed.add(server_id)
      void this.#trying(pool, async () => {
        const news = [...changed]
        changed.clear()
        await this.#connect(pool, await listConnected(db, news))
      })
    }
  }

  #lineOf(pool: string): Line {
    const line = this.#lines.get(pool) ?? { inTurn: new Semaphore(1), changed: new Set() }
    this.#lines.set(pool, line)
    return line
  }

  /** Logs an update that failed; the reconciler repeats it. */
  async #trying(pool: string, work: () => Promise<void>): Promise<void> {
    const { log } = this.#options
    await this.#lineOf(pool)
      .inTurn.run(work)
      .catch((error: unknown) => log.error({ err: error, pool }, FAILED))
  }

  /** @param servers of this pool */
  async #connect(pool: string, servers: readonly Connected[]): Promise<void> {
    if (servers.length === 0) return
    const { db } = this.#options
    const firewalls = await rulesOfServers(
      db,
      servers.filter(({ mayHaveFirewalls }) => mayHaveFirewalls),
    )
    const networks = servers.map((server) => [server.server_id, serverNetwork(server, firewalls)] as const)
    await this.#options.drivers.at(pool).connect(new Map(networks))
  }
}

const FAILED = 'the network of servers could not be configured; trying again'

/** The connectivity of a server, as its driver expects it. */
function serverNetwork(
  server: Connected,
  firewalls: Awaited<ReturnType<typeof rulesOfServers>>,
): ServerNetwork {
  const { server_id, number, status, ports, ipv4, ipv6, is_smtp_open, frozen_at } = server
  return {
    number: number ?? 0,
    ports: ports.map(({ protocol, host_port, port }) => ({
      protocol,
      hostPort: host_port,
      port,
    })),
    firewall: firewalls.get(server_id) ?? null,
    cards: cardsOf(server),
    public: { ipv4, ipv6 },
    isCut: status === 'suspended' || frozen_at !== null,
    maySendMail: is_smtp_open === 1,
    bandwidthMbit: server.bandwidth_mbit,
  }
}
