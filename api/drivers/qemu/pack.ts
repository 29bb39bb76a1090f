import { execFile } from 'node:child_process'
import { chmod, chown, constants, open, rm, stat, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { diskFailure, virtualSize } from './disk.ts'
import type { Owner } from './host/process.ts'
import { diskNode } from './image-node.ts'
import { type QemuImgOptions, qemuImg } from './images/qemu-img.ts'

/** A disk to compress, to which nothing writes meanwhile. */
export interface Source {
  file: string
  /** The image under the disk; null: the disk is whole by itself. */
  base: string | null
  /** The user who may read it; a guest that broke out of QEMU may have written its header. */
  owner: Owner | null
  virtualSizeBytes: number
}

const GIB = 2 ** 30
const LEAST_MS = 600_000
/** Compressing a full gigabyte takes less, even on a slow and busy processor. */
const MS_PER_GIB = 120_000
/** The allowance for metadata if a disk does not compress. */
const OVERHEAD = 1.05
const LOCK_TRIES = 40
const LOCK_MS = 50

/**
 * Compresses a disk into a read-only file without a backing file, at the lowest priority, since nothing waits for it.
 * @returns the file's size and hash
 * @throws DriverError disk_full; the signal's reason
 */
export async function pack(source: Source, target: string, signal: AbortSignal): Promise<Packed> {
  const { file, base, owner, virtualSizeBytes } = source
  await give(file, owner)
  await requireSize(file, virtualSizeBytes)
  const packed = await compress(diskNode(file, base), target, { owner, mostBytes: virtualSizeBytes, signal })
  await requireSize(target, virtualSizeBytes)
  return packed
}

export interface Packed {
  /** The size of the file. */
  bytes: number
  sha256: string
}

interface CompressOptions {
  /** The user who may read the disk. */
  owner: Owner | null
  /** The most data that the disk may have. */
  mostBytes: number
  signal: AbortSignal
  /** True: the program gets no network, since the header of the disk may name a remote file. */
  isAlone?: boolean
  /** (default: that of copyLimits) */
  timeoutMs?: number
  /** The name of the image below the compressed disk, in the same folder; undefined: the disk has all data itself. */
  base?: string
}

/**
 * Compresses a disk as pack does, whatever size its header claims.
 * @param disk QEMU's description of the disk
 */
export async function compress(disk: object, target: string, options: CompressOptions): Promise<Packed> {
  const { owner, mostBytes, signal, isAlone = false, base, timeoutMs } = options
  await rm(target, { force: true })
  await writeFile(target, '', { mode: 0o600, flag: 'wx' })
  await give(target, owner)
  const compressed = ['-c', '-o', 'compression_type=zstd']
  const above = base === undefined ? [] : ['-B', base, '-F', 'qcow2']
  const args = ['convert', '-O', 'qcow2', ...compressed, ...above, `json:${JSON.stringify(disk)}`, target]
  const limits = copyLimits(mostBytes)
  await convert(args, { ...limits, ...(timeoutMs !== undefined && { timeoutMs }), owner, signal, isAlone })
  if (owner) await chown(target, 0, 0)
  await chmod(target, 0o444)
  await using made = await open(target)
  await made.sync()
  return { bytes: (await stat(target)).size, sha256: await sha256Of(target, signal) }
}

/**
 * Gives a file to a machine's user, or leaves it to the service's own user. The path may be in a folder in which the
 * machine's QEMU writes: a link that it put there is refused.
 */
export async function give(path: string, owner: Owner | null): Promise<void> {
  if (!owner) return
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  if (!(await file.stat()).isFile()) throw new Error(`${path} is not a file`)
  await file.chown(owner.uid, owner.gid)
}

/** The limits of a copy. @param mostBytes the most data that it may have */
export function copyLimits(mostBytes: number) {
  return {
    timeoutMs: LEAST_MS + Math.ceil((mostBytes / GIB) * MS_PER_GIB),
    fileBytes: Math.ceil(mostBytes * OVERHEAD) + 2 ** 20,
    isNice: true,
  }
}

/** Tries again while a QEMU that was killed still holds the disk's lock, which takes a moment. */
export async function convert(
  args: string[],
  options: QemuImgOptions & { signal: AbortSignal },
): Promise<void> {
  for (let left = LOCK_TRIES; ; left--) {
    try {
      await qemuImg(args, options)
      return
    } catch (error) {
      options.signal.throwIfAborted()
      if (left === 0 || !/Failed to get .* lock/.test(String(error))) throw diskFailure(error)
      await sleep(LOCK_MS, undefined, { signal: options.signal })
    }
  }
}

/** Requires the expected size, because a forged header could turn one cluster, or none, into a huge copy. */
export async function requireSize(file: string, expected: number): Promise<void> {
  const size = await virtualSize(file)
  if (size !== expected) throw new Error(`${file} has a disk of ${size} bytes, and not of ${expected}`)
}

/** Hashes a file in another process, because this one has a single thread for all requests. */
export async function sha256Of(file: string, signal: AbortSignal): Promise<string> {
  const { stdout } = await promisify(execFile)('nice', ['-n', '19', 'sha256sum', '--', file], { signal })
  const [sha256 = ''] = stdout.split(' ')
  return sha256
}
