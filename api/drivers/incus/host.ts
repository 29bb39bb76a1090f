import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../message-of.ts'
import { cpuTypes, DriverError, type HostFacts } from '../driver.ts'
import type { Members } from './members.ts'
import { featuresOf, type IncusZone } from './zone.ts'

/** The cluster's description of itself. */
export interface IncusServer {
  environment: { server: string; server_version: string; server_clustered: boolean }
  api_extensions: string[]
  auth: string
}

/** The time that a caller waits: without a quorum, members take 5 s to refuse, or never answer. */
const WAIT_MS = { first: 2_000, later: 1_000, silent: 0 }
/** The maximum age of figures that replace a late answer. */
const STALE_MS = 15_000

/** The facts of a zone's cluster. A cluster that does not answer must not delay callers. */
export class Host {
  readonly #members: Members
  readonly #server: IncusServer
  readonly #zone: IncusZone
  readonly #keptGb: () => Promise<number>
  #asking: Promise<HostFacts | null> | null = null
  #known: { facts: HostFacts; at: number } | null = null
  #isSilent = false
  /** The reason why the last request got no answer, for operators. */
  #reason = 'it has not replied in time'

  /** @param keptGb the sum of the disks of snapshots in GB */
  constructor(members: Members, server: IncusServer, zone: IncusZone, keptGb: () => Promise<number>) {
    this.#members = members
    this.#zone = zone
    this.#keptGb = keptGb
    this.#server = server
  }

  /** @throws DriverError unavailable */
  async facts(): Promise<HostFacts> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null
    })
    const patience = WAIT_MS[this.#isSilent ? 'silent' : this.#known ? 'later' : 'first']
    const answer = await Promise.race([this.#asking, sleep(patience, null, { ref: false })])
    if (answer) return answer
    // The request continues, and a late answer ends the silence.
    this.#isSilent = true
    const { facts, at } = this.#known ?? { facts: null, at: 0 }
    if (!facts || performance.now() - at > STALE_MS)
      throw new DriverError('unavailable', `The cluster does not answer: ${this.#reason}.`)
    return facts
  }

  async #ask(): Promise<HostFacts | null> {
    const asked = Promise.all([this.#members.capacity(), this.#keptGb(), this.#members.hasVolumes()])
    const [capacity, keptGb, hasVolumes] = await asked.catch((error: unknown) => {
      this.#reason = messageOf(error)
      return [null, 0, false] as const
    })
    if (!capacity) return null
    const { cores, ramMb, diskGb, usedGb } = capacity
    const { server, server_version, server_clustered } = this.#server.environment
    const facts: HostFacts = {
      compute: `${server === 'lxd' ? 'LXD' : 'Incus'} ${server_version} with containers`,
      reason: server_clustered ? 'a cluster, as its zone says' : 'as its zone says',
      isReal: true,
      cpuTypes,
      features: featuresOf(this.#zone, { hasVolumes }),
      ...{ cores, ramMb },
      // Storage shares blocks, so the exact share of snapshots is unknown, but at most all used space.
      diskGb: Math.max(0, diskGb - Math.min(keptGb, usedGb)),
      warnings: ['Servers are containers, which share a kernel: for people you trust'],
    }
    this.#known = { facts, at: performance.now() }
    this.#isSilent = false
    return facts
  }
}
