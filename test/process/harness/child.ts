import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'

export const ROOT = path.resolve(import.meta.dirname, '../../..')

export interface Child {
  process: ChildProcess
  /** The output so far. */
  readonly stdout: string
  readonly stderr: string
  /** Resolves with a line of stdout for which `matches` is true. */
  line(matches: (line: string) => boolean): Promise<string>
  /** Resolves when the process has ended. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** A process that takes longer than this hangs: it is killed, and the test shows its output. */
const PATIENCE_MS = 800_000

/** Runs a program of this repository, or of another copy of it, in a process of its own. */
export function start(program: string, args: readonly string[], env: Record<string, string> = {}): Child {
  return run(program, process.execPath, [path.resolve(ROOT, program), ...args], env)
}

/** Runs a program after commands of a shell. */
export function startShell(first: string, program: string, args: string, env: Record<string, string>): Child {
  const command = `${first}; exec '${process.execPath}' '${path.join(ROOT, program)}' ${args}`
  return run(program, 'sh', ['-c', command], env)
}

/** Runs a program in a real terminal, which `script` of util-linux opens. Its whole output is in stdout. */
export function startInTerminal(program: string, args: string, env: Record<string, string> = {}): Child {
  const command = `exec '${process.execPath}' '${path.join(ROOT, program)}' ${args}`
  return run(program, 'script', ['-qec', command, '/dev/null'], env)
}

/** A service's messages at its start, when its output is not a terminal. */
export async function listening(service: Child): Promise<Record<string, unknown> & { address: string }> {
  return JSON.parse(await service.line((line) => line.includes('"msg":"listening"')))
}

function run(program: string, file: string, args: readonly string[], env: Record<string, string>): Child {
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...withoutSettings(process.env), NODE_NO_WARNINGS: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const patienceMs = Number(env.TEST_PATIENCE_MS ?? PATIENCE_MS)
  const written = { stdout: '', stderr: '' }
  const lines: string[] = []
  const listeners = new Set<() => void>()
  const news = () => {
    for (const listener of listeners) listener()
  }
  child.stderr.on('data', (chunk: Buffer) => (written.stderr += chunk.toString()))
  createInterface({ input: child.stdout }).on('line', (line) => {
    written.stdout += `${line}\n`
    lines.push(line)
    news()
  })
  const timer = setTimeout(() => {
    written.stderr += `\n(killed by the test: it hung for ${patienceMs} ms)`
    child.kill('SIGKILL')
  }, patienceMs)
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal })
    }),
  )
  return {
    process: child,
    get stdout() {
      return written.stdout
    },
    get stderr() {
      return written.stderr
    },
    ended,
    line: (matches) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.find(matches)
          if (found === undefined) return
          listeners.delete(look)
          resolve(found)
        }
        listeners.add(look)
        void ended.then(() =>
          reject(
            new Error(
              `${program} ended before it printed the expected line.\n${written.stdout}\n${written.stderr}`,
            ),
          ),
        )
        look()
      }),
  }
}

/** Removes our settings from the environment, so that they do not affect the tests. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(
    ([name]) => !/^(BERTH_.*|HOST|PORT|DATABASE_URL|VITEST.*|NODE_OPTIONS)$/.test(name),
  )
  return Object.fromEntries(kept)
}

/** Carries out the tasks two at a time: there are two cores. */
export async function twoAtATime(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const left = [...tasks]
  const worker = async () => {
    for (let task = left.shift(); task; task = left.shift()) await task()
  }
  await Promise.all([worker(), worker()])
}
