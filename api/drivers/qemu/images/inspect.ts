import { chmod, chown, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { errorCode } from '../../../files.ts'
import { headerOf, readFrom, requireDiskSize, requireIso, UnusableDisk } from '../../disk-header.ts'
import { imageOwner } from '../host/owner.ts'
import { qemuImg } from './qemu-img.ts'

/**
 * An image that can't be obtained or used. `message` is for anybody and has no path of this host; `detail` adds what
 * an operator needs.
 */
export class ImageError extends Error {
  override readonly name = 'ImageError'
  readonly detail: string
  constructor(message: string, detail = '') {
    super(message)
    this.detail = detail
  }
}

export interface Inspection {
  format: 'qcow2' | 'raw'
  virtualSizeBytes: number
}

/** The formats of disks that are usable elsewhere, by their names for people. */
const FOREIGN = { vmdk: 'VMDK', vpc: 'VHD', vhdx: 'VHDX' }

/**
 * Checks an untrusted disk image and refuses one that could read other files of this host or can't be run. The header
 * is read here before qemu-img sees the file, because qemu-img may open what a header points to.
 * @throws ImageError with a sentence that describes the fault
 */
export async function inspectImage(file: string, signal?: AbortSignal): Promise<Inspection> {
  const { format, virtualSizeBytes } = await headerOf(file).catch(asImageError)
  if (format !== 'qcow2' && format !== 'raw')
    throw new ImageError(
      `The image is a ${FOREIGN[format]} disk. Only qcow2 and raw disk images can be used.`,
    )
  if (format === 'raw') return { format, virtualSizeBytes: checkSize(virtualSizeBytes) }
  const info = await qemuInfo(file, signal)
  const check = await examine(file, (name) => ['check', '-q', '-f', 'qcow2', name], 600_000, signal)
  // Exit code 3 means leaked clusters, which waste space and are harmless.
  if (check.code !== 0 && check.code !== 3) {
    throw new ImageError('The image is damaged: qemu-img check found errors.', check.output)
  }
  return { format, virtualSizeBytes: checkSize(info) }
}

/** Checks that an untrusted file is an ISO. @returns its size in bytes @throws ImageError */
export async function inspectIso(file: string): Promise<number> {
  return readFrom(file, async (read, size) => {
    await requireIso(read).catch(asImageError)
    return size
  })
}

function asImageError(error: unknown): never {
  throw error instanceof UnusableDisk ? new ImageError(error.message) : error
}

async function qemuInfo(file: string, signal?: AbortSignal): Promise<number> {
  const { code, output } = await examine(
    file,
    (name) => ['info', '--output=json', '-f', 'qcow2', name],
    30_000,
    signal,
  )
  if (code !== 0) throw new ImageError('The image cannot be opened: it is damaged or not qcow2.', output)
  // JSON of qemu-img itself; each field is tested before use.
  const info = JSON.parse(output) as Record<string, unknown>
  if (info['backing-filename'] !== undefined || info.encrypted === true) {
    throw new ImageError(
      'The image refers to a backing file or is encrypted. Flatten it first (qemu-img convert).',
    )
  }
  return Number(info['virtual-size'])
}

function checkSize(bytes: number): number {
  try {
    requireDiskSize(bytes)
  } catch (error) {
    asImageError(error)
  }
  return bytes
}

/** Converts bytes to gigabytes (2^30 bytes), rounded up: the least disk size that a plan must have. */
export function toGb(bytes: number): number {
  return Math.ceil(bytes / 2 ** 30)
}

/** Converts a raw disk to a compressed qcow2, in a folder below that of the raw one. */
export async function convertRaw(file: string, to: string, signal?: AbortSignal): Promise<void> {
  const owner = imageOwner()
  await writeFile(to, '', { flag: 'wx' })
  if (owner) await chown(to, owner.uid, owner.gid)
  await grant(path.dirname(to), 0o001)
  const out = path.relative(path.dirname(file), to)
  const { code, output } = await examine(
    file,
    (name) => ['convert', '-c', '-f', 'raw', '-O', 'qcow2', name, out],
    3_600_000,
    signal,
  )
  if (code !== 0) throw new ImageError('The raw image could not be converted to qcow2.', output)
  // The qemu-img for the next hostile image runs as the same user.
  if (owner) await chown(to, 0, 0)
}

/** Gives everybody a right to a file or folder if they lack it. */
async function grant(place: string, right: number): Promise<void> {
  const { mode } = await stat(place)
  if ((mode & right) !== right) await chmod(place, (mode & 0o777) | right)
}

/**
 * Runs qemu-img in the file's folder, as a user who may read only world-readable files and write nothing. A hostile
 * image may keep it busy for ever, so its time is limited.
 */
async function examine(
  file: string,
  args: (name: string) => string[],
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<{ code: number; output: string }> {
  const cwd = path.dirname(file)
  const owner = imageOwner()
  if (owner) {
    await grant(file, 0o004)
    await grant(cwd, 0o001)
  }
  try {
    const options = { timeoutMs, owner, cwd, ...(signal && { signal }) }
    return { code: 0, output: await qemuImg(args(`./${path.basename(file)}`), options) }
  } catch (error) {
    if (signal?.aborted || !(error instanceof Error)) throw error
    if (errorCode(error) === 'ENOENT')
      throw new ImageError('An image could not be checked on this host.', 'setpriv of util-linux is missing.')
    if ('killed' in error && error.killed)
      throw new ImageError('The image could not be checked in time.', path.basename(file))
    const code = Number(errorCode(error))
    return { code: Number.isInteger(code) ? code : 1, output: 'stderr' in error ? String(error.stderr) : '' }
  }
}
