#!/usr/bin/env node
// The entry point. It is plain JavaScript so that the compile cache is on before Node loads its compiler to erase types:
// with the cache only the first run needs it, and the others take a third of the time.
import module from 'node:module'
import { homedir } from 'node:os'
import path from 'node:path'

if (!process.features.typescript) {
  console.error(`Error: berth needs Node 24, but this is ${process.version}.`)
  console.error('In the checkout, npx berth uses the right version.')
  process.exit(1)
}
// Not in the temporary folder, which is Node's default: code that others put there would be run.
module.enableCompileCache?.(
  path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'berth', 'node'),
)
await import('./main.ts')
