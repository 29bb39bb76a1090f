import { chown, open, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { isMissing } from '../../files.ts'
import { DriverError } from '../driver.ts'
import type { Owner } from './host/process.ts'
import type { StoredImage } from './images/images.ts'
import { qemuImg } from './images/qemu-img.ts'

const GIB = 1024 ** 3
const LIMIT_MS = 60_000

/**
 * Grows a disk to the plan's size if it is smaller. A disk never shrinks.
 * @param owner the user that qemu-img runs as: a guest that broke out may have written the disk's header
 * @returns false if there is no disk
 * @throws DriverError disk_full
 */
export async function growDisk(path: string, sizeGb: number, owner: Owner | null): Promise<boolean> {
  const current = await virtualSize(path)
  if (current === null) return false
  if (current >= sizeGb * GIB) return true
  if (owner) await chown(path, owner.uid, owner.gid)
  const disk = { driver: 'qcow2', file: { driver: 'file', filename: path }, backing: null }
  await onDisk(['resize', '-q', `json:${JSON.stringify(disk)}`, String(sizeGb * GIB)], owner)
  return true
}

/**
 * Creates a disk as an overlay over the image, with the plan's size. Its header has the image's relative path for
 * people who run qemu-img by hand; the service passes the image to QEMU itself.
 * @throws DriverError image_unusable, disk_full
 */
export async function createDisk(
  path: string,
  sizeGb: number,
  image: StoredImage,
  owner: Owner | null,
): Promise<void> {
  const wanted = sizeGb * GIB
  // qemu-img would silently create a disk smaller than its image, and so cut off the file system.
  if (image.virtualSizeBytes > wanted)
    throw new DriverError(
      'image_unusable',
      `The image requires a disk of ${Math.ceil(image.virtualSizeBytes / GIB)} GB, and the plan has ${sizeGb} GB. ` +
        'Choose a larger plan.',
    )
  const draft = `${path}.tmp`
  await rm(draft, { force: true })
  await writeFile(draft, '', { mode: 0o600, flag: 'wx' })
  if (owner) await chown(draft, owner.uid, owner.gid)
  const base = await realpath(image.disk).catch((error: unknown) => {
    throw new DriverError('image_unusable', 'The image cannot be opened', { cause: error })
  })
  const named = relative(await realpath(dirname(path)), base)
  await onDisk(['create', '-q', '-f', 'qcow2', '-b', named, '-F', 'qcow2', draft, String(wanted)], owner)
  await rename(draft, path)
}

/** The qcow2 header fields that are checked end here (QEMU's docs/interop/qcow2.txt). */
const HEADER_BYTES = 80
const EXTERNAL_DATA = 4n

/**
 * Returns the size that the header claims, in bytes.
 * @returns null if there is no such file
 * @throws Error if the header has features that Berth never uses, since qemu-img would act on them without any
 *   confinement: 65,535 snapshots cost it ten seconds, and a data file may be any file of the host
 */
export async function virtualSize(path: string): Promise<number | null> {
  try {
    await using disk = await open(path)
    const { buffer, bytesRead } = await disk.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
    if (bytesRead < HEADER_BYTES || buffer.toString('latin1', 0, 4) !== 'QFI\xfb')
      throw new Error(`${path} is not a qcow2 disk`)
    const hasFeatures = buffer.readUInt32BE(4) >= 3
    if (hasFeatures && (buffer.readBigUInt64BE(72) & EXTERNAL_DATA) !== 0n)
      throw new Error(`${path} refers to an external data file`)
    if (buffer.readUInt32BE(60) !== 0) throw new Error(`${path} claims snapshots`)
    return Number(buffer.readBigUInt64BE(24))
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

async function onDisk(args: string[], owner: Owner | null): Promise<void> {
  try {
    await qemuImg(args, { timeoutMs: LIMIT_MS, owner })
  } catch (error) {
    throw diskFailure(error)
  }
}

/** Returns a disk_full error for a full disk, which the operator can fix, or else the error itself. */
export function diskFailure(error: unknown): Error {
  const text =
    error instanceof Error
      ? `${error.message} ${'stderr' in error ? String(error.stderr) : ''}`
      : String(error)
  if (/ENOSPC|EDQUOT|No space left|Disk quota exceeded/.test(text))
    return new DriverError('disk_full', "The host's disk is full", { cause: error })
  if (/Could not open backing|backing file/.test(text))
    return new DriverError('image_unusable', 'The image cannot be opened', { cause: error })
  return error instanceof Error ? error : new Error(text)
}
