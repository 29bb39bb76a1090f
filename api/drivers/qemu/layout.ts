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

/** The kernel's sockaddr_un holds 108 bytes, including the terminating zero. */
const SOCKET_PATH_LIMIT = 107

/** The files of one machine. All but `run`, `log` and `sockets` belong to the service and not to its QEMU. */
export interface MachineFiles {
  dir: string
  /** MachineRecord, written last by `define`, so that a machine is either defined or not. */
  record: string
  /** RunRecord, which exists from before a start until powerOff. */
  running: string
  disk: string
  seed: string
  /** The disk and the seed of a rescue system. */
  rescueDisk: string
  rescueSeed: string
  /** Messages of passt. */
  passtLog: string
  /** The folder in which QEMU creates its own files. */
  run: string
  /** The folder of the logs of QEMU and of the guest's console; QEMU does not see it. */
  log: string
  qemuLog: string
  serialLog: string
}

/** The image below a disk, and the files to start it without a boot loader. All paths are absolute. */
export interface Stands {
  base: string
  direct: DirectBoot | null
}

/** The settings for a start. The password and the customer's user data are in the seed only. */
export interface MachineRecord extends Stands {
  uuid: string
  spec: Omit<MachineSpec, 'password' | 'userData' | 'image'>
  passwordHash: string | null
  /** Null: the machine was never connected. */
  network: ServerNetwork | null
  /** The rescue system that it boots instead of its own disk, if any. */
  rescue?: Stands & { id: string }
  /** The ISO in its drive, and its file; missing: none. */
  iso?: { id: string; file: string }
  /** True if the machine last ended without a shutdown of its guest. */
  wasCut?: boolean
}

/** The seed of the system that a machine boots. */
export function seedOf({ rescue }: Pick<MachineRecord, 'rescue'>, files: MachineFiles): string {
  return rescue ? files.rescueSeed : files.seed
}

/** The processes of a start. With this record, any later process of the service can find and end them. */
export interface RunRecord {
  startedAt: number
  /** The folder of the machine's unix sockets. */
  sockets: string
  cgroups: string[]
  /** True if the machine has a passt process. */
  passt: boolean
  /** True if the machine's card is in the network of all guests. */
  isRouted?: boolean
  /** True if the guest has shut down: if the process vanishes after that, it did not crash. */
  guestShutdown: boolean
  /** True if the guest's file systems may be frozen. */
  isFrozen?: boolean
  /** The QEMU process; undefined until it has started, and for machines of earlier versions. */
  process?: ProcessId
}

export class Layout {
  readonly dataDir: string
  readonly machines: string
  readonly trash: string
  readonly kvmMemory: string
  /** An empty folder, on which each QEMU mounts its own root. */
  readonly walls: string
  #shortFolder: string | null = null

  /** @param machines the name of the folder of the machines */
  constructor(dataDir: string, machines = 'vms') {
    this.dataDir = dataDir
    this.machines = join(dataDir, machines)
    this.trash = join(dataDir, 'trash')
    this.kvmMemory = join(dataDir, 'kvm-failed')
    this.walls = join(dataDir, 'walls')
    // Others may enter the folder but not list it: a QEMU with its own user has to reach its machine's files.
    mkdirSync(dataDir, { recursive: true, mode: 0o711 })
    mkdirSync(this.machines, { recursive: true, mode: 0o711 })
    mkdirSync(this.trash, { recursive: true, mode: 0o700 })
    // A strict umask may have removed rights from it.
    if (process.getuid?.() === 0) chmodSync(this.machines, 0o711)
  }

  /** @throws Error if the id is not a plain name, since it becomes part of a path */
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
      rescueDisk: join(dir, 'rescue.qcow2'),
      rescueSeed: join(dir, 'rescue-seed.img'),
      passtLog: join(dir, 'passt.log'),
      run: join(dir, 'run'),
      log,
      qemuLog: join(log, 'qemu.log'),
      serialLog: join(log, 'serial.log'),
    }
  }

  /** Distinguishes this data folder's objects outside of it, such as control groups, from those of others. */
  get hash(): string {
    return createHash('sha256').update(this.dataDir).digest('hex').slice(0, 12)
  }

  /**
   * Returns the folder of the machine's sockets: among its files, or in a temporary place if that path would be too
   * long, or if the machine's own user could not enter it because the service runs as root.
   */
  socketFolder(serverId: string): string {
    const { run } = this.files(serverId)
    const isReachable = process.getuid?.() !== 0 || isPassable(this.machines)
    if (isReachable && Buffer.byteLength(join(run, 'serial.sock')) <= SOCKET_PATH_LIMIT) return run
    const base = ownFolder(join(shortFolder(), `berth-${process.getuid?.() ?? 0}-${this.hash}`))
    this.#shortFolder = base
    // The id is shortened by hashing: collisions of 20 hex digits are not a concern.
    const folder = join(base, createHash('sha256').update(serverId).digest('hex').slice(0, 20))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }

  /** Removes the temporary folder of sockets unless a machine still has sockets there. */
  close(): void {
    try {
      if (this.#shortFolder) rmdirSync(this.#shortFolder)
    } catch {
      // The folder is in use or gone.
    }
  }
}

/** Root's XDG_RUNTIME_DIR is closed to the users that its machines run as. */
function shortFolder(): string {
  const own = process.getuid?.() === 0 ? undefined : process.env.XDG_RUNTIME_DIR
  return own ?? tmpdir()
}

/**
 * Returns a folder of the service's own in a place where others may write. A folder that somebody else owns is
 * refused, since its owner could replace the sockets. Its mode is 0711, because a QEMU with its own user must reach
 * its machine's folder.
 * @throws Error if somebody else owns the folder
 */
function ownFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o711 })
  const stat = lstatSync(path)
  if (!stat.isDirectory() || stat.uid !== process.getuid?.())
    throw new Error(
      `${path} belongs to another user, so the sockets of machines cannot be stored there. Remove it.`,
    )
  chmodSync(path, 0o711)
  return path
}

type KeptRecord = Omit<MachineRecord, 'spec' | 'network'> & {
  spec: KeptSpec
  network?: (Partial<ServerNetwork> & Pick<ServerNetwork, 'number'>) | null
}

/** @returns null if the file does not exist */
export async function readRecord(files: MachineFiles): Promise<MachineRecord | null> {
  // Only the service writes this file, and it replaces the file as a whole.
  const record = (await readJson(files.record)) as KeptRecord | null
  if (!record) return null
  const place = (kept: string) => presentPath(files, kept)
  return { ...moved(record, place), spec: presentSpec(record.spec), network: presentNetwork(record) }
}

/** Paths in the file are relative to the machine's folder, so that the data folder may be renamed. */
export async function writeRecord(files: MachineFiles, record: MachineRecord): Promise<void> {
  const kept = moved(record, (path) => relative(files.dir, path))
  await writeDurably(files.record, JSON.stringify(kept, null, 2))
}

/** Changes the paths of a record. */
function moved<Kept extends Pick<MachineRecord, 'base' | 'direct' | 'rescue' | 'iso'>>(
  record: Kept,
  place: (path: string) => string,
): Kept {
  const move = ({ base, direct }: Stands): Stands => ({
    base: place(base),
    direct: direct && { ...direct, kernel: place(direct.kernel), initrd: place(direct.initrd) },
  })
  const { rescue, iso } = record
  return {
    ...record,
    ...move(record),
    ...(rescue && { rescue: { ...rescue, ...move(rescue) } }),
    ...(iso && { iso: { ...iso, file: place(iso.file) } }),
  }
}

/**
 * Resolves a path that earlier versions stored as absolute. The data folder may have been renamed since, but images
 * are always in the same place in it.
 */
function presentPath({ dir }: MachineFiles, kept: string): string {
  const image = /\/images\/([0-9a-f]{64}\/[^/]+)$/.exec(kept)?.[1]
  return image === undefined ? resolve(dir, kept) : resolve(dir, '../../images', image)
}

/** A record of an earlier version: with one card and one port, or without an owner, addresses, a disk's name or an instance. */
interface KeptSpec extends Omit<MachineRecord['spec'], 'owner' | 'interfaces' | 'diskId' | 'instanceId'> {
  owner?: string
  diskId?: string
  instanceId?: string
  mac?: string
  sshPort?: number
  interfaces?: { mac: string; addresses?: readonly GuestAddress[] }[]
  forwards?: { protocol: 'tcp'; hostPort: number; guestPort: number }[]
}

function presentSpec(kept: KeptSpec): MachineRecord['spec'] {
  const { mac = '', sshPort: _port, forwards: _forwards, ...spec } = kept
  const { owner = kept.serverId, diskId = '', instanceId = kept.serverId } = kept
  const cards = kept.interfaces ?? [{ mac }]
  return { ...spec, owner, diskId, instanceId, interfaces: cards.map((card) => ({ addresses: [], ...card })) }
}

/** Fills in fields that earlier versions did not keep. */
function presentNetwork({ network, spec }: KeptRecord): ServerNetwork | null {
  if (network) return { ...PLAIN_NETWORK, ...network }
  return spec.interfaces?.[0]?.addresses ? null : oldNetwork(spec)
}

/** Converts the network of earlier versions, which had ports only and no number. */
function oldNetwork({ sshPort, forwards = [] }: KeptSpec): ServerNetwork {
  const ports = forwards.map(({ guestPort, ...rest }) => ({ ...rest, port: guestPort }))
  if (sshPort) ports.push({ protocol: 'tcp', hostPort: sshPort, port: SSH_PORT })
  return { ...PLAIN_NETWORK, number: 0, ports }
}

/** @returns null if the file does not exist */
export async function readRun(files: MachineFiles): Promise<RunRecord | null> {
  // Only the service writes this file, and it replaces the file as a whole.
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
