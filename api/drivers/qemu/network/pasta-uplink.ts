import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMissing } from '../../../files.ts'
import type { PortRange, PublishedPort } from '../../driver.ts'
import { findByArgument, isReadyWithin, killVerified, spawnDetached } from '../host/process.ts'
import { run } from '../host/run.ts'
import type { Uplink } from './host-uplink.ts'
import type { UserSpace } from './namespace.ts'
import { isTaken } from './ports.ts'
import { UPLINK } from './rules.ts'

const INSIDE = '169.254.64.2'
const HOST = '169.254.64.1'
const INSIDE6 = 'fd62:6572:74ff::2'
const START_MS = 30_000
const [LOOKS, LOOK_MS] = [10, 50]

/** The release day of the oldest pasta without a known fault that breaks connections: Debian 13's. */
const OLDEST = 20250503

/**
 * Explains as a sentence why a pasta should be replaced; null if it need not be. Debian 12's breaks connections and
 * does not report its release.
 * @param version the output of `pasta --version`
 */
export function agedPasta(version: string): string | null {
  const [first = ''] = version.split('\n')
  const [day] = /20\d{6}/.exec(first.replaceAll('_', '')) ?? []
  if (Number(day ?? 0) >= OLDEST) return null
  return `Connections of guests may break or wait: pasta is too old, or does not report its version ("${first}"). Install a newer package passt, from backports or a newer distribution`
}

/**
 * An ordinary user's uplink: pasta, a process that opens connections for the namespace. It takes all ports of the
 * range, as ports can't be added while it runs. It is found by its card's address, and restarted if it dies.
 */
export class PastaUplink implements Uplink {
  // pasta sends UDP from the host's port of the same number as in the namespace: no service uses these.
  readonly ports = '49152-65535'
  readonly carriesPools = false
  readonly isQueued = true
  readonly keeping = ['udp'] as const
  readonly #space: UserSpace
  readonly #mark: string
  readonly #address: string
  readonly #range: PortRange
  readonly #log: string
  /** Ports of the range that other programs had when pasta started. */
  #taken = new Set<string>()

  constructor(
    space: UserSpace,
    { id, address, range, log }: { id: string; address: string; range: PortRange; log: string },
  ) {
    this.#space = space
    this.#mark = `02:be:${id.replace(/..(?!$)/g, '$&:')}`
    this.#address = address
    this.#range = range
    this.#log = log
  }

  async isUp(): Promise<boolean> {
    return findByArgument(this.#mark) !== null
  }

  async raise(): Promise<void> {
    if (await this.isUp()) return
    this.#taken = await this.#takenPorts()
    // A pasta that was just killed closes its ports a moment after its process is gone.
    for (let looks = 0; this.#taken.size > 0 && looks < LOOKS; looks++) {
      await sleep(LOOK_MS)
      this.#taken = await this.#takenPorts(this.#taken)
    }
    const isFull = this.#taken.size >= 2 * (this.#range.last - this.#range.first + 1)
    const where = this.#address === '0.0.0.0' ? '' : `${this.#address}/`
    const ports = isFull ? 'none' : `${where}${this.#range.first}-${this.#range.last}`
    const args = [
      ...['--foreground', '--quiet', '--config-net', '-I', UPLINK, '-M', this.#mark, '--no-map-gw'],
      ...['-a', INSIDE, '-n', '30', '-g', HOST, '-a', INSIDE6, '-g', 'fe80::1'],
      ...['-t', ports, '-u', ports, '-T', 'none', '-U', 'none', String(this.#space.pid)],
    ]
    const { exited } = await spawnDetached('pasta', args, this.#log).catch((error: unknown) => {
      throw isMissing(error) ? new Error('pasta is missing; install the package passt') : error
    })
    const isUp = () => run([...this.#space.prefix, 'ip', '-4', 'addr', 'show', UPLINK]).catch(() => '')
    if (await isReadyWithin(START_MS, exited, async () => (await isUp()).includes(INSIDE), 20)) return
    const words = (await readFile(this.#log, 'utf8').catch(() => '')).trim().split('\n').at(-1)
    throw new Error(
      `pasta, the way out of the network of guests, did not start${words ? `; it said: ${words.slice(0, 200)}` : ''}`,
    )
  }

  /**
   * All ports of the range already lead in, except those that others had. A port without a machine refuses
   * connections.
   */
  async lead(ports: ReadonlySet<string>): Promise<void> {
    const missing = new Set([...ports].filter((port) => this.#taken.has(port)))
    if ((await this.#takenPorts(missing)).size === missing.size) return
    await this.remove()
    await this.raise()
  }

  async isTaken({ protocol, hostPort }: PublishedPort): Promise<boolean> {
    const { first, last } = this.#range
    if (hostPort < first || hostPort > last) return true
    const port = `${protocol} . ${hostPort}`
    return this.#taken.has(port) && (await this.#takenPorts(new Set([port]))).size > 0
  }

  async remove(): Promise<void> {
    const found = findByArgument(this.#mark)
    if (found) await killVerified(found, this.#mark)
  }

  /** Returns those ports that other programs use. */
  async #takenPorts(ports: ReadonlySet<string> = this.#everyPort()): Promise<Set<string>> {
    const taken = new Set<string>()
    for (const port of ports) {
      const [protocol, hostPort] = port.split(' . ')
      const published = { protocol: protocol === 'tcp' ? 'tcp' : 'udp', hostPort: Number(hostPort) } as const
      if (await isTaken(published, this.#address)) taken.add(port)
    }
    return taken
  }

  #everyPort(): Set<string> {
    const ports = new Set<string>()
    for (let port = this.#range.first; port <= this.#range.last; port++)
      for (const protocol of ['tcp', 'udp']) ports.add(`${protocol} . ${port}`)
    return ports
  }
}
