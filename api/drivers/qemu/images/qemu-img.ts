import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export interface QemuImgOptions {
  timeoutMs: number
  /** The user that qemu-img runs as; null: the service's own. Only root may choose. */
  owner?: { uid: number; gid: number } | null
  signal?: AbortSignal
  /** The folder that relative paths start from; the user need not have access to the folders above. */
  cwd?: string
  /** The largest size of a file that qemu-img may write. */
  fileBytes?: number
  /** True: qemu-img has no network, which requires namespaces. */
  isAlone?: boolean
  /** True: qemu-img runs at the lowest priority for CPU and disk. */
  isNice?: boolean
}

/** The most memory that a hostile header may use up. A check of the largest allowed image takes a tenth of this. */
const MEMORY_BYTES = 2 * 2 ** 30
const OUTPUT_BYTES = 2 ** 20

/**
 * Runs qemu-img under limits, because a customer may have made the bytes. It ends with the service: its lock on a disk
 * would otherwise keep the machine from starting.
 * @param args paths are absolute, or start from `cwd`
 * @returns its output
 * @throws as execFile does: with `code`, `stderr` and `killed`
 */
export async function qemuImg(
  args: readonly string[],
  { timeoutMs, owner, signal, cwd, fileBytes, isAlone, isNice = false }: QemuImgOptions,
): Promise<string> {
  const user = owner ? ['--reuid', String(owner.uid), '--regid', String(owner.gid), '--clear-groups'] : []
  const limits = [`--as=${MEMORY_BYTES}`, `--cpu=${Math.ceil(timeoutMs / 1000)}`, '--core=0']
  if (fileBytes !== undefined) limits.push(`--fsize=${fileBytes}`)
  const niceness = isNice ? ['nice', '-n', '19'] : []
  const command = ['prlimit', ...limits, ...niceness, 'qemu-img', ...args]
  const confined = ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', ...user, ...command]
  const [program = '', ...rest] = [...(isAlone ? withoutNetwork() : []), ...confined]
  const running = promisify(execFile)(program, rest, {
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    // The rest of the service's environment holds secrets.
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C' },
    maxBuffer: OUTPUT_BYTES,
    ...(signal && { signal }),
    ...(cwd !== undefined && { cwd }),
  })
  const { child } = running
  const ended = new Promise((resolve) => child.once('close', resolve))
  try {
    return (await running).stdout
  } catch (error) {
    // A process that is being killed still holds the lock of its disk.
    if (child.pid !== undefined) await ended
    throw error
  }
}

/** Returns a prefix that runs a command in an empty network. A user namespace without a mapping keeps file access. */
function withoutNetwork(): string[] {
  return ['unshare', '--net', ...(process.getuid?.() === 0 ? [] : ['--user']), '--']
}
