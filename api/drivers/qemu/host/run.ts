import { spawn } from 'node:child_process'
import type { Owner } from './process.ts'

const LIMIT_MS = 20_000

interface RunOptions {
  /** The user that the program runs as (default: the service's own). */
  owner?: Owner
  limitMs?: number
}

/**
 * Runs a system program with the given input.
 * @returns the program's output
 * @throws Error with the program's last words
 */
export function run(
  command: readonly string[],
  input = '',
  { owner, limitMs = LIMIT_MS }: RunOptions = {},
): Promise<string> {
  const [program = '', ...args] = command
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...owner,
      cwd: '/',
      timeout: limitMs,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const said = { out: '', err: '' }
    child.stdout.on('data', (text) => {
      said.out += text
    })
    child.stderr.on('data', (text) => {
      said.err += text
    })
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) return resolve(said.out)
      const words = said.err.trim().split('\n').slice(0, 3).join('; ')
      reject(new Error(words || `${program} ended with ${code ?? 'a signal'}`))
    })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}
