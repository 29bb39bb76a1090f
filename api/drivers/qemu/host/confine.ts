import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Owner } from './process.ts'
import { run } from './run.ts'
import { socketFilter } from './seccomp.ts'

/** The files, rights and resources that a confined program has. Paths are the same inside as on the host. */
export interface Walls {
  /** The user that the program runs as; null: the service's own user, without capabilities. */
  owner: Owner | null
  /** The folder on which the program's root is built; null: the program sees the host's files and processes. */
  root: string | null
  /** True if the program opens connections in the host's network. */
  hasNetwork: boolean
  /** The command that enters the network of the program's card; empty if it has no card. */
  entrance: readonly string[]
  /** Files that the program may read, and files and folders that it may write. */
  shown: readonly string[]
  shared: readonly string[]
  /**
   * The folder of the program's logs, which it can't see: serial.log (its descriptor 3) and qemu.log (its stderr).
   */
  logs: string
  /** The size in bytes beyond which no file of the program may grow. */
  fileBytes: number
}

/** The descriptor whose output goes to serial.log. */
export const SERIAL_FD = 3

const SCRIPT = join(import.meta.dirname, 'confine.sh')
const PROCESSES = 512
const TRIAL_MS = 10_000

/**
 * Starts a program that outlives the service and that a guest may take over. When this returns, the program runs or
 * has failed for good.
 * @param admit gets a pid before anything runs, whose later children are the program and its log writers
 */
export async function spawnConfined(
  command: readonly string[],
  walls: Walls,
  admit: (pid: number) => Promise<void>,
): Promise<void> {
  const child = spawn('bash', [SCRIPT, 'outside'], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    cwd: '/',
    env: environment(walls),
  })
  // The descriptor closes when the program starts, and also when the start fails.
  const started = new Promise<void>((resolve, reject) => {
    child.stdout.once('close', resolve).resume()
    child.once('error', reject)
  })
  started.catch(() => {})
  child.stdin.on('error', () => {})
  try {
    if (child.pid !== undefined) await admit(child.pid)
    child.stdin.end(['go', ...command, ''].join('\0'))
  } finally {
    child.stdin.end()
  }
  await started
  child.unref()
}

/** Explains as part of a sentence why programs can't be confined here; null if they can. */
export async function wallsObstacle(
  program: string,
  root: string,
  owner: Owner | null,
): Promise<string | null> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  const walls = {
    owner,
    root,
    hasNetwork: false,
    entrance: [],
    shown: [],
    shared: [],
    logs: '/',
    fileBytes: 2 ** 20,
  }
  const child = spawn('unshare', [...namespaces(walls), '--fork', 'bash', SCRIPT, 'inside'], {
    stdio: ['pipe', 'ignore', 'pipe'],
    cwd: '/',
    env: environment(walls),
    timeout: TRIAL_MS,
    killSignal: 'SIGKILL',
  })
  let words = ''
  child.stderr.on('data', (text) => {
    words += text
  })
  child.stdin.on('error', () => {})
  child.stdin.end([program, '--version', ''].join('\0'))
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code) => resolve(code === 0 ? null : words.trim().split('\n')[0] || `code ${code}`))
  })
}

function namespaces({ root, hasNetwork, entrance }: Walls): string[] {
  if (root === null) return []
  const user = isRoot() ? [] : ['--user', '--map-root-user']
  const net = hasNetwork || entrance.length > 0 ? [] : ['--net']
  return [...user, '--mount', '--propagation', 'slave', '--pid', '--ipc', '--uts', ...net]
}

const NO_CAPABILITIES = ['--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all']

/** Returns setpriv's options for a program that has only the rights of its user. */
function privileges(owner: Owner | null): string[] {
  const user = owner ? [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'] : []
  return ['--no-new-privs', ...user, ...(isRoot() ? NO_CAPABILITIES : [])]
}

/** CAP_SYS_RESOURCE */
const RAISES_LIMITS = 1n << 24n

/** True if this process may raise the limits of running programs. Even root may lack the right in a container. */
export function raisesLimits(): boolean {
  const held = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
  return (BigInt(`0x${held}`) & RAISES_LIMITS) !== 0n
}

/** Sets the size beyond which no file of a running program may grow. */
export async function limitFiles(pid: number, fileBytes: number): Promise<void> {
  await run(['prlimit', `--pid=${pid}`, `--fsize=${fileBytes}`])
}

/** Returns a command that confines itself, with only its user's rights and files up to this size. */
export function withoutRights(command: readonly string[], owner: Owner | null, fileBytes: number): string[] {
  const limits = ['prlimit', '--core=0', `--fsize=${fileBytes}`, '--']
  return ['bash', SCRIPT, 'plain', 'setpriv', ...privileges(owner), ...limits, ...command]
}

/** Returns the environment for confine.sh. No part but a path may contain a space. */
function environment(walls: Walls): Record<string, string> {
  const { owner, root, entrance, shown, shared, logs, fileBytes } = walls
  const outside = privileges(owner)
  // Inside its own user namespace, even an ordinary user has capabilities to drop.
  const inside = root === null ? outside : [...new Set([...outside, ...NO_CAPABILITIES])]
  // The kernel counts processes by user, so a limit would also count the user's other processes.
  const limits = [
    '--core=0',
    '--nofile=4096',
    `--fsize=${fileBytes}`,
    ...(owner ? [`--nproc=${PROCESSES}`] : []),
  ]
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    LC_ALL: 'C',
    ENTRANCE: entrance.join(' '),
    NAMESPACES: namespaces(walls).join(' '),
    KEEPER: outside.join(' '),
    PRIVILEGES: inside.join(' '),
    LIMITS: limits.join(' '),
    LOGS: logs,
    FILTER: process.arch === 'x64' ? socketFilter().toString('hex') : '',
    ROOT: root ?? '',
    SHOWN: shown.join('\n'),
    SHARED: shared.join('\n'),
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}
