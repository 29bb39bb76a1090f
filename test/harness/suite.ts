import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/**
 * Runs vitest with some options, and prints its numbers in the form of npm test: never "0 failed" of a red run.
 * @returns whether it went well
 */
export function runSuite(root: string, options: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-report-'))
  const file = path.join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const { status } = spawnSync('vitest', ['run', ...reporters, ...options], {
    cwd: root,
    env,
    stdio: 'inherit',
  })
  const report: { numPassedTests: number; numFailedTests: number; success: boolean } = existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8'))
    : { numPassedTests: 0, numFailedTests: 0, success: false }
  rmSync(folder, { recursive: true })
  // PostgreSQL's package ends a process that set it up with 0, whatever happened: the report says it too.
  const failed = Math.max(report.numFailedTests, status === 0 && report.success ? 0 : 1)
  console.log(`${report.numPassedTests} passed, ${failed} failed`)
  return failed === 0
}
