import { buffer } from 'node:stream/consumers'
import { inParallel } from '../../concurrency.ts'
import type { Measurement } from '../measurement.ts'
import { privateNames } from './cards.ts'
import { at, type Endpoint, type IncusClient } from './client.ts'
import { coresOf, type Instance, nameOf, serverIdOf, stateOf } from './instance.ts'
import { countersOf, countersOfState, type InstanceState, NOTHING } from './metrics.ts'

/** A member that takes longer is left out this time. */
const ANSWER_MS = 3_000
/** Members cache their metrics for 8 s, so younger machines may be missing or outdated there. */
const SETTLED_MS = 10_000
/** Disk usage changes slowly, and takes a request for each machine. */
const DISK_MS = 60_000
/** The number of disks that are measured in one call, those with the oldest figures first. */
const MOST_DISKS = 64

/** Measures machines: one request to each member, and a few for machines that it knows too little about. */
export class Measures {
  readonly #client: IncusClient
  readonly #project: string
  readonly #disks = new Map<string, { at: number; bytes: number | null }>()

  constructor(client: IncusClient, project: string) {
    this.#client = client
    this.#project = project
  }

  async of(serverIds: readonly string[], all: readonly Instance[]): Promise<Map<string, Measurement>> {
    const asked = new Set(serverIds.map(nameOf))
    const instances = all.filter(({ name }) => asked.has(name))
    if (instances.length === 0) return new Map()
    const { endpoints } = this.#client
    const perMember = await Promise.all(endpoints.map((endpoint) => this.#ask(endpoint, instances)))
    const counters = new Map(perMember.flatMap((found) => [...found]))
    const measuredAt = Date.now()
    const states = await this.#statesOf(instances, measuredAt)
    const entries = instances.map((instance): [string, Measurement] => {
      const { name } = instance
      const machine = stateOf(instance)
      const startedAt = machine.power === 'running' ? machine.startedAt : null
      const own = states.get(name)
      const isYoung = startedAt !== null && measuredAt - startedAt < SETTLED_MS
      const settled = counters.get(name) ?? NOTHING
      const used = isYoung ? own && countersOfState(own) : settled
      const diskUsedBytes = this.#disks.get(name)?.bytes ?? null
      const known = startedAt === null ? NOTHING : (used ?? NOTHING)
      return [
        serverIdOf(name) ?? '',
        { measuredAt, startedAt, cores: coresOf(instance), ...known, diskUsedBytes },
      ]
    })
    return new Map(entries)
  }

  /** A member's metrics in the format of Prometheus; null if it does not answer. */
  async #ask(endpoint: Endpoint, instances: readonly Instance[]): ReturnType<typeof readMetrics> {
    if (endpoint.isShunned) return new Map()
    const names = new Map(instances.map(({ name, devices }) => [name, privateNames(devices)]))
    return readMetrics(endpoint, this.#project, (name) => names.get(name) ?? []).catch(() => new Map())
  }

  /** Reads young machines, and those whose disk was not measured for long. */
  async #statesOf(instances: readonly Instance[], now: number): Promise<Map<string, InstanceState>> {
    const here = new Set(instances.map(({ name }) => name))
    for (const name of this.#disks.keys()) if (!here.has(name)) this.#disks.delete(name)
    const reachable = instances.filter((instance) => stateOf(instance).power !== 'away')
    const lookedAt = (name: string) => this.#disks.get(name)?.at ?? 0
    const wanted = reachable
      .filter((instance) => {
        const state = stateOf(instance)
        const isYoung = state.power === 'running' && now - state.startedAt < SETTLED_MS
        return isYoung || now - lookedAt(instance.name) > DISK_MS
      })
      .toSorted((a, b) => lookedAt(a.name) - lookedAt(b.name))
      .slice(0, MOST_DISKS)
    const states = new Map<string, InstanceState>()
    await inParallel(wanted, async ({ name }) => {
      const path = at(`/1.0/instances/${name}/state`, { project: this.#project })
      const state = await this.#client.get<InstanceState>(path, ANSWER_MS).catch(() => null)
      if (!state) return
      states.set(name, state)
      this.#disks.set(name, { at: now, bytes: state.disk?.root?.usage ?? null })
    })
    return states
  }
}

async function readMetrics(
  endpoint: Endpoint,
  project: string,
  namesOf: (instance: string) => readonly string[],
) {
  const response = await endpoint.send('GET', at('/1.0/metrics', { project }), { timeoutMs: ANSWER_MS })
  const text = (await buffer(response)).toString('utf8')
  return countersOf(text, project, namesOf)
}
