#!/usr/bin/env node
import { exitCodes } from './errors.ts'
import { run } from './program.ts'

// The reader may have closed the pipe: `berth server list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  process.stderr.write(`Error: Output can't be written: ${error.message}\n`)
  process.stderr.write('Check the target of the output. The command itself was carried out.\n')
  process.exit(exitCodes.error)
})
// An error on stderr can't be reported anywhere; the exit code still tells it.
process.stderr.on('error', () => {})
process.exitCode = await run(process.argv.slice(2), process)
