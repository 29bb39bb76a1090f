import { copyFile, link, mkdir, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { ImageSpec } from '../../images.ts'
import type { StoredImage } from './images.ts'
import { LocalImages } from './store.ts'

/** For tests: the image that guests boot. */
export const microSpec: ImageSpec = { slug: 'micro', sources: [{ type: 'build', name: 'micro' }] }

const repository = path.resolve(import.meta.dirname, '../../..')
const cache = process.env.BERTH_TEST_CACHE ?? path.join(repository, 'node_modules/.cache/berth')

/**
 * For tests: the micro image, built at most once for each state of its build scripts (20 s, and downloads) and kept
 * in BERTH_TEST_CACHE. If a data folder is given, the image is linked into it, so that a driver with that folder
 * finds `microSpec` ready.
 */
export async function microImage(dataDir?: string): Promise<StoredImage> {
  const store = new LocalImages({ dataDir: cache })
  try {
    const image = await store.wait(microSpec)
    for (const old of await store.list()) {
      if (old.id !== image.id) await rm(path.dirname(old.disk), { recursive: true, force: true })
    }
    if (!dataDir) return image
    for (const name of [image.id, 'sources'])
      await linkAll(path.join(cache, 'images', name), path.join(dataDir, 'images', name))
  } finally {
    await store.close()
  }
  const own = new LocalImages({ dataDir })
  const image = await own.wait(microSpec)
  await own.close()
  return image
}

async function linkAll(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const name of await readdir(from)) {
    const pair = [path.join(from, name), path.join(to, name)] as const
    await link(...pair).catch(() => copyFile(...pair))
  }
}
