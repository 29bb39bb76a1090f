#!/usr/bin/env node
// The way into main.ts. It is plain JavaScript so that what follows is there before the first type has to be erased,
// for which Node loads a compiler of its own: with the cache no run but the first needs one, and each is over in a third
// of the time.
import module from 'node:module'
import { homedir } from 'node:os'
import path from 'node:path'

if (!process.features.typescript) {
  console.error(`Error: berth needs Node 24, and this is ${process.version}.`)
  console.error('In the checkout, npx berth runs it on the right one.')
  process.exit(1)
}
// Not in the folder for temporary files, which is Node's own choice: what others put there would be run.
module.enableCompileCache?.(
  path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'berth', 'node'),
)
await import('./main.ts')
