import { virtualSize } from './disk.ts'
import type { Owner } from './host/process.ts'
import { diskNode } from './image-node.ts'
import { qemuImg } from './images/qemu-img.ts'
import { give } from './pack.ts'
import { diskBytes } from './snapshot-shelf.ts'

const MEASURE_MS = 60_000

/**
 * Measures the data of a disk and of all below it, also while a machine writes to it.
 * @param base the image under the disk; null: the disk is whole by itself
 * @returns the bytes that a copy of it takes at most, uncompressed
 * @throws Error if the header has features that Berth never uses
 */
export async function dataBytes(file: string, base: string | null, owner: Owner | null): Promise<number> {
  await virtualSize(file)
  const disk = `json:${JSON.stringify(diskNode(file, base))}`
  try {
    await give(file, owner)
    const args = ['measure', '-U', '--output=json', '-O', 'qcow2', disk]
    const said = await qemuImg(args, { timeoutMs: MEASURE_MS, owner, isNice: true })
    // JSON of qemu-img itself (BlockMeasureInfo).
    return (JSON.parse(said) as { required: number }).required
  } catch {
    // The metadata of a disk in use may have changed under the reader; the room is watched anyway.
    return diskBytes(file)
  }
}
