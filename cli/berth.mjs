#!/usr/bin/env node
// The entry point. It is plain JavaScript so that the compile cache is on before Node loads its compiler to erase types:
// with the cache only the first run needs it, and the others take a third of the time.
import module from 'node:module'
import { homedir } from 'node:os'
import path from 'node:path'

// Not in the temporary folder, which is Node's default: code that others put there would be run.
module.enableCompileCache?.(
  path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'berth', 'node'),
)
try {
  await import('./main.ts')
} catch (error) {
  // Only in the checkout: the package contains JavaScript.
  if (error.code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error
  console.error(`Error: In the checkout berth needs Node 24, but this is ${process.version}.`)
  console.error('Run it with npx berth, or install the package that npm run build makes.')
  process.exitCode = 1
}
