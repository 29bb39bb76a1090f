import { readFileSync } from 'node:fs'

// Not imported: Node 20 warns on stderr when a program imports JSON.
const manifest: { version: string } = JSON.parse(
  readFileSync(new URL('package.json', import.meta.url), 'utf8'),
)

export const version = manifest.version
