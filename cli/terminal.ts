import type { Readable, Writable } from 'node:stream'

/** Where the program is run: the process itself, or what stands in for it. */
export interface Terminal {
  env: Record<string, string | undefined>
  stdin: Readable & { isTTY?: boolean }
  stdout: Writable & { isTTY?: boolean; columns?: number }
  stderr: Writable & { isTTY?: boolean; columns?: number }
  on(event: 'SIGINT', interrupted: () => void): unknown
  off(event: 'SIGINT', interrupted: () => void): unknown
}

/** Runs what has no end of its own, until Ctrl-C: which is how it is meant to end, and no error. */
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

/** Whether there is somebody who can be asked. */
export function isInteractive({ stdin, stderr }: Terminal): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}
