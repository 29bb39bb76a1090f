import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Database } from '../../database/database.ts'
import type { ServerNetwork } from '../../drivers/driver.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { rulesOfServers } from '../../firewalls/protection.ts'
import { oneByOne } from '../../loop.ts'
import { cardsOf } from '../networks/memberships.ts'
import { portsOf, portsOfRunning } from '../ports/ports.ts'
import { type Connected, listConnected, listRunning } from '../store.ts'

type Ports = Awaited<ReturnType<typeof portsOf>>

interface NetworksOptions {
  db: Database
  drivers: Drivers
  log: Logger
}

/**
 * Tells drivers what leads to servers. One telling at a time, each of what the database has by then: an older one never
 * comes after a newer one.
 */
export class Networks {
  readonly #options: NetworksOptions
  readonly #changed = new Set<string>()
  readonly #inTurn = oneByOne()

  constructor(options: NetworksOptions) {
    this.#options = options
  }

  /** What leads to servers has changed: their drivers are told soon, of all at once; if that fails, the reconciler tells them. */
  changed(serverIds: readonly string[]): void {
    const { log } = this.#options
    for (const serverId of serverIds) this.#changed.add(serverId)
    this.#inTurn(() => this.#tellChanged()).catch((error: unknown) => log.error({ err: error }, FAILED))
  }

  /** @throws DriverError */
  async tell(serverId: string): Promise<void> {
    const { db } = this.#options
    await this.#inTurn(async () => {
      const ids = [serverId]
      await this.#connect(await listConnected(db, ids), await portsOf(db, ids))
    })
  }

  /**
   * Tells of all servers that run. Usually nothing changes: it is what a service that was killed, or a database from a
   * backup, did not tell.
   */
  async tellRunning(): Promise<void> {
    const { db } = this.#options
    await this.#inTurn(async () => this.#connectAll(await listRunning(db), await portsOfRunning(db)))
  }

  /** Resolves when drivers know what has changed until now. */
  async settled(): Promise<void> {
    await this.#inTurn(async () => {})
  }

  /** Many changes of a server in a row are told as one. */
  async #tellChanged(): Promise<void> {
    const { db } = this.#options
    const ids = [...this.#changed]
    this.#changed.clear()
    await this.#connectAll(await listConnected(db, ids), await portsOf(db, ids))
  }

  /** Each pool by itself: one whose driver is down holds up no other. */
  async #connectAll(servers: readonly Connected[], ports: Ports): Promise<void> {
    const { log } = this.#options
    const pools = Map.groupBy(servers, ({ pool }) => pool)
    await Promise.all(
      [...pools].map(([pool, ofPool]) =>
        this.#connect(ofPool, ports).catch((error: unknown) => log.error({ err: error, pool }, FAILED)),
      ),
    )
  }

  /** @param servers of one pool */
  async #connect(servers: readonly Connected[], ports: Ports): Promise<void> {
    const [first] = servers
    if (!first) return
    const firewalls = await rulesOfServers(this.#options.db, servers)
    const networks = servers.map(
      (server) => [server.server_id, serverNetwork(server, ports, firewalls)] as const,
    )
    await this.#options.drivers.at(first.pool).connect(new Map(networks))
  }
}

const FAILED = 'the network of servers could not be set; trying again'

/** What leads to a server and from it. */
function serverNetwork(
  server: Connected,
  ports: Ports,
  firewalls: Awaited<ReturnType<typeof rulesOfServers>>,
): ServerNetwork {
  const { server_id, number, status, ipv4, ipv6, is_smtp_open } = server
  return {
    number: number ?? 0,
    ports: (ports.get(server_id) ?? []).map(({ protocol, host_port, port }) => ({
      protocol,
      hostPort: host_port,
      port,
    })),
    firewall: firewalls.get(server_id) ?? null,
    cards: cardsOf(server),
    public: { ipv4, ipv6 },
    isCut: status === 'suspended',
    maySendMail: is_smtp_open === 1,
    bandwidthMbit: server.bandwidth_mbit,
  }
}
