import { chmod, chown, open, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { errorCode } from '../../../files.ts'
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

const GIB = 2 ** 30
const MAX_VIRTUAL_BYTES = 2048 * GIB
const QCOW2_MAGIC = 0x514649fb
/** Incompatible qcow2 features that are harmless: lazy refcounts, compression type, extended L2 tables. */
const HARMLESS_FEATURES = 0b11001n
const CORRUPT_FEATURE = 0b10n
const DATA_FILE_FEATURE = 0b100n

/** Magic numbers of files that people mistake for usable disk images. */
const FOREIGN: readonly [name: string, magic: string, at: number][] = [
  ['a VMDK disk', 'KDMV', 0],
  ['a VHDX disk', 'vhdxfile', 0],
  ['a VHD disk', 'conectix', 0],
  ['a VDI disk', '\x7f\x10\xda\xbe', 64],
  ['a QED disk', 'QED\0', 0],
  ['a LUKS volume', 'LUKS\xba\xbe', 0],
  ['a gzip file', '\x1f\x8b', 0],
  ['an xz file', '\xfd7zXZ', 0],
  ['a zstd file', '\x28\xb5\x2f\xfd', 0],
  ['a zip file', 'PK\x03\x04', 0],
  ['an ISO 9660 image', 'CD001', 32769],
]

/**
 * Checks an untrusted disk image and refuses one that could read other files of this host or can't be run. The header
 * is read here before qemu-img sees the file, because qemu-img may open what a header points to.
 * @throws ImageError with a sentence that describes the fault
 */
export async function inspectImage(file: string, signal?: AbortSignal): Promise<Inspection> {
  const head = await readHead(file, 32774)
  if (head.length >= 72 && head.readUInt32BE(0) === QCOW2_MAGIC) {
    refuseBadHeader(head)
    const info = await qemuInfo(file, signal)
    const check = await examine(file, (name) => ['check', '-q', '-f', 'qcow2', name], 600_000, signal)
    // Exit code 3 means leaked clusters, which waste space and are harmless.
    if (check.code !== 0 && check.code !== 3) {
      throw new ImageError('The image is damaged: qemu-img check found errors.', check.output)
    }
    return { format: 'qcow2', virtualSizeBytes: checkSize(info) }
  }
  for (const [name, magic, at] of FOREIGN) {
    if (head.toString('latin1', at, at + magic.length) === magic) {
      throw new ImageError(`The image is ${name}. Only qcow2 and raw disk images can be used.`)
    }
  }
  if (head.length < 512 || head.readUInt16BE(510) !== 0x55aa) {
    throw new ImageError(
      'The file is not a disk image: it is neither qcow2 nor a raw disk with a boot sector.',
    )
  }
  return { format: 'raw', virtualSizeBytes: checkSize(await fileSize(file)) }
}

function refuseBadHeader(head: Buffer): void {
  const version = head.readUInt32BE(4)
  if (version !== 2 && version !== 3)
    throw new ImageError(`The image is qcow2 of an unknown version (${version}).`)
  if (head.readBigUInt64BE(8) !== 0n) {
    throw new ImageError('The image refers to a backing file. Flatten it first (qemu-img convert).')
  }
  if (head.readUInt32BE(32) !== 0)
    throw new ImageError('The image is encrypted. Only plain images can be used.')
  const snapshots = head.readUInt32BE(60)
  if (snapshots > 0)
    throw new ImageError(`The image has ${snapshots} snapshots. Flatten it first (qemu-img convert).`)
  if (version === 2) return
  const features = head.readBigUInt64BE(72)
  if (features & DATA_FILE_FEATURE || hasDataFileName(head)) {
    throw new ImageError('The image keeps its data in another file. Flatten it first (qemu-img convert).')
  }
  if (features & CORRUPT_FEATURE) throw new ImageError('The image is marked as damaged.')
  if (features & ~HARMLESS_FEATURES) throw new ImageError('The image uses unknown qcow2 features.')
}

/** Searches the header extensions, which follow the header, for the name of an external data file. */
function hasDataFileName(head: Buffer): boolean {
  let at = head.readUInt32BE(100)
  while (at + 8 <= head.length) {
    const type = head.readUInt32BE(at)
    if (type === 0) return false
    if (type === 0x44415441) return true
    at += 8 + Math.ceil(head.readUInt32BE(at + 4) / 8) * 8
  }
  return false
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
  if (!(bytes > 0)) throw new ImageError('The image is empty.')
  if (!(bytes <= MAX_VIRTUAL_BYTES)) {
    throw new ImageError(
      `The image's disk is ${toGb(bytes)} GB, more than the ${toGb(MAX_VIRTUAL_BYTES)} GB allowed.`,
    )
  }
  return bytes
}

/** Converts bytes to gigabytes (2^30 bytes), rounded up: the least disk size that a plan must have. */
export function toGb(bytes: number): number {
  return Math.ceil(bytes / GIB)
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

async function readHead(file: string, bytes: number): Promise<Buffer> {
  await using handle = await open(file)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, 0)
  return buffer.subarray(0, bytesRead)
}

async function fileSize(file: string): Promise<number> {
  await using handle = await open(file)
  return (await handle.stat()).size
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
