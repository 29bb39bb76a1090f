import { mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { migrate } from '../../api/database/migrate.ts'
import { openSqlite } from '../../api/database/sqlite.ts'

let folder: string | null = null

/** The folder of the databases, in memory if the system supports that. */
export async function databases(): Promise<string> {
  if (folder) return folder
  const made = mkdtempSync('/dev/shm/berth-simulation-')
  process.on('exit', () => rmSync(made, { recursive: true, force: true }))
  const db = openSqlite(path.join(made, 'newest.db'))
  await migrate(db)
  await db.destroy()
  folder = made
  return made
}
