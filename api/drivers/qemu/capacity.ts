import { readdir, statfs } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Layout } from './layout.ts'
import { diskBytes } from './snapshot-shelf.ts'

export interface Capacity {
  cores: number
  ramMb: number
  diskGb: number
}

/**
 * Returns the host's capacity for machines: its cores, its memory (or the service's share of it), and the free disk
 * space plus what the machines and volumes use.
 */
export async function hostCapacity(layout: Layout): Promise<Capacity> {
  const { bavail, bsize } = await statfs(layout.dataDir)
  const constrained = process.constrainedMemory()
  const memory = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  return {
    cores: availableParallelism(),
    ramMb: Math.floor(memory / 2 ** 20),
    diskGb: Math.floor((bavail * bsize + (await usedByDisks(layout))) / 2 ** 30),
  }
}

/** The bytes that disks of machines and volumes take. */
async function usedByDisks({ machines, dataDir }: Layout): Promise<number> {
  const volumes = join(dataDir, 'volumes')
  const disks = [
    ...(await readdir(machines)).map((name) => join(machines, name, 'disk.qcow2')),
    ...(await readdir(volumes).catch(() => [])).map((name) => join(volumes, name, 'disk.raw')),
  ]
  const sizes = await Promise.all(disks.map(diskBytes))
  return sizes.reduce((sum, size) => sum + size, 0)
}
