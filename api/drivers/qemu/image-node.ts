import { closeSync, openSync, readSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { isMissing } from '../../files.ts'

/** The full copy in the folder of a difference: a hard link to the disk of the snapshot with the full copy. */
export const BASE = 'base.qcow2'

/** A qcow2 header begins with a magic number, a version, and the place of the backing file's name; 0: it has none. */
const HEADER_BYTES = 16

/**
 * Returns the path at which the full copy below an image has to be; null: the image is itself a full copy. This is
 * read from the image: without its full copy, a guest would read zeros instead of its data.
 */
export function baseOf(image: string): string | null {
  const header = Buffer.alloc(HEADER_BYTES)
  try {
    const file = openSync(image, 'r')
    try {
      readSync(file, header, 0, HEADER_BYTES, 0)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  const isDifference = header.toString('latin1', 0, 4) === 'QFI\xfb' && header.readBigUInt64BE(8) !== 0n
  return isDifference ? join(dirname(image), BASE) : null
}

/** QEMU's description of an image and the full copy below it. QEMU then ignores the paths in headers. */
export function imageNode(image: string, from?: string): object {
  const base = baseOf(image)
  return node(image, base === null ? null : node(base, null, from), from)
}

/**
 * QEMU's description of a disk and all below it.
 * @param image null: the disk has no backing file
 * @param from the folder that paths start from (default: they are absolute)
 */
export function diskNode(disk: string, image: string | null, from?: string): object {
  return node(disk, image === null ? null : imageNode(image, from), from)
}

function node(file: string, backing: object | null, from?: string): object {
  const filename = from === undefined ? file : relative(from, file)
  return { driver: 'qcow2', file: { driver: 'file', filename }, backing }
}
