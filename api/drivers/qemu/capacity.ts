import { readdir, stat, statfs } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Layout } from './layout.ts'

export interface Capacity {
  cores: number
  ramMb: number
  diskGb: number
}

/**
 * Returns the host's capacity for machines: its cores, its memory (or the service's share of it), and the free disk
 * space plus what the machines use.
 */
export async function hostCapacity(layout: Layout): Promise<Capacity> {
  const { bavail, bsize } = await statfs(layout.dataDir)
  const constrained = process.constrainedMemory()
  const memory = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  return {
    cores: availableParallelism(),
    ramMb: Math.floor(memory / 2 ** 20),
    diskGb: Math.floor((bavail * bsize + (await usedByMachines(layout))) / 2 ** 30),
  }
}

async function usedByMachines(layout: Layout): Promise<number> {
  const names = await readdir(layout.machines)
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(layout.machines, name, 'disk.qcow2')).then(
        (file) => file.blocks * 512,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
