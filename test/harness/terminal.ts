import { spawn } from 'node:child_process'
import xterm, { type Terminal } from '@xterm/headless'

export const keys = { enter: '\r', down: '\x1b[B', space: ' ', ctrlC: '\x03', ctrlD: '\x04' }

export interface Screen {
  /** The text of the terminal, including what has scrolled away; wrapped lines are joined. */
  text(): string
  /** Waits until the screen shows the text. @throws Error after the patience */
  shows(text: string | RegExp): Promise<void>
  /** Waits for a question, then types. */
  answer(question: string | RegExp, typed: string): Promise<void>
  type(typed: string): void
  /** Waits until the program exits. @returns its exit code */
  ended(): Promise<number | null>
  kill(): void
  /** The program that draws the terminal. */
  emulator: Terminal
}

/** Runs a command in a pseudo-terminal, which `script` of util-linux opens, and renders its output with an emulator. */
export function screenOfCommand(
  command: string,
  env: Record<string, string | undefined>,
  { columns = 100, rows = 30, patienceMs = 120_000 } = {},
): Screen {
  const emulator = new xterm.Terminal({ cols: columns, rows, scrollback: 1000, allowProposedApi: true })
  const child = spawn('script', ['-qec', `stty cols ${columns} rows ${rows}; ${command}`, '/dev/null'], {
    env: { PATH: process.env.PATH, TERM: 'xterm-256color', LANG: 'C.UTF-8', SHELL: '/bin/sh', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const changed = new EventTarget()
  child.stdout.on('data', (data) => emulator.write(data, () => changed.dispatchEvent(new Event('change'))))
  // The emulator renders asynchronously, so the end waits for the program's last output, too.
  const end = new Promise<number | null>((resolve) =>
    child.once('close', (code) => emulator.write('', () => resolve(code))),
  )

  const text = () => {
    const { active } = emulator.buffer
    const isBroken = (at: number) => active.getLine(at + 1)?.isWrapped === true
    return Array.from({ length: active.length }, (_, at) => {
      const line = active.getLine(at)?.translateToString(!isBroken(at)) ?? ''
      return isBroken(at) ? line : `${line}\n`
    })
      .join('')
      .trimEnd()
  }
  const shows: Screen['shows'] = (wanted) =>
    new Promise((resolve, reject) => {
      const isShown = () => (typeof wanted === 'string' ? text().includes(wanted) : wanted.test(text()))
      const late = setTimeout(
        () => settle(() => reject(new Error(`The screen never showed ${wanted}. It shows:\n${text()}`))),
        patienceMs,
      )
      const look = () => isShown() && settle(resolve)
      const settle = (done: () => void) => {
        clearTimeout(late)
        changed.removeEventListener('change', look)
        done()
      }
      changed.addEventListener('change', look)
      look()
    })
  const type = (typed: string) => void child.stdin.write(typed)
  return {
    text,
    shows,
    type,
    answer: async (question, typed) => {
      await shows(question)
      type(typed)
    },
    ended: () => end,
    kill: () => void child.kill('SIGKILL'),
    emulator,
  }
}
