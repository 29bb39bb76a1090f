import { execFile } from 'node:child_process'
import { chmod, rename, rm, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { isMissing } from '../../files.ts'
import { DriverError } from '../driver.ts'
import type { StoredImage } from '../images/images.ts'

const run = promisify(execFile)
const GIB = 1024 ** 3

/**
 * Grows a disk to the plan's size if it is smaller; it never shrinks.
 * @returns false where there is no disk
 * @throws DriverError image_unusable, disk_full
 */
export async function growDisk(path: string, sizeGb: number): Promise<boolean> {
  const current = await virtualSize(path)
  if (current === null) return false
  if (current < sizeGb * GIB) await qemuImg(['resize', '-q', '-f', 'qcow2', path, String(sizeGb * GIB)])
  return true
}

/**
 * Makes a disk: an overlay over the image, as large as the plan says.
 * @throws DriverError image_unusable, disk_full
 */
export async function createDisk(path: string, sizeGb: number, image: StoredImage): Promise<void> {
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
  await qemuImg(['create', '-q', '-f', 'qcow2', '-b', image.disk, '-F', 'qcow2', draft, String(wanted)])
  await chmod(draft, 0o600)
  await rename(draft, path)
}

/** @returns null when there is no such file. */
async function virtualSize(path: string): Promise<number | null> {
  try {
    await stat(path)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
  const info: unknown = JSON.parse(await qemuImg(['info', '-U', '--output=json', '-f', 'qcow2', path]))
  if (typeof info === 'object' && info !== null && 'virtual-size' in info) return Number(info['virtual-size'])
  throw new Error(`qemu-img reported no size of ${path}`)
}

async function qemuImg(args: string[]): Promise<string> {
  try {
    return (await run('qemu-img', args, { timeout: 60_000 })).stdout
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
