import { readFileSync } from 'node:fs'
import pg from 'pg'

/** Seconds of CPU that a process has had. */
export function cpuOf(pid: number): number {
  return sumOf(pid, 11, 13)
}

/** Seconds of CPU that this process has had, and the programs that it ran to their end. */
export function cpuOfAll(): number {
  return sumOf(process.pid, 11, 15)
}

function sumOf(pid: number, first: number, end: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(first, end).reduce((sum, field) => sum + Number(field), 0) / 100
}

/** The CPU time of the server and of all its sessions. */
export async function cpuOfDatabase(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('SELECT pid FROM pg_stat_activity')
  await client.end()
  return rows.reduce((sum, { pid }) => sum + cpuIfThere(pid), 0)
}

/** Returns 0 for an ended session, because background sessions can end at any moment. */
function cpuIfThere(pid: number): number {
  try {
    return cpuOf(pid)
  } catch {
    return 0
  }
}
