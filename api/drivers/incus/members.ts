import { setTimeout as sleep } from 'node:timers/promises'
import { at, type IncusClient } from './client.ts'
import { IncusError } from './errors.ts'
import { type Instance, memoryOf, serverIdOf } from './instance.ts'

interface ClusterMember {
  server_name: string
  /** The address at which other members reach this one. */
  url: string
  status: string
  groups: string[]
  config: Record<string, string>
}

/** A member's hardware. */
interface Hardware {
  cores: number
  ramMb: number
  diskGb: number
  /** The used part of its disk, rounded up: by machines, snapshots and images. */
  usedGb: number
}

interface Fresh<T> {
  at: number
  value: T
}

/** Members may go offline at any time, but their hardware seldom changes. */
const MEMBERS_MS = 1_000
const HARDWARE_MS = 60_000
/**
 * The time that a member has to describe its hardware. A member that others reach but hear no events from takes 10 s
 * to refuse each request. It must not delay the answers of others.
 */
const ANSWER_MS = 800
/** The maximum age of a description that replaces a late one. */
const KEPT_MS = 300_000
/** The maximum age of a list of instances. */
const LIST_MS = 2_000
const GB = 2 ** 30
/** Storage drivers that all members share count once. */
const SHARED_STORAGE = ['ceph', 'lvmcluster', 'truenas', 'linstor']
/** Storage drivers that hold a volume to its size. */
const SIZED_STORAGE = ['btrfs', 'zfs', 'lvm', 'ceph']
/** The most machines that were destroyed and whose members are remembered. */
const MOST_HOMES = 1_000

/** The members of a zone's cluster, and their resources. */
export class Members {
  readonly #client: IncusClient
  readonly #group: string | undefined
  readonly #storagePool: string
  readonly #isClustered: boolean
  #all: Fresh<Promise<ClusterMember[]>> | null = null
  readonly #hardware = new Map<string, Fresh<Hardware>>()
  /** The requests for descriptions that have not ended. */
  readonly #asking = new Map<string, Promise<void>>()
  /** The memory of instances that are being created, by member: lists do not show them yet. */
  readonly #coming = new Map<string, number>()
  /** The members of destroyed machines whose volumes are still there. */
  readonly #homes = new Map<string, string>()
  #storage: Promise<string> | null = null

  constructor(
    client: IncusClient,
    {
      group,
      storagePool,
      isClustered,
    }: { group: string | undefined; storagePool: string; isClustered: boolean },
  ) {
    this.#client = client
    this.#group = group
    this.#storagePool = storagePool
    this.#isClustered = isClustered
  }

  /** The names of the members that accept machines; null: there is one server and no cluster. */
  async online(): Promise<(string | null)[]> {
    if (!this.#isClustered) return [null]
    const members = await this.#list()
    return members
      .filter(({ status, config }) => status === 'Online' && config['scheduler.instance'] !== 'manual')
      .filter(({ groups, config }) => {
        const group = this.#group
        return group === undefined || groups.includes(group) || config['user.zone'] === group
      })
      .map(({ server_name }) => server_name)
  }

  /** The names of the members that are evacuated. */
  async evacuated(): Promise<string[]> {
    if (!this.#isClustered) return []
    return (await this.#list()).filter(({ status }) => status === 'Evacuated').map((one) => one.server_name)
  }

  /** The address at which other members reach this one. @throws IncusError */
  async urlOf(member: string): Promise<string> {
    const found = (await this.#list()).find(({ server_name }) => server_name === member)
    if (!found) throw new IncusError(0, 'The member does not exist')
    return found.url
  }

  /** True if the pool of the zone holds volumes to their size. @throws IncusError */
  async hasVolumes(): Promise<boolean> {
    return SIZED_STORAGE.includes(await this.#storageDriver())
  }

  /** Remembers the member of a destroyed machine, for a later machine with the same id. */
  remember(serverId: string, member: string): void {
    this.#homes.delete(serverId)
    this.#homes.set(serverId, member)
    const [oldest] = this.#homes.keys()
    if (this.#homes.size > MOST_HOMES && oldest !== undefined) this.#homes.delete(oldest)
  }

  /** Returns the capacity of all members that are online and answer. @throws IncusError if none of them answers */
  async capacity(): Promise<Hardware> {
    const isShared = await this.isStorageShared()
    const sum = { cores: 0, ramMb: 0, diskGb: 0, usedGb: 0 }
    const members = await this.online()
    const all = (await this.#describe(members)).flatMap((known) => known ?? [])
    if (members.length > 0 && all.length === 0) throw new IncusError(0, 'No member of the zone answers')
    for (const { value: one } of all) {
      sum.cores += one.cores
      sum.ramMb += one.ramMb
      sum.diskGb = isShared ? Math.max(sum.diskGb, one.diskGb) : sum.diskGb + one.diskGb
      sum.usedGb = isShared ? Math.max(sum.usedGb, one.usedGb) : sum.usedGb + one.usedGb
    }
    return sum
  }

  /**
   * Chooses the member with the smallest share of reserved memory. The cluster itself would send simultaneous creates to
   * the same member. A machine follows its volumes if it can.
   * @param machine with its memory
   * @returns the member, and a function to call after the create has succeeded or failed
   * @throws IncusError
   */
  async place(
    instances: readonly Instance[],
    { serverId, ramMb }: { serverId: string; ramMb: number },
  ): Promise<{ target: string | undefined; done: () => void }> {
    const members = await this.online()
    if (members.includes(null)) return { target: undefined, done: () => {} }
    const hardware = await this.#describe(members)
    // The code has no await from here on, so that two callers do not choose the same member.
    const loads = members.flatMap((member, index) => {
      const has = hardware[index]
      if (member === null || !has) return []
      const there = instances.filter(({ name, location }) => location === member && serverIdOf(name) !== null)
      const reserved = there.reduce((sum, one) => sum + memoryOf(one), this.#coming.get(member) ?? 0)
      const load = (reserved + ramMb) / has.value.ramMb
      const isHome = this.#homes.get(serverId) === member
      return [{ member, isLate: isOld(has), isAway: !isHome, load, lot: Math.random() }]
    })
    // Members that answer come first. The choice among equals is random: another process may choose at the same moment.
    const [best] = loads.sort(
      (a, b) =>
        Number(a.isLate) - Number(b.isLate) ||
        Number(a.isAway) - Number(b.isAway) ||
        a.load - b.load ||
        a.lot - b.lot,
    )
    if (!best) throw new IncusError(0, 'No member of the zone is online')
    const { member } = best
    const count = (change: number) => this.#coming.set(member, (this.#coming.get(member) ?? 0) + change)
    count(ramMb)
    // Callers that still have an older list count this machine, too.
    return { target: member, done: () => void setTimeout(count, LIST_MS, -ramMb).unref() }
  }

  #list(): Promise<ClusterMember[]> {
    const now = performance.now()
    if (this.#all && now - this.#all.at < MEMBERS_MS) return this.#all.value
    const value = this.#client.get<ClusterMember[]>(at('/1.0/cluster/members', { recursion: '1' }))
    this.#all = { at: now, value }
    value.catch(() => {
      this.#all = null
    })
    return value
  }

  #describe(members: readonly (string | null)[]): Promise<(Fresh<Hardware> | null)[]> {
    return Promise.all(members.map((member) => this.#hardwareOf(member ?? '', member ?? undefined)))
  }

  /** Returns a member's hardware, or the last known if its answer is late; null if none is known. */
  async #hardwareOf(name: string, target: string | undefined): Promise<Fresh<Hardware> | null> {
    const known = this.#hardware.get(name)
    if (known && !isOld(known)) return known
    const asking = this.#asking.get(name) ?? this.#ask(name, target)
    this.#asking.set(name, asking)
    await Promise.race([asking, sleep(ANSWER_MS, undefined, { ref: false })])
    const latest = this.#hardware.get(name)
    return latest && performance.now() - latest.at < KEPT_MS ? latest : null
  }

  async #ask(name: string, target: string | undefined): Promise<void> {
    try {
      const [resources, pool] = await Promise.all([
        this.#client.get<{ cpu: { total: number }; memory: { total: number } }>(
          at('/1.0/resources', { target }),
        ),
        this.#client.get<{ space: { total: number; used?: number } }>(
          at(`/1.0/storage-pools/${this.#storagePool}/resources`, { target }),
        ),
      ])
      const value = {
        cores: resources.cpu.total,
        ramMb: Math.floor(resources.memory.total / 2 ** 20),
        diskGb: Math.floor(pool.space.total / GB),
        usedGb: Math.ceil((pool.space.used ?? 0) / GB),
      }
      this.#hardware.set(name, { at: performance.now(), value })
    } catch {
      // A later call asks the member again; until then the member is left out.
    } finally {
      this.#asking.delete(name)
    }
  }

  /** True if all members reach the same pool. @throws IncusError */
  async isStorageShared(): Promise<boolean> {
    return SHARED_STORAGE.includes(await this.#storageDriver())
  }

  /** The driver of the pool, which never changes. */
  #storageDriver(): Promise<string> {
    const path = `/1.0/storage-pools/${this.#storagePool}`
    this.#storage ??= this.#client.get<{ driver: string }>(path).then(({ driver }) => driver)
    this.#storage.catch(() => {
      this.#storage = null
    })
    return this.#storage
  }
}

const isOld = ({ at }: Fresh<Hardware>) => performance.now() - at >= HARDWARE_MS
