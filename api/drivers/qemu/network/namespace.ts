import { createHash } from 'node:crypto'
import { readlinkSync, statSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { exists, isMissing } from '../../../files.ts'
import {
  findByArgument,
  isReadyWithin,
  killVerified,
  type ProcessId,
  spawnDetached,
} from '../host/process.ts'
import { run } from '../host/run.ts'
import { SETTINGS } from './rules.ts'

/** Identifies an installation by its folder's inode, since the folder may be renamed or copied. */
export function networkId(dataDir: string): string {
  const { dev, ino } = statSync(dataDir)
  return createHash('sha256').update(`${dev}:${ino}`).digest('hex').slice(0, 8)
}

/** The network namespace of all machines. It exists as long as a name or a process holds it. */
export interface Namespace {
  /** The command prefix that runs a program inside. */
  readonly prefix: readonly string[]
  /** The same for a machine's process, as this user. */
  prefixFor(owner: { uid: number; gid: number } | null): readonly string[]
  /** Releases the namespace, which ends with the last process in it. */
  remove(): Promise<void>
}

const TUN = '/dev/net/tun'
/** Milliseconds to start: a busy host may need a while, and one that refuses does so at once. */
const START_MS = 30_000

/**
 * Opens a namespace, or finds it again.
 * @param members processes that are in it, by which it is found if nothing else holds it
 * @throws Error with what is missing and how to fix that, as part of a sentence
 */
export async function openNamespace(name: string, members: readonly number[]): Promise<Namespace> {
  await requireTun()
  const space =
    process.getuid?.() === 0 ? await NamedSpace.open(name, members) : await UserSpace.open(name, members)
  await run([...space.prefix, 'sh', '-ec', SETTINGS])
  return space
}

/** Checks that /dev/net/tun opens, which guests' cards and pasta's need. */
async function requireTun(): Promise<void> {
  try {
    await access(TUN, constants.R_OK | constants.W_OK)
  } catch (error) {
    throw new Error(
      isMissing(error)
        ? `${TUN} is missing; as root: modprobe tun`
        : `this user can't open ${TUN}; as root: chmod 0666 ${TUN} (docs/operating.md says how to keep it so)`,
      { cause: error },
    )
  }
}

/** Root's namespace, held by its name, as `ip netns` has them. */
class NamedSpace implements Namespace {
  readonly #name: string
  readonly prefix: readonly string[]

  private constructor(name: string) {
    this.#name = name
    this.prefix = ['nsenter', `--net=/run/netns/${name}`, '--']
  }

  static async open(name: string, members: readonly number[]): Promise<NamedSpace> {
    const space = new NamedSpace(name)
    if (await space.#isHeld()) return space
    // A name without its mount is left over from a crash, or from somebody else.
    if (await exists(`/run/netns/${name}`)) await run(['ip', 'netns', 'delete', name])
    const [member] = members
    await run(
      member === undefined ? ['ip', 'netns', 'add', name] : ['ip', 'netns', 'attach', name, String(member)],
    )
    return space
  }

  prefixFor(owner: { uid: number; gid: number } | null): readonly string[] {
    const [program = '', place = '', end = ''] = this.prefix
    return owner ? [program, place, '-S', String(owner.uid), '-G', String(owner.gid), end] : this.prefix
  }

  #isHeld(): Promise<boolean> {
    return run([...this.prefix, 'true']).then(
      () => true,
      () => false,
    )
  }

  async remove(): Promise<void> {
    await run(['ip', 'netns', 'delete', this.#name])
  }
}

/** A shell keeps its arguments, by which it is found; the process that it waits for ends with it. */
const HOLD = 'setpriv --pdeathsig KILL sleep infinity; true'

/**
 * An ordinary user's namespace, with a user namespace in which they have root's rights. A tiny process holds both.
 */
export class UserSpace implements Namespace {
  readonly #mark: string
  readonly #holder: ProcessId

  private constructor(mark: string, holder: ProcessId) {
    this.#mark = mark
    this.#holder = holder
  }

  static async open(name: string, members: readonly number[]): Promise<UserSpace> {
    const mark = `${name}-${process.getuid?.()}`
    const [member] = members
    let started = { exited: new Promise<void>(() => {}) }
    if (!findByArgument(mark)) {
      const enter =
        member === undefined
          ? ['unshare', '--user', '--map-root-user', '--net', '--']
          : ['nsenter', '--preserve-credentials', '--user', '--net', '--target', String(member), '--']
      const [program = '', ...args] = [...enter, 'sh', '-c', HOLD, mark]
      started = await spawnDetached(program, args, '/dev/null')
    }
    let found: ProcessId | null = null
    const isThere = async () => {
      const holder = findByArgument(mark)
      found = holder && isApart(holder.pid) ? holder : null
      return found !== null
    }
    if ((await isReadyWithin(START_MS, started.exited, isThere)) && found) return new UserSpace(mark, found)
    throw new Error(
      'user namespaces are not allowed; as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), or kernel.unprivileged_userns_clone=1 (Debian)',
    )
  }

  get prefix(): readonly string[] {
    const target = String(this.#holder.pid)
    return ['nsenter', '--preserve-credentials', '--user', '--net', '--target', target, '--']
  }

  /** Root of a user namespace can't switch to the kernel's other users, and need not. */
  prefixFor(): readonly string[] {
    return [...this.prefix, 'setpriv', '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs', '--']
  }

  get pid(): number {
    return this.#holder.pid
  }

  async remove(): Promise<void> {
    await killVerified(this.#holder, this.#mark)
  }
}

/** True if a process is in another network namespace than the service. */
function isApart(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net')
  } catch {
    return false
  }
}
