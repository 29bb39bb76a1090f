import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { exists } from '../../files.ts'
import type { Archive, ArchivedMachines } from '../module.ts'
import { Layout, readRecord, readRun } from './layout.ts'

/** Adds the specifications of all machines to a backup and, on request, the disks of those that are off. */
export async function archive(
  contents: Archive,
  dataDir: string,
  withDisks: boolean,
): Promise<ArchivedMachines> {
  const disks: string[] = []
  const leftOut: string[] = []
  const images = new Set<string>()
  if (!(await exists(path.join(dataDir, 'vms')))) return { specs: 0, disks, leftOut }
  const layout = new Layout(dataDir)
  const nameOf = (file: string) => path.relative(dataDir, path.resolve(dataDir, file))
  const ids = (await readdir(layout.machines)).sort()
  const specs = ids.map((id) => nameOf(layout.files(id).record))
  await contents.add(dataDir, specs)
  for (const id of ids) {
    const files = layout.files(id)
    const record = await readRecord(files)
    if (!withDisks || !record || !(await exists(files.disk))) continue
    const image = path.dirname(nameOf(record.base))
    const hasImage = /^(images|snapshots)\//.test(image) && (await exists(path.join(dataDir, image)))
    const isOff = async () => (await readRun(files))?.guestShutdown ?? true
    // The seed has customers' user data in plain text, like the disk. So a backup without disks has no seeds either.
    const add = () => contents.add(dataDir, [files.seed, files.disk].map(nameOf))
    if (hasImage && (await isOff()) && (await add()).length === 0 && (await isOff())) {
      disks.push(id)
      images.add(image)
    } else leftOut.push(id)
  }
  for (const image of images) {
    const names = await readdir(path.join(dataDir, image))
    await contents.add(
      dataDir,
      names.map((name) => path.join(image, name)),
    )
  }
  return { specs: specs.filter((name) => name in contents.files).length, disks, leftOut }
}
