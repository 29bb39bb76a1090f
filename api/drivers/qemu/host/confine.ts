import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Owner } from './process.ts'
import { socketFilter } from './seccomp.ts'

/** What a program may see and take. Paths are the same inside as on the host. */
export interface Walls {
  /** Whom it runs as; null: as we do, but without capabilities. */
  owner: Owner | null
  /** Where its root is built, a folder of ours; null: it sees the host's files and processes. */
  root: string | null
  /** Whether it makes connections of the host's. */
  hasNetwork: boolean
  /** The command that leads to the network of its card; none: it has no card. */
  entrance: readonly string[]
  /** Files that it may read, and files and folders that it may write. */
  shown: readonly string[]
  shared: readonly string[]
  /** Folder for its logs, which it does not see: serial.log of its descriptor 3, qemu.log of what it complains. */
  logs: string
  /** No file of its may grow beyond this. */
  fileBytes: number
}

/** The descriptor that ends in serial.log. */
export const SERIAL_FD = 3

const SCRIPT = join(import.meta.dirname, 'confine.sh')
const PROCESSES = 512
const TRIAL_MS = 10_000

/**
 * Starts a program that outlives us and that a guest may take over. When this returns it runs, or never will.
 * @param admit is given a pid before anything runs: its later children are the program and the keepers of its logs
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
  // The program's start closes it, and so does its failure.
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

/** Why a program cannot be confined here, as a sentence part; null where it can. */
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

/** setpriv's options for a program that has no rights but those of its user. */
function privileges(owner: Owner | null): string[] {
  const user = owner ? [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'] : []
  return ['--no-new-privs', ...user, ...(isRoot() ? NO_CAPABILITIES : [])]
}

/** A command that builds its own walls, with nothing of ours but its user, and files up to this size. */
export function withoutRights(command: readonly string[], owner: Owner | null, fileBytes: number): string[] {
  const limits = ['prlimit', '--core=0', `--fsize=${fileBytes}`, '--']
  return ['bash', SCRIPT, 'plain', 'setpriv', ...privileges(owner), ...limits, ...command]
}

/** For confine.sh; no part but a path may hold a space. */
function environment(walls: Walls): Record<string, string> {
  const { owner, root, entrance, shown, shared, logs, fileBytes } = walls
  const outside = privileges(owner)
  // Inside of its own user namespace an ordinary user has capabilities to lose too.
  const inside = root === null ? outside : [...new Set([...outside, ...NO_CAPABILITIES])]
  // Of a user who has other processes the number says nothing.
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
