import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, realpath, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'
import { closedFolder, writeDurably } from '../../files.ts'
import { DriverError } from '../driver.ts'
import { withCards } from '../guest/seed.ts'
import type { Log } from '../log.ts'
import { qemuArguments } from './command.ts'
import { type Accel, QEMU } from './host/accel.ts'
import { type Cgroups, removeCgroups } from './host/cgroup.ts'
import { spawnConfined, type Walls } from './host/confine.ts'
import { isReadable, machineOwner } from './host/owner.ts'
import { findByArgument, type Owner, type ProcessId } from './host/process.ts'
import type { Layout, MachineFiles, MachineRecord, RunRecord } from './layout.ts'
import { endOfLog } from './logs.ts'
import { type Card, tapDev } from './network/cards.ts'
import type { GuestNetwork } from './network/guest-network.ts'
import { type NetworkKind, netdev, saysPortTaken, startPasst, stopPasst, waysIn } from './passt.ts'

/** What all machines of a driver share. */
export interface Context {
  layout: Layout
  accel: Accel
  network: NetworkKind
  /** The network of all guests; null where there can't be one, and each has one of the kind above. */
  guests: GuestNetwork | null
  /** Of this host: where the ports listen that lead to guests. */
  address: string
  cgroups: Cgroups
  clock: Clock
  log: Log
  /** Whether QEMU runs as a user of its own for each machine. */
  ownUsers: boolean
  /** Whether QEMU has namespaces of its own. */
  isWalled: boolean
  /** Called when QEMU said, or its end shows, that something happened to the machine. */
  changed: (serverId: string) => void
  /** Called when the guest is past its boot loader. */
  kernelRuns: (serverId: string) => void
}

/** What QEMU takes beyond the guest's memory, emulation's translation cache included. */
const MEMORY_OVERHEAD = 256 * 2 ** 20
/** For QEMU's own threads: without it, a guest busy on all its CPUs starves its own disk and network. */
const CPU_OVERHEAD = 0.25
const PIDS_LIMIT = 512
const SOCKETS = ['qmp.sock', 'serial.sock', 'ga.sock', 'passt.sock']
/** A qcow2's own tables take a two-thousandth of a full disk; what a crash leaks is beyond that. */
const DISK_OVERHEAD = 1.02
/** What a QEMU said last is on its way to the log when it is gone. */
const WORDS_MS = 2000
/** A start of which nothing is to be seen for this long has failed. */
const ABSENT_MS = 1000
/** What prepares QEMU gives way to it within this. */
const PREPARE_MS = 10_000

/** Makes what a start will use: folders, rights, an empty log. Nothing runs yet; the record says what will. */
export async function prepareRun(
  record: MachineRecord,
  files: MachineFiles,
  context: Context,
): Promise<RunRecord> {
  const { layout, network, cgroups, clock } = context
  const owner = qemuOwner(record.spec.serverId, record, context)
  const sockets = layout.socketFolder(record.spec.serverId)
  // What is in it an earlier QEMU may have put there.
  await rm(files.run, { recursive: true, force: true })
  for (const folder of [files.run, files.log]) await mkdir(folder, { recursive: true, mode: 0o700 })
  await tellCards(record, files)
  const theirs = [files.disk, files.seed, files.run, files.log, sockets]
  if (owner) {
    // A strict umask may have made it narrower once.
    await chmod(files.dir, 0o711)
    for (const path of theirs) await chown(path, owner.uid, owner.gid)
  }
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

/** Its guest finds in the seed what cards it has from this start on. */
async function tellCards({ spec, network }: MachineRecord, { seed }: MachineFiles): Promise<void> {
  const before = await readFile(seed)
  const after = withCards(before, spec, network?.cards ?? [])
  if (!after.equals(before)) await writeDurably(seed, after)
}

/**
 * Starts a machine's processes within their limits.
 * @returns QEMU, or null where it ended at once; whether it comes up shows on its monitor only
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
    throw new DriverError('unsupported', 'It has a firewall, which only the network of all guests can hold')
  if (card) await context.guests?.attach(card)
  const memoryBytes = ramMb * 2 ** 20 + MEMORY_OVERHEAD
  await cgroups.limit(serverId, { cpu: cpu + CPU_OVERHEAD, memoryBytes, pids: PIDS_LIMIT })
  if (run.passt) {
    const pid = await startPasst(serverId, run.sockets, ways, files.passtLog)
    await cgroups.add(serverId, pid)
  }
  const cards = {
    netdev: card ? tapDev(card) : netdev(network, run.sockets, ways),
    plugs: card?.network ?? null,
  }
  const args = qemuArguments(record, files, run.sockets, accel, cards)
  const walls = await wallsOf(record, run, files, context)
  await spawnConfined([QEMU, ...args], walls, (pid) => cgroups.add(serverId, pid))
  return findStarted(record.uuid)
}

/** A guest that asked for its address when its disk was new does so for good; in the network of all nobody answers. */
export function isRouted({ spec, network }: MachineRecord, { guests }: Context): boolean {
  const isTold = spec.interfaces.some(({ addresses }) => addresses.length > 0)
  return guests !== null && network !== null && network.number > 0 && isTold
}

function cardOf(record: MachineRecord, context: Context): Card | null {
  const { spec, network } = record
  const uid = qemuOwner(spec.serverId, record, context)?.uid ?? 0
  return network && { serverId: spec.serverId, mac: spec.interfaces[0]?.mac ?? '', uid, network }
}

/** The programs that prepare QEMU give way to it one after the other; between two of them a process has no arguments. */
async function findStarted(uuid: string): Promise<ProcessId | null> {
  const deadline = performance.now() + PREPARE_MS
  let patience = performance.now() + ABSENT_MS
  for (;;) {
    const found = findByArgument(uuid, QEMU)
    if (found) return found
    // Or a process of somebody else that names the machine, which may stay for ever.
    if (findByArgument(uuid)) patience = Math.min(performance.now() + ABSENT_MS, deadline)
    if (performance.now() > patience) return null
    await sleep(5)
  }
}

/** What a QEMU opens later, such as the target of a copy, has to lie in its `run`. */
async function wallsOf(
  record: MachineRecord,
  run: RunRecord,
  files: MachineFiles,
  context: Context,
): Promise<Walls> {
  const { spec, base, direct } = record
  const entrance = (run.isRouted && context.guests?.entrance) || []
  const hasNetwork = context.network === 'slirp' && !run.isRouted
  const names = hasNetwork ? ['/etc/resolv.conf', await realpath('/etc/resolv.conf').catch(() => '')] : []
  return {
    owner: qemuOwner(spec.serverId, record, context),
    root: context.isWalled ? context.layout.walls : null,
    hasNetwork,
    entrance,
    shown: [base, files.seed, ...(direct ? [direct.kernel, direct.initrd] : []), ...new Set(names)],
    shared: [files.disk, files.run, ...(run.sockets === files.run ? [] : [run.sockets])],
    logs: files.log,
    fileBytes: Math.ceil(spec.diskGb * DISK_OVERHEAD * 2 ** 30),
  }
}

/** Once QEMU has made its sockets it makes nothing more: whoever takes it over can't fill the host with files. */
export async function sealRun(run: RunRecord, files: MachineFiles, context: Context): Promise<void> {
  if (!context.ownUsers) return
  for (const folder of new Set([files.run, run.sockets])) {
    await chown(folder, 0, 0)
    await chmod(folder, 0o711)
  }
}

/** Of machines that an earlier version started, whose QEMU writes them itself. */
export function olderLogs({ dir, run }: MachineFiles): string[] {
  return [join(run, 'serial.log'), join(dir, 'qemu.log')]
}

/** Takes away all that a start made, once its QEMU has ended. */
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
 * The user that QEMU and qemu-img run as; null: ours, where we are not root.
 * @throws DriverError image_unusable, also where that user can't read it
 */
export function qemuOwner(
  serverId: string,
  { base, direct }: Pick<MachineRecord, 'base' | 'direct'>,
  context: Context,
): Owner | null {
  if (!context.ownUsers) return null
  const needed = [base, ...(direct ? [direct.kernel, direct.initrd] : [])]
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
    'the image of a machine is closed to its user: chmod o+rX',
  )
  throw new DriverError('image_unusable', 'The image that the disk is based on can not be read on its host')
}

/** What passt and QEMU said last. */
export async function lastWords(files: MachineFiles): Promise<string> {
  return (await endOfLog(files.passtLog, 1000)) + (await endOfLog(files.qemuLog, 2000))
}

/** What went wrong with a start, by the last words of QEMU and passt. */
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
