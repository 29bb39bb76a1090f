// `npm test`: format and lint, types, then all tests but those of the QEMU driver, whose emulated guests take as long as
// the rest: npm test -- --project qemu runs them. All parts run, so that one look shows all that is wrong.
// Arguments go to vitest: npm test -- --project unit
import { spawnSync } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { runWhereUsersCanEnter } from './harness/passable.ts'
import { readReport } from './harness/suite.ts'

const root = path.resolve(import.meta.dirname, '..')
runWhereUsersCanEnter(root)
const given = process.argv.slice(2)
// The tools' own "env node" must find the Node that Berth runs on, not the machine's.
const PATH = [path.join(root, 'node_modules/.bin'), process.env.PATH].join(path.delimiter)
const env = { ...process.env, PATH }

/** @returns true if the part succeeded */
function part(title: string, command: string, args: string[]): boolean {
  console.log(`\n== ${title}`)
  const { status, signal, error } = spawnSync(command, args, { cwd: root, env, stdio: 'inherit' })
  if (error) console.error(`${command} can't be run: ${error.message}`)
  if (signal) process.exit(130)
  return status === 0
}

function lacks(program: string): boolean {
  return !PATH.split(path.delimiter).some((folder) => {
    try {
      accessSync(path.join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const missing = ['qemu-system-x86_64', 'qemu-img', 'ssh', 'sshpass'].filter(lacks)
// vitest.config.ts leaves the browser's tests out by itself.
const lacksBrowser = lacks('chromium')
// script opens a terminal for test/cli/terminal.test.ts.
const lacksScript = lacks('script')
const failedParts: string[] = []
if (!part('Biome: format and lint', 'biome', ['check', '--error-on-warnings'])) failedParts.push('Biome')
if (!part('TypeScript: types', 'tsc', ['--noEmit'])) failedParts.push('TypeScript')
if (!part('TypeScript: types of the console', 'tsc', ['--noEmit', '-p', 'console']))
  failedParts.push('TypeScript of the console')
if (missing.length > 0 && process.env.CI) failedParts.push(`QEMU (not installed: ${missing.join(', ')})`)
if (lacksBrowser && process.env.CI) failedParts.push('Browser (not installed: chromium)')
if (lacksScript && process.env.CI) failedParts.push('Terminal (not installed: script)')

const folder = mkdtempSync(path.join(tmpdir(), 'berth-test-'))
const file = path.join(folder, 'report.json')
const isNarrow = given.some((arg) => arg.startsWith('--project'))
const selection = given.length === 0 || (missing.length > 0 && !isNarrow) ? ['--project=!qemu'] : []
const isGreen = part('vitest: tests', 'vitest', [
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${file}`,
  ...selection,
  ...given,
])
const report = readReport(file)
rmSync(folder, { recursive: true })
// vitest can fail without a failed test: if it finds none, or after an error outside of tests or in the global
// set-up. Its exit code is not enough: PostgreSQL's package ends a process that set it up with 0, whatever happened.
if (!(isGreen && report?.isGreen) && !report?.failed) failedParts.push('vitest')

console.log('')
if (missing.length > 0)
  console.log(`*** QEMU tests were skipped because these are not installed: ${missing.join(', ')} ***`)
else if (selection.length > 0) console.log('The QEMU driver has tests of its own: npm test -- --project qemu')
if (lacksScript) console.log('*** Tests in a terminal were skipped because script is not installed ***')
if (lacksBrowser) console.log('*** Browser tests were skipped because chromium is not installed ***')
for (const name of failedParts) console.log(`Failed: ${name}`)
if (report?.skipped) console.log(`${report.skipped} tests were skipped.`)
// CI reads this line. A failed part counts as a failed test, so that a red run never reports "0 failed".
const failed = (report?.failed ?? 0) + failedParts.length
console.log(`${report?.passed ?? 0} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
