import type { Readable, Writable } from 'node:stream'

/** The process that the program runs in, or a stand-in for tests. */
export interface Terminal {
  env: Record<string, string | undefined>
  stdin: Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }
  stdout: Writable & { isTTY?: boolean; columns?: number }
  stderr: Writable & { isTTY?: boolean; columns?: number }
  on(event: 'SIGINT', interrupted: () => void): unknown
  off(event: 'SIGINT', interrupted: () => void): unknown
}

/** Runs something endless until Ctrl-C, which is not an error here. */
export async function untilInterrupt(
  terminal: Terminal,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  terminal.on('SIGINT', interrupt)
  try {
    await run(interrupted.signal)
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
  } finally {
    terminal.off('SIGINT', interrupt)
  }
}

/** True if a user can answer prompts. */
export function isInteractive({ stdin, stderr }: Terminal): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}
