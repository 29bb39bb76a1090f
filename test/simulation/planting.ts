import { registerHooks } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Planted } from './planted.ts'

const root = path.resolve(import.meta.dirname, '../..')

/**
 * Loads the product with a mistake, without changing its files.
 * @throws Error when the file is loaded, if it does not contain a text exactly once, because the code has changed
 */
export function load({ name, file, edits }: Planted): void {
  const place = path.join(root, file)
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (!url.startsWith('file:') || fileURLToPath(url) !== place) return loaded
      const text = Buffer.from(loaded.source as Uint8Array).toString() // files are loaded as bytes
      return {
        ...loaded,
        source: edits.reduce((source, edit) => changed(source, edit, `"${name}" in ${file}`), text),
      }
    },
  })
}

function changed(source: string, { find, put }: Planted['edits'][number], what: string): string {
  const parts = source.split(find)
  if (parts.length === 2) return parts.join(put)
  throw new Error(`can't plant ${what}, which has this ${parts.length - 1} times: ${find}`)
}
