import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { writeDurably } from '../../files.ts'
import { DriverError, type MachineSpec, type RescueSpec } from '../driver.ts'
import { hashFor } from '../guest/crypt.ts'
import { seedVolume } from '../guest/seed.ts'
import type { ImageSpec } from '../images.ts'
import { isSnapshot } from '../snapshots.ts'
import { createDisk, growDisk } from './disk.ts'
import { type Accel, offeredCpuTypes } from './host/accel.ts'
import type { ImageStore, StoredImage } from './images/images.ts'
import { type Context, qemuOwner } from './launch.ts'
import type { MachineFiles, MachineRecord, Stands } from './layout.ts'

const GIB = 2 ** 30

/**
 * Creates the files of a machine that is off, or updates them to a spec.
 * @param old the machine's record; null: there is none
 * @param image called if a disk has to be created
 * @returns the new record
 */
export async function defineFiles(
  spec: MachineSpec,
  files: MachineFiles,
  old: MachineRecord | null,
  context: Context,
  image: () => Promise<StoredImage>,
): Promise<MachineRecord> {
  const { password, userData, image: source, ...kept } = spec
  const owner = (stands: Stands) => qemuOwner(spec.serverId, stands, context)
  const makeDisk = async (made: StoredImage) => {
    const stands = { base: made.disk, direct: made.direct }
    if (source && isSnapshot(source))
      kept.diskGb = Math.max(spec.diskGb, Math.ceil(made.virtualSizeBytes / GIB))
    await createDisk(files.disk, kept.diskGb, made, owner(stands))
    return stands
  }
  await mkdir(files.dir, { recursive: true, mode: 0o711 })
  // The record is written last, so a disk without one is left over from a crash.
  const hasDisk = old !== null && (await growDisk(files.disk, spec.diskGb, owner(old)))
  const { base, direct } = hasDisk ? old : await makeDisk(await image())
  const passwordHash = hashFor(password, hasDisk ? old.passwordHash : null)
  // The first card stays as it was when the disk was new: guests of earlier versions keep theirs.
  if (hasDisk) Object.assign(kept, { interfaces: old.spec.interfaces, diskId: old.spec.diskId })
  // A disk never shrinks, and a disk from a snapshot may be larger than the plan's.
  if (hasDisk) kept.diskGb = Math.max(spec.diskGb, old.spec.diskGb)
  await writeDurably(files.seed, seedVolume({ ...kept, userData, passwordHash }))
  const { uuid, network, rescue, iso } = old ?? { uuid: randomUUID(), network: null }
  const wasCut = hasDisk && (old.wasCut ?? false)
  const beside = { ...(rescue && { rescue }), ...(iso && { iso }) }
  return { uuid, spec: kept, passwordHash, network, base, direct, wasCut, ...beside }
}

/** Creates the disk and the seed of a rescue system for a machine that is off. @returns the machine's new record */
export async function defineRescue(
  { rescueId, image: _image, password, ...login }: RescueSpec,
  files: MachineFiles,
  record: MachineRecord,
  context: Context,
  image: StoredImage,
): Promise<MachineRecord> {
  const stands = { base: image.disk, direct: image.direct }
  const sizeGb = Math.ceil(image.virtualSizeBytes / GIB)
  await createDisk(files.rescueDisk, sizeGb, image, qemuOwner(record.spec.serverId, stands, context))
  const identity = { instanceId: rescueId, userData: null, interfaces: record.spec.interfaces }
  const seed = seedVolume({ ...identity, ...login, passwordHash: hashFor(password, null) })
  await writeDurably(files.rescueSeed, seed)
  return { ...record, rescue: { ...stands, id: rescueId } }
}

/** @throws DriverError unavailable if this host can't run such a machine */
export function requireSupported({ cpuType, interfaces }: MachineSpec, accel: Accel): void {
  if (interfaces.length !== 1)
    throw new DriverError('unavailable', 'A machine must have exactly one network interface here')
  const offered = offeredCpuTypes(accel)
  if (!offered.includes(cpuType))
    throw new DriverError(
      'unavailable',
      `This host has no ${cpuType} processor to offer (only ${offered.join(', ')})`,
    )
}

/** @throws DriverError not_found, image_not_ready */
export async function readyImage(images: ImageStore, image: ImageSpec | null): Promise<StoredImage> {
  if (!image) throw new DriverError('not_found', 'The machine has no disk, and no image for one')
  const ready = await images.ready(image)
  if (!ready) throw new DriverError('image_not_ready', 'The image is not ready yet')
  return ready
}

/** Returns an operator's ISO for a drive; its id is its hash. @throws DriverError image_not_ready */
export async function readyIso(images: ImageStore, iso: ImageSpec): Promise<{ id: string; file: string }> {
  const { id, disk: file } = await readyImage(images, iso)
  return { id, file }
}
