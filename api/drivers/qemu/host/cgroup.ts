import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode, isMissing } from '../../../files.ts'

export interface Limits {
  /** Cores; a fraction is fine. */
  cpu: number
  memoryBytes: number
  pids: number
}

/** A hierarchy in which we may make groups, and what it limits. */
interface Hierarchy {
  version: 1 | 2
  base: string
  controllers: readonly string[]
}

const CONTROLLERS = ['cpu', 'memory', 'pids'] as const
const PERIOD_US = 100_000

/**
 * Limits what a machine's processes may take of the host, by control groups: version 2 where the controllers are
 * given to us, version 1 where we may write, else not at all (`missing` then names what is not limited).
 */
export class Cgroups {
  readonly #hierarchies: readonly Hierarchy[]
  readonly missing: readonly string[]

  private constructor(hierarchies: readonly Hierarchy[]) {
    this.#hierarchies = hierarchies
    const covered = hierarchies.flatMap((hierarchy) => hierarchy.controllers)
    this.missing = CONTROLLERS.filter((name) => !covered.includes(name))
  }

  /** @param name of the folder that will hold all our groups, unique to this data folder */
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

  /** The folders that limit() makes for a machine. */
  folders(serverId: string): string[] {
    return this.#hierarchies.map((hierarchy) => join(hierarchy.base, serverId))
  }

  /** Makes the machine's groups, or brings them to these limits. */
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

  /** Takes the folder of all groups away if no machine has any. */
  async close(): Promise<void> {
    for (const { base } of this.#hierarchies) await rmdir(base).catch(() => {})
  }
}

/**
 * Removes the groups of a machine that is over. Processes leave them a moment after their end. What is still there
 * later is killed: a guest that broke out of its QEMU may have overwritten the arguments by which it is found.
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

/** Two seconds, in which the keepers of a log write its end. */
const GRACE_ATTEMPTS = 100

async function killGroup(folder: string): Promise<void> {
  const pids = (await readFile(join(folder, 'cgroup.procs'), 'utf8')).split('\n').map(Number)
  for (const pid of pids) {
    // A process of another pid namespace is listed as 0, which would be us.
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
 * Where groups could be made. In version 2 a group with processes has no groups with limits in it, so it is the
 * top (root may write there, and the machines then outlive a restart of the service's systemd unit), or the parent
 * of our own group (a unit with Delegate= and DelegateSubgroup=). In version 1, below our own group.
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

/** Makes the folder for all groups and one in it, to see which controllers really work there. */
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
    // No right to write, or not the kernel's support: other places are tried, and what is missing is reported.
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
