import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import pg from 'pg'

/** Seconds of CPU that a process has had. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Of the server and of all sessions that are there. */
export async function cpuOfDatabase(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('SELECT pid FROM pg_stat_activity')
  await client.end()
  const pids = rows.map(({ pid }) => pid)
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=', '-p', pids.join(',')]).catch(() => ({
    stdout: '',
  }))
  return stdout.split('\n').reduce((sum, pid) => sum + (pid.trim() ? cpuOf(Number(pid)) : 0), 0)
}
