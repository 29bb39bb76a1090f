import path from 'node:path'
import { onTestFinished } from 'vitest'
import { type Screen, screenOfCommand } from '../../harness/terminal.ts'

const main = path.resolve(import.meta.dirname, '../../../cli/main.ts')

/** The program in a terminal. */
export function screenOf(
  args: string,
  env: Record<string, string | undefined>,
  size: { columns?: number; rows?: number } = {},
): Screen {
  const screen = screenOfCommand(`exec '${process.execPath}' '${main}' ${args}`, env, size)
  onTestFinished(screen.kill)
  return screen
}
