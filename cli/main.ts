#!/usr/bin/env node
import { exitCodes } from './errors.ts'
import { run } from './program.ts'

// Whoever reads may have seen enough: `berth server list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  process.stderr.write(`Error: What is printed can't be written: ${error.message}\n`)
  process.stderr.write('Look at where it is sent to: what was ordered has happened all the same.\n')
  process.exit(exitCodes.error)
})
// Nor is there anybody to tell that nobody reads what is told: the exit code still says it.
process.stderr.on('error', () => {})
process.exitCode = await run(process.argv.slice(2), process)
