import { readFileSync } from 'node:fs'

/**
 * The fields of a process's or thread's `stat` in /proc, from the third on: `man 5 proc` counts from 1. The second is
 * the program's name in brackets and may hold anything, also brackets and spaces.
 */
export function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/**
 * The start time of a process in clock ticks since the host booted; null: there is none. With the pid, it is unique.
 */
export function startTime(pid: number | string): string | null {
  try {
    return statFields(readFileSync(`/proc/${pid}/stat`, 'utf8'))[19] ?? null
  } catch {
    return null
  }
}
