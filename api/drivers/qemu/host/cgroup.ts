import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode, isMissing } from '../../../files.ts'

export interface Limits {
  /** CPU cores, possibly a fraction. */
  cpu: number
  memoryBytes: number
  pids: number
}

/** A hierarchy in which the service may create groups, and the controllers that it offers. */
interface Hierarchy {
  version: 1 | 2
  base: string
  controllers: readonly string[]
}

const CONTROLLERS = ['cpu', 'memory', 'pids'] as const
const PERIOD_US = 100_000

/**
 * Limits the host resources of a machine's processes by control groups: version 2 if the controllers are delegated to
 * the service, version 1 if it may write there. `missing` names the resources that can't be limited.
 */
export class Cgroups {
  readonly #hierarchies: readonly Hierarchy[]
  readonly missing: readonly string[]

  private constructor(hierarchies: readonly Hierarchy[]) {
    this.#hierarchies = hierarchies
    const covered = hierarchies.flatMap((hierarchy) => hierarchy.controllers)
    this.missing = CONTROLLERS.filter((name) => !covered.includes(name))
  }

  /** @param name of the folder that will hold all groups, unique to this data folder */
  static async open(name: string): Promise<Cgroups> {
    const mounts = await readFile('/proc/self/mountinfo', 'utf8')
    const own = await readFile('/proc/self/cgroup', 'utf8')
    const hierarchies: Hierarchy[] = []
    const taken = new Set<string>()
    for (const candidate of candidates(mounts, own)) {
      const wanted = candidate.controllers.filter((controller) => !taken.has(controller))
      const usable = await usableControllers({
        ...candidate,
        controllers: wanted,
        base: join(candidate.base, name),
      })
      if (usable.length === 0) continue
      for (const controller of usable) taken.add(controller)
      hierarchies.push({ ...candidate, base: join(candidate.base, name), controllers: usable })
    }
    return new Cgroups(hierarchies)
  }

  /** Returns the folders that limit() creates for a machine. */
  folders(serverId: string): string[] {
    return this.#hierarchies.map((hierarchy) => join(hierarchy.base, serverId))
  }

  /** Creates the machine's groups, or updates their limits. */
  async limit(serverId: string, limits: Limits): Promise<void> {
    for (const hierarchy of this.#hierarchies) {
      const folder = join(hierarchy.base, serverId)
      await mkdir(folder, { recursive: true })
      for (const [file, value] of settings(hierarchy, limits)) await writeFile(join(folder, file), value)
    }
  }

  /** Moves a process with its threads and later children into the machine's groups. */
  async add(serverId: string, pid: number): Promise<void> {
    for (const folder of this.folders(serverId)) await writeFile(join(folder, 'cgroup.procs'), String(pid))
  }

  /** Removes the folder of all groups unless a machine still has one. */
  async close(): Promise<void> {
    for (const { base } of this.#hierarchies) await rmdir(base).catch(() => {})
  }
}

/**
 * Removes the groups of a deleted machine. Processes leave them a moment after their end. Any that stay are killed: a
 * guest that broke out of its QEMU may have overwritten the arguments by which it is found.
 */
export async function removeCgroups(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    for (let attempt = 0; ; attempt++) {
      try {
        await rmdir(folder)
        break
      } catch (error) {
        if (isMissing(error)) break
        if (errorCode(error) !== 'EBUSY' || attempt === 2 * GRACE_ATTEMPTS) throw error
        if (attempt >= GRACE_ATTEMPTS) await killGroup(folder)
        await sleep(20)
      }
    }
  }
}

/** Two seconds, in which a machine's log writers finish. */
const GRACE_ATTEMPTS = 100

async function killGroup(folder: string): Promise<void> {
  const pids = (await readFile(join(folder, 'cgroup.procs'), 'utf8')).split('\n').map(Number)
  for (const pid of pids) {
    // A process of another pid namespace is listed as 0, which kill() takes for the caller's group.
    if (!(pid > 1) || pid === process.pid) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch (error) {
      if (errorCode(error) !== 'ESRCH') throw error
    }
  }
}

function settings(hierarchy: Hierarchy, limits: Limits): [file: string, value: string][] {
  const quota = Math.round(limits.cpu * PERIOD_US)
  const all: Record<string, [string, string][]> =
    hierarchy.version === 2
      ? {
          cpu: [['cpu.max', `${quota} ${PERIOD_US}`]],
          memory: [['memory.max', String(limits.memoryBytes)]],
          pids: [['pids.max', String(limits.pids)]],
        }
      : {
          cpu: [
            ['cpu.cfs_period_us', String(PERIOD_US)],
            ['cpu.cfs_quota_us', String(quota)],
          ],
          memory: [['memory.limit_in_bytes', String(limits.memoryBytes)]],
          pids: [['pids.max', String(limits.pids)]],
        }
  return hierarchy.controllers.flatMap((controller) => all[controller] ?? [])
}

/**
 * Lists places where groups could be created. In version 2 a group with processes can't have limited children. So the
 * candidates are the top (root may write there, and machines then outlive a restart of the service's systemd unit),
 * or the parent of the service's own group (a unit with Delegate= and DelegateSubgroup=). In version 1 it is the
 * service's own group.
 */
function candidates(mountinfo: string, own: string): Hierarchy[] {
  const found: Hierarchy[] = []
  for (const line of mountinfo.split('\n')) {
    const [fields = '', filesystem = ''] = line.split(' - ')
    const mount = fields.split(' ')[4]
    const [type, , options = ''] = filesystem.split(' ')
    if (mount === undefined) continue
    if (type === 'cgroup2') {
      const path = /^0::(.*)$/m.exec(own)?.[1] ?? '/'
      for (const base of new Set([mount, join(mount, dirname(path))]))
        found.push({ version: 2, base, controllers: CONTROLLERS })
    } else if (type === 'cgroup') {
      const controllers = CONTROLLERS.filter((name) => options.split(',').includes(name))
      for (const controller of controllers) {
        const path = new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`, 'm').exec(own)?.[1] ?? '/'
        for (const base of new Set([join(mount, path), mount]))
          found.push({ version: 1, base, controllers: [controller] })
      }
    }
  }
  return found
}

/** Creates the folder for all groups and a trial group, to see which controllers really work there. */
async function usableControllers(hierarchy: Hierarchy): Promise<string[]> {
  const { base, version } = hierarchy
  const trial = join(base, 'trial')
  try {
    if (hierarchy.controllers.length === 0) return []
    await mkdir(base, { recursive: true })
    const usable: string[] = []
    for (const controller of hierarchy.controllers)
      if (version === 1 || (await enable(controller, [dirname(base), base]))) usable.push(controller)
    await mkdir(trial, { recursive: true })
    const one = { cpu: 1, memoryBytes: 2 ** 30, pids: 64 }
    for (const [file, value] of settings({ ...hierarchy, controllers: usable }, one))
      await writeFile(join(trial, file), value)
    if (usable.length === 0) await rmdir(trial).then(() => rmdir(base))
    return usable
  } catch {
    // The service may not write here, or the kernel lacks support: other places are tried, and missing limits are
    // reported.
    return []
  } finally {
    await rmdir(trial).catch(() => {})
  }
}

async function enable(controller: string, folders: readonly string[]): Promise<boolean> {
  try {
    for (const folder of folders) await writeFile(join(folder, 'cgroup.subtree_control'), `+${controller}`)
    return true
  } catch {
    return false
  }
}
