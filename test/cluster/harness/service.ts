import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { parse, stringify } from 'yaml'
import type { IncusZone } from '../../../api/drivers/incus/zone.ts'
import { type Server, startPostgres } from '../../harness/postgres.ts'
import { openAccount } from '../../process/harness/berthd.ts'
import { end, launch, type Process, Service, until } from '../../qemu/harness/service.ts'
import { Cluster } from './cluster.ts'
import { Front } from './front.ts'
import { UPLINK } from './ovn.ts'

const root = path.resolve(import.meta.dirname, '../../..')

/** The zone on Incus; the sample's own zone is simulated beside it. */
export const ZONE = 'dc-1'
/** The ports on which servers publish SSH. */
export const PORTS = { first: 27_000, last: 27_199 }

const CLEAR_MS = 120_000

/** The processes that serve the installation. */
export const processNames = ['api-1', 'api-2', 'worker-1', 'worker-2'] as const
export type ProcessName = (typeof processNames)[number]

/** Four `berthd serve` on one PostgreSQL behind one address, with a zone on a real cluster. */
export class ClusterService extends Service {
  readonly cluster: Cluster
  readonly postgres: Server
  readonly #front = new Front()
  readonly #processes = new Map<ProcessName, Process>()
  readonly #flags: readonly string[]
  readonly #hasOvn: boolean
  readonly #hasExports: boolean
  #databaseUrl = ''
  #token = ''

  private constructor(
    cluster: Cluster,
    postgres: Server,
    flags: readonly string[],
    has: { ovn: boolean; exports: boolean },
  ) {
    super()
    this.#hasOvn = has.ovn
    this.#hasExports = has.exports
    this.cluster = cluster
    this.postgres = postgres
    this.#flags = flags
  }

  static async open(
    members: number,
    flags: readonly string[] = [],
    { hasOvn = false, hasExports = false } = {},
  ): Promise<ClusterService> {
    const postgres = await startPostgres()
    const cluster = await Cluster.open(members, { hasOvn }).catch(async (error: unknown) => {
      await postgres.remove()
      throw error
    })
    const service = new ClusterService(cluster, postgres, flags, { ovn: hasOvn, exports: hasExports })
    try {
      if (hasExports) await cluster.addExports()
      await service.prepare()
      await service.start()
      return service
    } catch (error) {
      await service.dispose()
      throw error
    }
  }

  override async prepare(): Promise<void> {
    this.#databaseUrl = await this.postgres.create('berth')
    this.#token = await openAccount(this.#databaseUrl, {})
    const image = path.join(this.dataDir, 'micro.tar.gz')
    await promisify(execFile)('bash', [path.join(import.meta.dirname, '../image/build.sh'), image])
    const catalog = parse(readFileSync(path.join(root, 'catalog.yaml'), 'utf8'))
    const [local] = catalog.zones
    const incus = {
      addresses: this.cluster.addresses,
      instances: 'container',
      nameservers: ['192.0.2.53'],
      ...(this.#hasOvn && { uplink: UPLINK }),
      ...(this.#hasExports && { exports: true }),
    }
    // All members share one small machine, so more is sold than exists.
    const overcommit = { cpu: 100, ram: 1, disk: 100 }
    catalog.zones = [
      { ...local, zone_slug: ZONE, title: 'A cluster', driver: 'incus', incus, overcommit },
      local,
    ]
    catalog.prices.push(...catalog.prices.map((price: object) => ({ ...price, zone_slug: ZONE })))
    catalog.templates = catalog.templates
      .filter(({ slug }: { slug: string }) => slug === 'micro')
      .map((template: object) => ({ ...template, incus: { file: image } }))
    writeFileSync(path.join(this.dataDir, 'catalog.yaml'), stringify(catalog))
  }

  override async start(): Promise<void> {
    await this.#front.listen()
    // The first process creates the schema, and the others find it.
    for (const name of processNames) await this.startProcess(name)
  }

  async startProcess(name: ProcessName): Promise<void> {
    const ports = `${PORTS.first}-${PORTS.last}`
    const [role = ''] = name.split('-')
    const flags = [
      ...['--data', this.dataDir, '--catalog', path.join(this.dataDir, 'catalog.yaml')],
      ...['--compute', 'simulator', '--ssh-ports', ports, '--role', role, ...this.#flags],
    ]
    const started = await launch(flags, { DATABASE_URL: this.#databaseUrl })
    this.#processes.set(name, started)
    if (role === 'api') this.#front.add(name, started.address)
  }

  /** Stops a process: SIGINT as for an upgrade, after the load balancer stops sending it connections. */
  async stopProcess(name: ProcessName, signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    if (signal === 'SIGINT') this.#front.remove(name)
    const process = this.#processes.get(name)
    if (process) await end(process, signal)
  }

  /** The zone, for a separate driver of the test. */
  get zone(): IncusZone {
    return {
      addresses: this.cluster.addresses,
      project: 'berth',
      storage_pool: 'default',
      nameservers: ['192.0.2.53'],
    }
  }

  get databaseUrl(): string {
    return this.#databaseUrl
  }

  override get output(): string {
    return [...this.#processes].map(([name, { said }]) => `${name}: ${said()}`).join('\n')
  }

  override get address(): string {
    return `${this.#front.origin}/v1`
  }

  override get token(): string {
    return this.#token
  }

  override order(more: Record<string, unknown> = {}) {
    return super.order({ zone_slug: ZONE, ...more })
  }

  /** Deletes all servers, and waits for operations that prevent a deletion. */
  async clear(): Promise<void> {
    const ids = async () => {
      const { items } = (await this.call('GET', '/servers?limit=100')).body
      return items.map(({ server_id }: { server_id: string }) => server_id)
    }
    await until('all servers are deleted', CLEAR_MS, async () => {
      const left: string[] = await ids()
      await Promise.all(left.map((id) => this.call('DELETE', `/servers/${id}`)))
      if (left.length > 0) await sleep(500)
      return left.length === 0
    })
  }

  /** The customers' instances are removed with the cluster. */
  override async dispose(): Promise<void> {
    await Promise.all(processNames.map((name) => this.stopProcess(name, 'SIGKILL')))
    this.#front.close()
    await this.cluster.dispose()
    await this.postgres.remove()
    rmSync(this.dataDir, { recursive: true, force: true })
  }
}
