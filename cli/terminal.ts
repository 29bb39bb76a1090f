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

/** Whether there is somebody who can be asked. */
export function isInteractive({ stdin, stderr }: Terminal): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}
