#!/usr/bin/env node
import { run } from './program.ts'

// Whoever reads may have seen enough: `berth server list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})
process.exitCode = await run(process.argv.slice(2), process)
