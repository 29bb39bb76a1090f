import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

interface VitestReport {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  success: boolean
  testResults: { status: string; assertionResults: unknown[] }[]
}

/** The numbers of vitest's report; null if it wrote none. */
export function readReport(
  file: string,
): { passed: number; failed: number; skipped: number; isGreen: boolean } | null {
  try {
    const report: VitestReport = JSON.parse(readFileSync(file, 'utf8'))
    // A file that fails before its first test has no test to count.
    const broken = report.testResults.filter(
      (result) => result.status === 'failed' && result.assertionResults.length === 0,
    )
    return {
      passed: report.numPassedTests,
      failed: report.numFailedTests + broken.length,
      skipped: report.numPendingTests,
      // vitest also reports success if it ran no test.
      isGreen: report.success && report.numPassedTests > 0,
    }
  } catch {
    return null
  }
}

/**
 * Runs vitest with some options, and prints its numbers in the form of npm test: never "0 failed" for a red run.
 * @returns true if all tests passed
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
  const report = readReport(file)
  rmSync(folder, { recursive: true })
  // PostgreSQL's package ends a process that set it up with 0, whatever happened, so the report counts too.
  const failed = Math.max(report?.failed ?? 0, status === 0 && report?.isGreen ? 0 : 1)
  console.log(`${report?.passed ?? 0} passed, ${failed} failed`)
  return failed === 0
}
