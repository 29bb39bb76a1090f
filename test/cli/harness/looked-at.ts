import { PassThrough } from 'node:stream'
import { run } from '../../../cli/program.ts'

export interface Looked {
  code: Promise<number>
  /** Everything printed on stdout so far. */
  out(): string
  /** Waits until this much was printed. */
  printed(isEnough: (out: string) => boolean): Promise<void>
  interrupt(): void
}

/** Runs the program so that a test can watch its output and interrupt it, with or without a terminal. */
export function lookedAt(
  args: string[],
  {
    env,
    isTTY = true,
    columns = 80,
  }: { env: Record<string, string | undefined>; isTTY?: boolean; columns?: number },
): Looked {
  const [stdin, stderr] = [new PassThrough(), new PassThrough()]
  const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns })
  const interrupted = new Set<() => void>()
  let out = ''
  stdout.on('data', (text: string) => {
    out += text
  })
  const on = (_: 'SIGINT', interrupt: () => void) => interrupted.add(interrupt)
  const off = (_: 'SIGINT', interrupt: () => void) => interrupted.delete(interrupt)
  const code = run(args, { env, stdin, stdout, stderr, on, off })
  const printed = async (isEnough: (out: string) => boolean) => {
    while (!isEnough(out)) await new Promise((resolve) => setImmediate(resolve))
  }
  const interrupt = () => {
    for (const each of interrupted) each()
  }
  return { code, out: () => out, printed, interrupt }
}
