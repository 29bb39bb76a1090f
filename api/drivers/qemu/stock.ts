import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { exists, isMissing } from '../../files.ts'
import type { Stock } from '../module.ts'
import { Layout, readRecord } from './layout.ts'
import { Shelf } from './snapshot-shelf.ts'

/** Lists what lies in a data folder. */
export async function stockOf(dataDir: string): Promise<Stock> {
  const layout = new Layout(dataDir)
  const machines = new Map<string, boolean>()
  for (const id of await namesIn(layout.machines)) {
    const files = layout.files(id)
    const record = await readRecord(files).catch(() => null)
    machines.set(id, record !== null && (await exists(files.disk)))
  }
  const snapshots = [...(await new Shelf(layout).list())].map(([id, { isReady }]) => [id, isReady] as const)
  const volumes = await namesIn(path.join(dataDir, 'volumes'))
  return { machines, snapshots: new Map(snapshots), volumes: new Set(volumes) }
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
}
