import { DriverError } from '../driver.ts'
import { at, type IncusClient } from './client.ts'
import { IncusError } from './errors.ts'

/** Folders up to this depth are never removed, because systems may depend on them. */
const KEPT_DEPTH = 2

interface Place {
  client: IncusClient
  /** An instance that is off. */
  name: string
  project: string
}

/**
 * Removes a guest's links from the paths at which Incus writes into a copied disk before its first start. A link makes
 * the start fail and leave a card on the member. Without the fix of CVE-2026-23954, Incus even follows it on its host.
 * Incus keeps an instance busy for 10 s after it has read files of it.
 * @throws DriverError image_unusable
 * @throws IncusError
 */
export async function clearSeedPaths({ client, name, project }: Place): Promise<void> {
  const root = `/1.0/instances/${name}`
  const { templates } = await client.get<{ templates: object | null }>(at(`${root}/metadata`, { project }))
  const types = new Map<string, string | null>()
  const typeOf = async (path: string) => {
    // Incus looks for it within the disk, and follows no link at its end.
    const type = types.get(path) ?? (await client.typeOf(at(`${root}/files`, { project, path })))
    types.set(path, type)
    return type
  }
  for (const file of Object.keys(templates ?? {})) {
    const wrong = await firstWrong(file, typeOf)
    if (wrong === null) continue
    if (wrong.isFolder && wrong.depth <= KEPT_DEPTH) throw unusable(wrong.path)
    await client
      .call('DELETE', at(`${root}/files`, { project, path: wrong.path }))
      .catch((error: unknown) => {
        throw error instanceof IncusError && error.refusal === 'other' ? unusable(wrong.path) : error
      })
    types.set(wrong.path, null)
  }
}

/** The first part of a file's path that is neither missing nor a plain folder, or file at the end; null: none is. */
async function firstWrong(file: string, typeOf: (path: string) => Promise<string | null>) {
  const parts = file.split('/').filter((part) => part !== '')
  for (let depth = 1; depth <= parts.length; depth++) {
    const path = `/${parts.slice(0, depth).join('/')}`
    const isFolder = depth < parts.length
    const type = await typeOf(path)
    if (type === null) return null
    if (type !== (isFolder ? 'directory' : 'file')) return { path, depth, isFolder }
  }
  return null
}

function unusable(path: string): DriverError {
  return new DriverError(
    'image_unusable',
    `The disk has something else in place of ${path}, so no server could be set up on it.`,
  )
}
