import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { addressesOf } from '../../../api/drivers/addresses.ts'
import { type MachineSpec, PLAIN_NETWORK, type ServerNetwork, SSH_PORT } from '../../../api/drivers/driver.ts'
import type { DriverWorld } from '../../../api/drivers/driver-suite.ts'
import type { ImageSpec } from '../../../api/drivers/images.ts'
import type { IncusDriver } from '../../../api/drivers/incus/incus.ts'
import { openIncus } from '../../../api/drivers/incus/open.ts'
import { claimPort } from '../../harness/ports.ts'
import { Cluster } from './cluster.ts'
import { UPLINK } from './ovn.ts'

const run = promisify(execFile)
export const PROJECT = 'berth-test'
const BOOT_MS = 30_000
/** Guests in tests get these numbers: their addresses become routes of this machine, which other tests share. */
const FIRST_NUMBER = 200_000
const MOST_MACHINES = 40

interface Shown {
  config: Record<string, string>
  devices: Record<string, object>
}

/** For tests: a driver with daemons of its own. */
export class IncusWorld implements DriverWorld {
  readonly cluster: Cluster
  readonly bootSlots = null
  readonly unknown = ['diskReadBytes'] as const
  readonly log: string[] = []
  readonly #folder: string
  readonly #hasOvn: boolean
  readonly #hasExports: boolean
  readonly #known = new Map<string, { number: number; port: number }>()
  /** Ports that were free at the start. */
  readonly #ports: number[] = []
  #driver: IncusDriver | null = null
  #publicKey = ''

  private constructor(cluster: Cluster, folder: string, has: { ovn: boolean; exports: boolean }) {
    this.cluster = cluster
    this.#hasOvn = has.ovn
    this.#hasExports = has.exports
    this.#folder = folder
  }

  static async open(members: number, { hasOvn = false, hasExports = false } = {}): Promise<IncusWorld> {
    const folder = mkdtempSync(path.join(tmpdir(), 'berth-incus-world-'))
    const cluster = await Cluster.open(members, { hasOvn })
    const world = new IncusWorld(cluster, folder, { ovn: hasOvn, exports: hasExports })
    if (hasExports) await cluster.addExports()
    await run('bash', [path.join(import.meta.dirname, '../image/build.sh'), world.image])
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', world.identity])
    world.#publicKey = readFileSync(`${world.identity}.pub`, 'utf8').trim()
    for (let i = 0; i < MOST_MACHINES; i++) world.#ports.push(await claimPort())
    await world.restart()
    await world.until('the image is imported', async () => {
      const state = await world.driver.image(world.template)
      if (state.state === 'failed') throw new Error(state.message)
      return state.state === 'ready'
    })
    return world
  }

  get driver(): IncusDriver {
    if (!this.#driver) throw new Error('the driver is closed')
    return this.#driver
  }

  get image(): string {
    return path.join(this.#folder, 'micro.tar.gz')
  }

  /** The customer's private key. */
  get identity(): string {
    return path.join(this.#folder, 'id')
  }

  async restart(addresses: readonly string[] = this.cluster.addresses): Promise<void> {
    await this.#driver?.close()
    const say = (details: object, message: string) =>
      void this.log.push(`${message} ${JSON.stringify(details)}`)
    this.#driver = await openIncus({
      zone: {
        addresses,
        project: PROJECT,
        storage_pool: 'default',
        uplink: this.#hasOvn ? UPLINK : undefined,
        exports: this.#hasExports,
        nameservers: ['192.0.2.53'],
      },
      address: '127.0.0.1',
      folder: path.join(this.#folder, 'exports'),
      log: { info: say, warn: say, error: say },
    })
  }

  get template(): ImageSpec {
    return { slug: 'micro', sources: [], incus: { file: this.image } }
  }

  spec(serverId: string): MachineSpec {
    const { number } = this.#of(serverId)
    return {
      serverId,
      owner: serverId,
      hostname: `host-${serverId}`,
      cpu: 1,
      ramMb: 128,
      diskGb: 1,
      diskId: 'first',
      instanceId: serverId,
      cpuType: 'amd',
      image: this.template,
      username: 'ann',
      sshPublicKeys: [this.#publicKey],
      password: null,
      userData: null,
      interfaces: [
        {
          mac: `52:54:00:12:${((number >> 8) & 255).toString(16).padStart(2, '0')}:${(number & 255).toString(16).padStart(2, '0')}`,
          addresses: Object.values(addressesOf(number)),
        },
      ],
    }
  }

  network(serverId: string): ServerNetwork {
    const { number, port } = this.#of(serverId)
    return { ...PLAIN_NETWORK, number, ports: [{ protocol: 'tcp', hostPort: port, port: SSH_PORT }] }
  }

  addressOf(serverId: string): string {
    return addressesOf(this.#of(serverId).number).ipv4.address
  }

  async until(what: string, holds: () => Promise<boolean>, ms = BOOT_MS): Promise<void> {
    const deadline = Date.now() + ms
    while (!(await holds())) {
      if (Date.now() > deadline) throw new Error(`it never came: ${what}; ${this.log.slice(-5).join('; ')}`)
      await sleep(50)
    }
  }

  async crash(serverId: string): Promise<void> {
    await this.cluster.vanish(`b-${serverId}`)
  }

  async leftovers(serverId: string): Promise<string[]> {
    const client = this.cluster.client()
    const instances = await client.get<{ name: string }[]>(`/1.0/instances?recursion=1&project=${PROJECT}`)
    client.close()
    const isOf = (name: string) => name === `b-${serverId}` || name.startsWith(`t-${serverId}-`)
    return instances.map(({ name }) => name).filter(isOf)
  }

  async write(serverId: string, data: string): Promise<void> {
    await this.cluster.push(PROJECT, `b-${serverId}`, '/root/data', data)
  }

  read(serverId: string): Promise<string | null> {
    return this.cluster.pull(PROJECT, `b-${serverId}`, '/root/data')
  }

  /** Calls of the API of Incus, beside the driver. */
  raw() {
    const of = (path: string) => `/1.0${path}?project=${PROJECT}`
    const client = this.cluster.client()
    const call = async (path: string, body: object): Promise<void> => {
      const { operation } = await client.call('POST', of(path), { body })
      await client.get(`${operation}/wait`, BOOT_MS)
    }
    const show = (name: string) => client.get<Shown>(of(`/instances/${name}`))
    // The names of volumes include those of instances and of their snapshots.
    const names = async () => {
      const urls = await client.get<string[]>(of('/storage-pools/default/volumes/container'))
      return urls.map((url) => url.replace(/^.*container\/|\?.*$/g, '')).sort()
    }
    return { call, show, names }
  }

  /** Runs a command in a guest as its root would. */
  root(serverId: string, command: string): Promise<string> {
    return this.cluster.exec(PROJECT, `b-${serverId}`, command)
  }

  async passwordHash(serverId: string): Promise<string> {
    return (await this.root(serverId, 'grep ^ann: /etc/shadow')).split(':')[1] ?? ''
  }

  /** Runs a command in a guest as its customer would. */
  async ssh(serverId: string, command: string): Promise<string> {
    const { port } = this.#of(serverId)
    const trust = [
      '-F',
      'none',
      '-o',
      'StrictHostKeyChecking=no',
      '-o',
      'UserKnownHostsFile=/dev/null',
      '-o',
      'LogLevel=ERROR',
    ]
    const args = [
      ...trust,
      '-o',
      'BatchMode=yes',
      '-i',
      this.identity,
      '-p',
      `${port}`,
      'ann@127.0.0.1',
      command,
    ]
    return (await run('ssh', args, { timeout: 20_000 })).stdout.trim()
  }

  async close(): Promise<void> {
    await this.#driver?.close()
    await this.cluster.dispose()
    for (const { number } of this.#known.values()) await removeRoute(addressesOf(number).ipv4.address)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #of(serverId: string): { number: number; port: number } {
    const known = this.#known.get(serverId)
    if (known) return known
    const port = this.#ports.pop()
    if (port === undefined) throw new Error('no port is left')
    const made = { number: FIRST_NUMBER + this.#known.size, port }
    this.#known.set(serverId, made)
    return made
  }
}

/** Removes the route that a failed start leaves on the host, with its card. */
async function removeRoute(address: string): Promise<void> {
  const { stdout } = await run('ip', ['-o', 'route', 'show', address])
  const card = / dev ((?:bi|veth)\w+)/.exec(stdout)?.[1]
  if (card) await run('ip', ['link', 'delete', card])
}
