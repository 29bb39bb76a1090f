import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, rmdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { isMissing, isPassable, writeDurably } from '../../files.ts'
import {
  type GuestAddress,
  type MachineSpec,
  PLAIN_NETWORK,
  type ServerNetwork,
  SSH_PORT,
} from '../driver.ts'
import type { ProcessId } from './host/process.ts'
import type { DirectBoot } from './images/images.ts'

/** The kernel's sockaddr_un holds 108 bytes with its closing zero. */
const SOCKET_PATH_LIMIT = 107

/** The files of one machine. All but `run`, `log` and `sockets` belong to the service, not to its QEMU. */
export interface MachineFiles {
  dir: string
  /** MachineRecord; written last by define, so that a machine either is defined or is not. */
  record: string
  /** RunRecord; there from before a start until powerOff. */
  running: string
  disk: string
  seed: string
  /** What passt says. */
  passtLog: string
  /** Holds what QEMU makes itself. */
  run: string
  /** Holds what QEMU and the guest's console say; QEMU does not see it. */
  log: string
  qemuLog: string
  serialLog: string
}

/** What a start needs to know. The password and the customer's user data are in the seed only. */
export interface MachineRecord {
  uuid: string
  spec: Omit<MachineSpec, 'password' | 'userData' | 'image'>
  passwordHash: string | null
  /** Null: it was never connected. */
  network: ServerNetwork | null
  /** The image under the disk; this and `direct` as absolute paths. */
  base: string
  direct: DirectBoot | null
}

/** What was started, so that it is found, judged and cleaned up by any later process of the service. */
export interface RunRecord {
  startedAt: number
  /** Folder of the machine's unix sockets. */
  sockets: string
  cgroups: string[]
  /** Whether a passt belongs to it. */
  passt: boolean
  /** Whether its card is in the network of all guests. */
  isRouted?: boolean
  /** True when a guest shutdown was seen: later, the process may vanish and that is no crash. */
  guestShutdown: boolean
  /** Its QEMU; missing between a start and QEMU's, and where an earlier version started it. */
  process?: ProcessId
}

export class Layout {
  readonly dataDir: string
  readonly machines: string
  readonly trash: string
  readonly kvmMemory: string
  /** An empty folder, over which each QEMU has its own root. */
  readonly walls: string
  #shortFolder: string | null = null

  constructor(dataDir: string) {
    this.dataDir = dataDir
    this.machines = join(dataDir, 'vms')
    this.trash = join(dataDir, 'trash')
    this.kvmMemory = join(dataDir, 'kvm-failed')
    this.walls = join(dataDir, 'walls')
    // Passable, not readable: QEMU may run as another user, who has to get to its own machine's files.
    mkdirSync(dataDir, { recursive: true, mode: 0o711 })
    mkdirSync(this.machines, { recursive: true, mode: 0o711 })
    mkdirSync(this.trash, { recursive: true, mode: 0o700 })
    // A strict umask may have made it narrower once.
    if (process.getuid?.() === 0) chmodSync(this.machines, 0o711)
  }

  /** @throws Error for an id that is no plain name, as it becomes a path */
  files(serverId: string): MachineFiles {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(serverId)) throw new Error(`"${serverId}" cannot be a machine's id`)
    const dir = join(this.machines, serverId)
    const log = join(dir, 'log')
    return {
      dir,
      record: join(dir, 'spec.json'),
      running: join(dir, 'running.json'),
      disk: join(dir, 'disk.qcow2'),
      seed: join(dir, 'seed.img'),
      passtLog: join(dir, 'passt.log'),
      run: join(dir, 'run'),
      log,
      qemuLog: join(log, 'qemu.log'),
      serialLog: join(log, 'serial.log'),
    }
  }

  /** Of what lies outside of the data folder, such as control groups: another data folder's has another name. */
  get hash(): string {
    return createHash('sha256').update(this.dataDir).digest('hex').slice(0, 12)
  }

  /**
   * A folder for the machine's sockets: among its files, or in a place for temporary files where the former have
   * too long a name, or where we are root and the machine's own user could not get to them.
   */
  socketFolder(serverId: string): string {
    const { run } = this.files(serverId)
    const isReachable = process.getuid?.() !== 0 || isPassable(this.machines)
    if (isReachable && Buffer.byteLength(join(run, 'serial.sock')) <= SOCKET_PATH_LIMIT) return run
    const base = ownFolder(join(shortFolder(), `berth-${process.getuid?.() ?? 0}-${this.hash}`))
    this.#shortFolder = base
    // The id is cut down by hashing: two hex digests this long do not meet.
    const folder = join(base, createHash('sha256').update(serverId).digest('hex').slice(0, 20))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }

  /** Takes the folder for short socket names away if no machine has its sockets there. */
  close(): void {
    try {
      if (this.#shortFolder) rmdirSync(this.#shortFolder)
    } catch {
      // It is in use, or gone.
    }
  }
}

/** Root's XDG_RUNTIME_DIR is closed to the users that its machines run as. */
function shortFolder(): string {
  const own = process.getuid?.() === 0 ? undefined : process.env.XDG_RUNTIME_DIR
  return own ?? tmpdir()
}

/**
 * A folder in a place where others may write: ours alone, or refused, since who owns it could swap our sockets.
 * Passable (0711), because a QEMU that runs as another user must get to its machine's own, closed folder.
 */
function ownFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o711 })
  const stat = lstatSync(path)
  if (!stat.isDirectory() || stat.uid !== process.getuid?.())
    throw new Error(`${path} belongs to somebody else, so machines' sockets cannot be kept there. Remove it.`)
  chmodSync(path, 0o711)
  return path
}

type KeptRecord = Omit<MachineRecord, 'spec' | 'network'> & {
  spec: KeptSpec
  network?: (Partial<ServerNetwork> & Pick<ServerNetwork, 'number'>) | null
}

/** @returns null when the file is not there. */
export async function readRecord(files: MachineFiles): Promise<MachineRecord | null> {
  // We alone write this file, whole or not at all.
  const record = (await readJson(files.record)) as KeptRecord | null
  if (!record) return null
  const { base, direct, ...rest } = record
  const place = (kept: string) => presentPath(files, kept)
  return {
    ...rest,
    spec: presentSpec(record.spec),
    network: presentNetwork(record),
    base: place(base),
    direct: direct && moved(direct, place),
  }
}

/** Paths in the file start from the machine's folder, so that the data folder may get another name. */
export async function writeRecord(files: MachineFiles, record: MachineRecord): Promise<void> {
  const { base, direct, ...rest } = record
  const place = (path: string) => relative(files.dir, path)
  const kept = { ...rest, base: place(base), direct: direct && moved(direct, place) }
  await writeDurably(files.record, JSON.stringify(kept, null, 2))
}

function moved(direct: DirectBoot, place: (path: string) => string): DirectBoot {
  return { ...direct, kernel: place(direct.kernel), initrd: place(direct.initrd) }
}

/** Paths were absolute once, perhaps under another name of the data folder. Images are in one place of it. */
function presentPath({ dir }: MachineFiles, kept: string): string {
  const image = /\/images\/([0-9a-f]{64}\/[^/]+)$/.exec(kept)?.[1]
  return image === undefined ? resolve(dir, kept) : resolve(dir, '../../images', image)
}

/** A machine as earlier versions wrote it down: with one card and one port, or without owner, or without addresses. */
interface KeptSpec extends Omit<MachineRecord['spec'], 'owner' | 'interfaces'> {
  owner?: string
  mac?: string
  sshPort?: number
  interfaces?: { mac: string; addresses?: readonly GuestAddress[] }[]
  forwards?: { protocol: 'tcp'; hostPort: number; guestPort: number }[]
}

function presentSpec(kept: KeptSpec): MachineRecord['spec'] {
  const { mac = '', sshPort: _port, forwards: _forwards, owner = kept.serverId, ...spec } = kept
  const cards = kept.interfaces ?? [{ mac }]
  return { ...spec, owner, interfaces: cards.map((card) => ({ addresses: [], ...card })) }
}

/** Earlier versions kept fewer fields. */
function presentNetwork({ network, spec }: KeptRecord): ServerNetwork | null {
  if (network) return { ...PLAIN_NETWORK, ...network }
  return spec.interfaces?.[0]?.addresses ? null : oldNetwork(spec)
}

/** What led to a machine before there was a network for all: nothing but ports, and no number. */
function oldNetwork({ sshPort, forwards = [] }: KeptSpec): ServerNetwork {
  const ports = forwards.map(({ guestPort, ...rest }) => ({ ...rest, port: guestPort }))
  if (sshPort) ports.push({ protocol: 'tcp', hostPort: sshPort, port: SSH_PORT })
  return { ...PLAIN_NETWORK, number: 0, ports }
}

/** @returns null when the file is not there. */
export async function readRun(files: MachineFiles): Promise<RunRecord | null> {
  // We alone write this file, whole or not at all.
  const run = (await readJson(files.running)) as RunRecord | null
  // Sockets among the machine's files move with them.
  if (run && basename(run.sockets) === basename(files.run)) return { ...run, sockets: files.run }
  return run
}

async function readJson(path: string): Promise<unknown> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'))
    return value
  } catch (error) {
    if (isMissing(error)) return null
    throw new Error(`${basename(dirname(path))}: ${basename(path)} cannot be read`, { cause: error })
  }
}
