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
 * Grows a disk to the plan's size if it is smaller; it never shrinks.
 * @param owner whom qemu-img runs as: a guest that broke out of its QEMU may have written the disk's header
 * @returns false where there is no disk
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
 * Makes a disk: an overlay over the image, as large as the plan says. It names the image by a path from its own
 * folder, for qemu-img in the hands of people: QEMU is given the image by the service.
 * @throws DriverError image_unusable, disk_full
 */
export async function createDisk(
  path: string,
  sizeGb: number,
  image: StoredImage,
  owner: Owner | null,
): Promise<void> {
  const wanted = sizeGb * GIB
  // qemu-img would make a disk smaller than its image, and so cut the image's file system, without a word.
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

/** Of the fields of a qcow2 header (QEMU's docs/interop/qcow2.txt) those that are looked at end here. */
const HEADER_BYTES = 80
const EXTERNAL_DATA = 4n

/**
 * The size that the header claims.
 * @returns null when there is no such file
 * @throws Error also where it claims what no disk of ours has, and what a qemu-img outside of all walls would act on:
 *   65,535 snapshots are ten seconds of work, and a data file may be any of the host's
 */
async function virtualSize(path: string): Promise<number | null> {
  try {
    await using disk = await open(path)
    const { buffer, bytesRead } = await disk.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
    if (bytesRead < HEADER_BYTES || buffer.toString('latin1', 0, 4) !== 'QFI\xfb')
      throw new Error(`${path} is no qcow2 disk`)
    const hasFeatures = buffer.readUInt32BE(4) >= 3
    if (hasFeatures && (buffer.readBigUInt64BE(72) & EXTERNAL_DATA) !== 0n)
      throw new Error(`${path} claims a data file of its own`)
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

/** Tells a full disk, which the operator can cure, from everything else. */
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
