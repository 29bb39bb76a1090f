import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** The full copy under a difference, beside it: a link to the file of the snapshot that it was first. */
export const BASE = 'base.qcow2'

/** The full copy that an image needs below itself; null: the image is a full copy. */
export function baseOf(image: string): string | null {
  const base = join(dirname(image), BASE)
  return existsSync(base) ? base : null
}

/** QEMU's description of an image and the full copy below it. Headers are not believed. */
export function imageNode(image: string, from?: string): object {
  const base = baseOf(image)
  return node(image, base === null ? null : node(base, null, from), from)
}

/**
 * QEMU's description of a disk and all below it.
 * @param image null: the disk is whole by itself
 * @param from the folder that paths start from (default: they are absolute)
 */
export function diskNode(disk: string, image: string | null, from?: string): object {
  return node(disk, image === null ? null : imageNode(image, from), from)
}

function node(file: string, backing: object | null, from?: string): object {
  const filename = from === undefined ? file : relative(from, file)
  return { driver: 'qcow2', file: { driver: 'file', filename }, backing }
}
