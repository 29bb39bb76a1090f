import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import { closedFolder, writeDurably } from '../../files.ts'
import { DriverError } from '../driver.ts'
import { withCards } from '../guest/seed.ts'
import type { Log } from '../log.ts'
import { MOST_VOLUME_GB } from '../volumes.ts'
import { qemuArguments } from './command.ts'
import { type Accel, QEMU } from './host/accel.ts'
import { type Cgroups, removeCgroups } from './host/cgroup.ts'
import { raisesLimits, spawnConfined, type Walls } from './host/confine.ts'
import { isReadable, machineOwner } from './host/owner.ts'
import { findByArgument, type Owner, type ProcessId } from './host/process.ts'
import { baseOf } from './image-node.ts'
import { lendIso } from './iso-drive.ts'
import {
  type Layout,
  type MachineFiles,
  type MachineRecord,
  type RunRecord,
  type Stands,
  seedOf,
} from './layout.ts'
import { endOfLog } from './logs.ts'
import { type Card, tapDev } from './network/cards.ts'
import type { GuestNetwork } from './network/guest-network.ts'
import { type NetworkKind, netdev, saysPortTaken, startPasst, stopPasst, waysIn } from './passt.ts'
import { lentName, type Volume, type VolumeShelf } from './volume-shelf.ts'

/** Settings and services that all machines of a driver share. */
export interface Context {
  layout: Layout
  accel: Accel
  network: NetworkKind | 'none'
  /**
   * The network of all guests; null if there can't be one, in which case each machine has a network of the kind
   * above.
   */
  guests: GuestNetwork | null
  /** The host's address on which the ports that lead to guests listen. */
  address: string
  volumes: VolumeShelf
  cgroups: Cgroups
  clock: Clock
  log: Log
  /** True if QEMU runs as a user of its own for each machine. */
  ownUsers: boolean
  /** True if QEMU has namespaces of its own. */
  isWalled: boolean
  /** The size beyond which no file of a QEMU may grow (default: that of the machine's disks). */
  fileBytes?: number
  /** Called when QEMU reports, or its end shows, that the machine's state changed. */
  changed: (serverId: string) => void
  /** Called when the guest is past its boot loader. */
  kernelRuns: (serverId: string) => void
}

/** Bytes that QEMU needs besides the guest's memory, including the translation cache of emulation. */
const MEMORY_OVERHEAD = 256 * 2 ** 20
/**
 * CPU time for QEMU's own threads: without it, a guest that is busy on all its CPUs starves its own disk and network.
 */
const CPU_OVERHEAD = 0.25
const PIDS_LIMIT = 512
const SOCKETS = ['qmp.sock', 'serial.sock', 'ga.sock', 'vnc.sock', 'passt.sock']
/** The metadata of a qcow2 takes a two-thousandth of a full disk; the rest allows for clusters that a crash leaks. */
const DISK_OVERHEAD = 1.02
/** QEMU's last output reaches the log within this time after its end. */
const WORDS_MS = 2000
/** A start whose process can't be found for this long has failed. */
const ABSENT_MS = 1000
/** The programs that prepare QEMU and then exec it take at most this long. */
const PREPARE_MS = 10_000

/** Prepares folders, permissions and an empty log for a start. Nothing runs yet; the record says what will. */
export async function prepareRun(
  record: MachineRecord,
  files: MachineFiles,
  context: Context,
): Promise<RunRecord> {
  const { layout, network, cgroups, clock } = context
  const owner = qemuOwner(record.spec.serverId, record, context)
  const sockets = layout.socketFolder(record.spec.serverId)
  // An earlier QEMU may have put files there.
  await rm(files.run, { recursive: true, force: true })
  for (const folder of [files.run, files.log]) await mkdir(folder, { recursive: true, mode: 0o700 })
  await tellCards(record, files)
  const system = record.rescue ? [files.rescueDisk] : []
  const theirs = [files.disk, ...system, seedOf(record, files), files.run, files.log, sockets]
  if (owner) {
    // A strict umask may have made it narrower.
    await chmod(files.dir, 0o711)
    for (const path of theirs) await chown(path, owner.uid, owner.gid)
  }
  for (const { id } of await context.volumes.of(record.spec.serverId))
    await context.volumes.lend(id, files.run, owner)
  if (record.iso) await lendIso(record.iso, files.run, owner)
  for (const log of [files.passtLog, files.qemuLog, `${files.qemuLog}.1`, ...olderLogs(files)])
    await rm(log, { force: true })
  return {
    startedAt: clock.now(),
    sockets,
    cgroups: cgroups.folders(record.spec.serverId),
    passt: !isRouted(record, context) && network === 'passt',
    isRouted: isRouted(record, context),
    guestShutdown: false,
  }
}

/** Writes the machine's network cards into its seed, where the guest finds them at this start. */
async function tellCards(record: MachineRecord, files: MachineFiles): Promise<void> {
  const { spec, network } = record
  const seed = seedOf(record, files)
  const before = await readFile(seed)
  const after = withCards(before, spec, network?.cards ?? [])
  if (!after.equals(before)) await writeDurably(seed, after)
}

/**
 * Starts a machine's processes within their limits.
 * @returns QEMU's process, or null if it ended at once; only the monitor shows whether QEMU comes up
 */
export async function launch(
  record: MachineRecord,
  run: RunRecord,
  files: MachineFiles,
  context: Context,
): Promise<ProcessId | null> {
  const { accel, network, address, cgroups } = context
  const { serverId, cpu, ramMb } = record.spec
  const ways = waysIn(record, address)
  const card = run.isRouted ? cardOf(record, context) : null
  if (!card && record.network?.firewall)
    throw new DriverError('unsupported', 'It has a firewall, which requires the shared network of all guests')
  if (card) await context.guests?.attach(card)
  const memoryBytes = ramMb * 2 ** 20 + MEMORY_OVERHEAD
  await cgroups.limit(serverId, { cpu: cpu + CPU_OVERHEAD, memoryBytes, pids: PIDS_LIMIT })
  if (run.passt) {
    const pid = await startPasst(serverId, run.sockets, ways, files.passtLog)
    await cgroups.add(serverId, pid)
  }
  const volumes = await context.volumes.of(serverId)
  const ends = {
    netdev: card ? tapDev(card) : netdev(network, run.sockets, ways),
    plugs: card?.network ?? null,
    volumes: volumes.map(({ id }) => ({ id, file: join(files.run, lentName(id)) })),
  }
  const args = qemuArguments(record, files, run.sockets, accel, ends)
  const walls = await wallsOf(record, run, files, volumes, context)
  await spawnConfined([QEMU, ...args], walls, (pid) => cgroups.add(serverId, pid))
  return findStarted(record.uuid)
}

/**
 * True if a machine's card is in the network of all guests. A guest that was set up with DHCP keeps using it, and
 * nobody answers DHCP in that network.
 */
export function isRouted({ spec, network }: MachineRecord, { guests }: Context): boolean {
  const isTold = spec.interfaces.some(({ addresses }) => addresses.length > 0)
  return guests !== null && network !== null && network.number > 0 && isTold
}

function cardOf(record: MachineRecord, context: Context): Card | null {
  const { spec, network } = record
  const uid = qemuOwner(spec.serverId, record, context)?.uid ?? 0
  return network && { serverId: spec.serverId, mac: spec.interfaces[0]?.mac ?? '', uid, network }
}

/**
 * Finds QEMU's process. The programs that prepare QEMU exec each other, and a process has no arguments in the middle
 * of an exec.
 */
async function findStarted(uuid: string): Promise<ProcessId | null> {
  const deadline = performance.now() + PREPARE_MS
  let patience = performance.now() + ABSENT_MS
  for (;;) {
    const found = findByArgument(uuid, QEMU)
    if (found) return found
    // Another process may have the uuid in its arguments, too, and stay forever, so the deadline limits the wait.
    if (findByArgument(uuid)) patience = Math.min(performance.now() + ABSENT_MS, deadline)
    if (performance.now() > patience) return null
    await sleep(5)
  }
}

/**
 * Confines QEMU to its own folders. Files that it opens later, such as the target of a copy, have to be in its `run`
 * folder.
 */
async function wallsOf(
  record: MachineRecord,
  run: RunRecord,
  files: MachineFiles,
  volumes: readonly Volume[],
  context: Context,
): Promise<Walls> {
  const { spec } = record
  const entrance = (run.isRouted && context.guests?.entrance) || []
  const hasNetwork = context.network === 'slirp' && !run.isRouted
  const names = hasNetwork ? ['/etc/resolv.conf', await realpath('/etc/resolv.conf').catch(() => '')] : []
  return {
    owner: qemuOwner(spec.serverId, record, context),
    root: context.isWalled ? context.layout.walls : null,
    hasNetwork,
    entrance,
    shown: [...new Set([...imagesOf(record), seedOf(record, files), ...names])],
    shared: [
      files.disk,
      ...(record.rescue ? [files.rescueDisk] : []),
      files.run,
      ...(run.sockets === files.run ? [] : [run.sockets]),
    ],
    logs: files.log,
    fileBytes: context.fileBytes ?? fileBytes(record, volumes),
  }
}

/** The size beyond which no file of a machine's QEMU may grow. */
export function fileBytes(
  { spec }: Pick<MachineRecord, 'spec'>,
  volumes: readonly Pick<Volume, 'sizeGb'>[],
): number {
  const sizes = [spec.diskGb * DISK_OVERHEAD, ...volumes.map(({ sizeGb }) => sizeGb)]
  // If the limit can't be raised when a volume is attached, it has to allow the largest volume from the start.
  if (!raisesLimits()) sizes.push(MOST_VOLUME_GB)
  return Math.ceil(Math.max(...sizes) * 2 ** 30)
}

/**
 * Makes the `run` folder read-only once QEMU has created its sockets, so that a guest that takes QEMU over can't fill
 * the host with files.
 */
export async function sealRun(run: RunRecord, files: MachineFiles, context: Context): Promise<void> {
  if (!context.ownUsers) return
  for (const folder of new Set([files.run, run.sockets])) {
    await chown(folder, 0, 0)
    await chmod(folder, 0o711)
  }
}

/** The image under a machine's disk, and that of its rescue system. */
type System = Stands & Pick<MachineRecord, 'rescue'>

/** The files of images that a machine needs for its next start. */
function imagesOf({ base, direct, rescue }: System): string[] {
  const full = baseOf(base)
  const own = [base, ...(full ? [full] : []), ...(direct ? [direct.kernel, direct.initrd] : [])]
  return rescue ? [...own, ...imagesOf({ base: rescue.base, direct: rescue.direct })] : own
}

/** Logs of machines that an earlier version started, whose QEMU writes the files itself. */
export function olderLogs({ dir, run }: MachineFiles): string[] {
  return [join(run, 'serial.log'), join(dir, 'qemu.log')]
}

/** Removes everything that a start created, after its QEMU has ended. */
export async function clearRun(
  serverId: string,
  run: RunRecord,
  files: MachineFiles,
  { guests }: Context,
): Promise<void> {
  if (run.isRouted) await guests?.detach(serverId)
  if (run.passt) await stopPasst(run.sockets)
  await removeCgroups(run.cgroups)
  for (const name of SOCKETS) await rm(join(run.sockets, name), { force: true })
  if (basename(run.sockets) !== basename(files.run)) await rm(run.sockets, { recursive: true, force: true })
}

/**
 * Returns the user that QEMU and qemu-img run as; null: the service's own user, if that is not root.
 * @throws DriverError image_unusable if that user can't read the image
 */
export function qemuOwner(serverId: string, record: System, context: Context): Owner | null {
  if (!context.ownUsers) return null
  const needed = imagesOf(record)
  const gone = needed.find((path) => !existsSync(path))
  if (gone !== undefined) {
    context.log.error({ server_id: serverId, gone }, 'the image of a machine is missing')
    throw new DriverError(
      'image_unusable',
      'The image that the disk of the server is based on is missing on its host',
    )
  }
  const closed = needed.find((path) => !isReadable(path))
  if (closed === undefined) return machineOwner(serverId)
  const first = closedFolder(dirname(closed)) ?? closed
  context.log.error(
    { server_id: serverId, closed: first },
    'the user of a machine can not read its image: chmod o+rX',
  )
  throw new DriverError('image_unusable', 'The image that the disk is based on can not be read on its host')
}

/** The last messages of passt and QEMU. */
export async function lastWords(files: MachineFiles): Promise<string> {
  return (await endOfLog(files.passtLog, 1000)) + (await endOfLog(files.qemuLog, 2000))
}

/** Derives the reason of a failed start from the last messages of QEMU and passt. */
export async function startFailure(
  record: MachineRecord,
  files: MachineFiles,
  cause: unknown,
): Promise<DriverError> {
  if (cause instanceof DriverError && cause.code === 'port_taken') return cause
  const deadline = performance.now() + WORDS_MS
  let words = await lastWords(files)
  while (!words.includes(QEMU) && !saysPortTaken(words) && performance.now() < deadline) {
    await sleep(20)
    words = await lastWords(files)
  }
  const options = { cause }
  if (saysPortTaken(words)) {
    const ports = record.network?.ports.map(({ hostPort }) => hostPort).join(' or ')
    const message = `Port ${ports} is in use by another program on this host`
    return new DriverError('port_taken', message, options)
  }
  if (/Failed to get .* lock/.test(words))
    return new DriverError('start_failed', "The machine's disk is in use by another process", options)
  const complaint = words.split('\n').findLast((line) => line.startsWith(QEMU))
  const reason = complaint ?? (cause instanceof Error ? cause.message : String(cause))
  return new DriverError('start_failed', `QEMU did not start: ${reason}`, options)
}
