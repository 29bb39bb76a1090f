import { existsSync } from 'node:fs'
import { chown, mkdir, truncate } from 'node:fs/promises'
import type { Clock } from '../../clock.ts'
import { errorCode } from '../../files.ts'
import { DriverError } from '../driver.ts'
import { qemuArguments } from './command.ts'
import { type Accel, QEMU } from './host/accel.ts'
import type { Cgroups } from './host/cgroup.ts'
import { isReadable, machineOwner } from './host/owner.ts'
import { type Owner, spawnDetached } from './host/process.ts'
import type { Layout, MachineFiles, MachineRecord, RunRecord } from './layout.ts'
import { endOfLog } from './logs.ts'
import { type NetworkKind, netdev, saysPortTaken, startPasst } from './network.ts'

/** Where loggers like pino fit in. */
export interface Log {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/** What all machines of a driver share. */
export interface Context {
  layout: Layout
  accel: Accel
  network: NetworkKind
  /** Of this host: where the ports listen that lead to guests. */
  address: string
  cgroups: Cgroups
  clock: Clock
  log: Log
  /** Whether QEMU runs as a user of its own for each machine. */
  ownUsers: boolean
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

/** Makes what a start will use: folders, rights, an empty log. Nothing runs yet; the record says what will. */
export async function prepareRun(
  record: MachineRecord,
  files: MachineFiles,
  context: Context,
): Promise<RunRecord> {
  const { layout, network, cgroups, clock } = context
  const owner = qemuOwner(record.spec.serverId, record, context)
  const sockets = layout.socketFolder(record.spec.serverId)
  await mkdir(files.run, { recursive: true, mode: 0o700 })
  if (owner)
    for (const path of [files.disk, files.seed, files.run, sockets]) await chown(path, owner.uid, owner.gid)
  await truncate(files.qemuLog, 0).catch(() => {})
  return {
    startedAt: clock.now(),
    sockets,
    cgroups: cgroups.folders(record.spec.serverId),
    passt: network === 'passt',
    guestShutdown: false,
  }
}

/**
 * Starts a machine's processes within their limits.
 * @returns QEMU's pid; whether it comes up shows on its monitor only
 */
export async function launch(
  record: MachineRecord,
  run: RunRecord,
  files: MachineFiles,
  context: Context,
): Promise<number> {
  const { accel, network, address, cgroups } = context
  const { serverId, cpu, ramMb, forwards } = record.spec
  const memoryBytes = ramMb * 2 ** 20 + MEMORY_OVERHEAD
  await cgroups.limit(serverId, { cpu: cpu + CPU_OVERHEAD, memoryBytes, pids: PIDS_LIMIT })
  if (run.passt) {
    const pid = await startPasst(serverId, run.sockets, { address, forwards }, files.qemuLog)
    await cgroups.add(serverId, pid)
  }
  const args = qemuArguments(
    record,
    files,
    run.sockets,
    accel,
    netdev(network, run.sockets, { address, forwards }),
  )
  const { pid } = await spawnDetached(QEMU, args, files.qemuLog, qemuOwner(serverId, record, context))
  // A QEMU that ended at once cannot be moved; its last words will tell more than that.
  await cgroups.add(serverId, pid).catch((error: unknown) => {
    if (errorCode(error) !== 'ESRCH') throw error
  })
  return pid
}

/**
 * The user that QEMU and qemu-img run as; null: ours, where an image can be read by us only.
 * @throws DriverError image_unusable
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
    context.log.error({ serverId, gone }, 'the image of a machine is missing')
    throw new DriverError(
      'image_unusable',
      'The image that the disk of the server is based on is missing on its host',
    )
  }
  const closed = needed.find((path) => !isReadable(path))
  if (closed === undefined) return machineOwner(serverId)
  context.log.warn({ serverId, closed }, 'QEMU runs as root: its own user cannot read the image')
  return null
}

/** What went wrong with a start, by the last words of QEMU and passt. */
export async function startFailure(
  record: MachineRecord,
  files: MachineFiles,
  cause: unknown,
): Promise<DriverError> {
  const words = await endOfLog(files.qemuLog, 2000)
  const options = { cause }
  if (saysPortTaken(words)) {
    const ports = record.spec.forwards.map(({ hostPort }) => hostPort).join(' or ')
    const message = `Port ${ports} is in use by another program on this host`
    return new DriverError('port_taken', message, options)
  }
  if (/Failed to get .* lock/.test(words))
    return new DriverError('start_failed', "The machine's disk is in use by another process", options)
  const complaint = words.split('\n').findLast((line) => line.startsWith(QEMU))
  const reason = complaint ?? (cause instanceof Error ? cause.message : String(cause))
  return new DriverError('start_failed', `QEMU did not start: ${reason}`, options)
}
