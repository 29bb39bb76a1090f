import { spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '../../../files.ts'
import { startTime } from './proc.ts'

/** Identifies a process; the start time tells it from a later one with the same pid. */
export interface ProcessId {
  pid: number
  /** Clock ticks since the host booted. */
  startTime: string
}

export interface Owner {
  uid: number
  gid: number
}

/**
 * Starts a program that outlives the service, in its own session, without a shell, and without the service's
 * environment (it holds secrets).
 * @param logPath the file that its output is appended to
 * @returns its pid, and a promise of its end while the service lives
 * @throws Error if the program can't be executed
 */
export async function spawnDetached(
  command: string,
  args: readonly string[],
  logPath: string,
): Promise<{ pid: number; exited: Promise<void> }> {
  const log = openSync(logPath, 'a', 0o600)
  try {
    const child = spawn(command, args, {
      detached: true,
      stdio: ['ignore', log, log],
      cwd: '/',
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
    })
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    child.unref()
    // 'spawn' was emitted, so there is a pid.
    return { pid: child.pid as number, exited }
  } finally {
    closeSync(log)
  }
}

/**
 * Waits until a program that was just started is ready.
 * @param exited its end, from spawnDetached
 * @returns false if the program ended before that, or took too long
 */
export async function isReadyWithin(
  limitMs: number,
  exited: Promise<void>,
  isReady: () => Promise<boolean>,
  everyMs = 5,
): Promise<boolean> {
  let hasEnded = false
  void exited.then(() => {
    hasEnded = true
  })
  const deadline = performance.now() + limitMs
  while (!hasEnded && performance.now() < deadline) {
    if (await isReady()) return true
    await sleep(everyMs)
  }
  return false
}

/**
 * Returns the process with this pid if `mark` is one of its arguments. A zombie has no arguments and so counts as
 * gone.
 * @throws Error if the service has no descriptors left, since no process may be taken for gone then
 */
export function identify(pid: number, mark: string): ProcessId | null {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    if (!args.includes(mark)) return null
    const started = startTime(pid)
    return started === null ? null : { pid, startTime: started }
  } catch (error) {
    if (['EMFILE', 'ENFILE'].includes(errorCode(error) ?? '')) throw error
    return null
  }
}

/** The program that a process was started as; null: it is gone, or about to become another program. */
export function programOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] || null
  } catch {
    return null
  }
}

/**
 * Searches all processes for one with this argument, which takes some 20 microseconds for each.
 * @param program the program that it was started as (default: any process that names the mark)
 */
export function findByArgument(mark: string, program?: string): ProcessId | null {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue
    const found = identify(Number(name), mark)
    if (found && (program === undefined || programOf(found.pid) === program)) return found
  }
  return null
}

/** True if this very process, and not a later one with its pid, still runs. */
export function isAlive(id: ProcessId, mark: string): boolean {
  return identify(id.pid, mark)?.startTime === id.startTime
}

/** Waits until the process is gone; returns false if it is still there after the timeout. */
export async function waitGone(id: ProcessId, mark: string, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (isAlive(id, mark)) {
    if (performance.now() > deadline) return false
    await sleep(10)
  }
  return true
}

/** Sends SIGKILL to exactly the process that was identified. Returns false if it does not end even so. */
export async function killVerified(id: ProcessId, mark: string): Promise<boolean> {
  if (!isAlive(id, mark)) return true
  try {
    process.kill(id.pid, 'SIGKILL')
  } catch (error) {
    // The process ended by itself in the meantime.
    if (errorCode(error) !== 'ESRCH') throw error
  }
  return waitGone(id, mark, 10_000)
}
