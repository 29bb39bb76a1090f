import { join } from 'node:path'
import { DriverError } from '../driver.ts'
import { limitFiles, raisesLimits } from './host/confine.ts'
import { type Context, fileBytes, qemuOwner } from './launch.ts'
import { diskOf } from './live-copy.ts'
import type { MachineProcess } from './machine-process.ts'
import type { Qmp } from './qmp.ts'
import { growVolume, plugVolume, unplugVolume } from './volume-plug.ts'
import { lentName } from './volume-shelf.ts'

const GIB = 2 ** 30

/**
 * Attaches a volume to a machine: live if it is on, and for its next start. No other call may change the machine or
 * the volume meanwhile.
 * @throws DriverError unsupported, unavailable, not_found
 */
export async function attachTo(process: MachineProcess, context: Context, id: string): Promise<void> {
  const qmp = await monitorOf(process)
  const { record, files } = process
  if (!record) throw new DriverError('not_found', 'The machine does not exist.')
  await context.volumes.assign(id, process.id)
  if (!qmp) return
  try {
    await raiseLimit(process, context)
    await context.volumes.lend(id, files.run, qemuOwner(process.id, record, context))
    const { folder } = await diskOf(qmp)
    await plugVolume(qmp, { id, file: join(folder, 'run', lentName(id)) })
  } catch (error) {
    if (error instanceof DriverError && error.code === 'unsupported') await takeBack(process, context, id)
    throw error
  }
}

/**
 * Detaches a volume from its machine, even if the guest uses it.
 * @throws DriverError unavailable
 */
export async function detachFrom(process: MachineProcess, context: Context, id: string): Promise<void> {
  const qmp = await monitorOf(process)
  if (qmp) await unplugVolume(qmp, id)
  await takeBack(process, context, id)
}

/** Tells a machine that is on that a volume of it has grown. @throws DriverError unavailable */
export async function growIn(process: MachineProcess, context: Context, id: string): Promise<void> {
  const qmp = await monitorOf(process)
  const volume = await context.volumes.find(id)
  if (!qmp || !volume) return
  await raiseLimit(process, context)
  await growVolume(qmp, id, volume.sizeGb * GIB)
}

async function takeBack({ files }: MachineProcess, context: Context, id: string) {
  await context.volumes.takeBack(id, files.run)
  await context.volumes.assign(id, null)
}

/** @returns null if the machine is off @throws DriverError unavailable */
export async function monitorOf(process: MachineProcess): Promise<Qmp | null> {
  const seen = await process.look()
  if (seen.power === 'hung') throw new DriverError('unavailable', 'The machine does not respond')
  if (seen.power !== 'on') return null
  if (seen.status !== 'shutdown') return seen.qmp
  await process.endShutDown()
  return null
}

/**
 * Lets a running QEMU write files of the sizes of its disks.
 * @param record (default: the machine's present record)
 */
export async function raiseLimit(
  { id, known, record: present }: MachineProcess,
  context: Context,
  record = present,
): Promise<void> {
  if (record && known && raisesLimits())
    await limitFiles(known.pid, fileBytes(record, await context.volumes.of(id)))
}
