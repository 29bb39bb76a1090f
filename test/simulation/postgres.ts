import { chmodSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { migrate } from '../../api/database/migrate.ts'
import { openPostgres } from '../../api/database/postgres.ts'
import { type Server, startPostgres } from '../harness/postgres.ts'
import { databases } from './folder.ts'
import { Mirror, RECORD } from './mirror.ts'

/** The settings turn off all background work of the server. */
const FLAGS = [
  ...['autovacuum=off', 'deadlock_timeout=1d', 'jit=off', 'max_parallel_workers_per_gather=0'],
  ...['wal_level=minimal', 'max_wal_senders=0', 'full_page_writes=off', 'synchronous_commit=off'],
].flatMap((flag) => ['-c', flag])

/** The simulated clock shadows PostgreSQL's own, because `public` comes before `pg_catalog` in the search path. */
const clockOf = (file: string) => `
  ALTER ROLE postgres SET search_path = public, pg_catalog;
  CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    $$ SELECT to_timestamp(pg_catalog.pg_read_file('${file}')::float8 / 1000) $$`

/** The server of all histories. */
interface Running {
  server: Server
  monitor: pg.Client
  /** The file from which the server reads the time. */
  clock: string
}

let running: Promise<Running> | null = null

async function start(): Promise<Running> {
  const folder = await databases()
  // The server runs as another user, who needs access to the clock.
  chmodSync(folder, 0o711)
  const clock = path.join(folder, 'clock')
  const server = await startPostgres(FLAGS)
  const url = await server.create('newest')
  const db = openPostgres(url)
  await migrate(db)
  await db.destroy()
  const client = await connect(url)
  await client.query(RECORD)
  await client.query(clockOf(clock))
  await client.end()
  return { server, monitor: await connect(server.url('postgres')), clock }
}

/** Ends the server, if one was started. */
export async function endPostgres(): Promise<void> {
  const ending = await running
  running = null
  await ending?.monitor.end()
  await ending?.server.remove()
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  return client
}

/** A fresh database on the server, and its rows in a file of SQLite. */
export interface Opened {
  /** A connection to another database, for inspecting sessions. */
  monitor: pg.Client
  mirror: Mirror
  /** The address of the server, and the path of this database. */
  url: URL
  setClock: (now: number) => void
  close: () => Promise<void>
}

/** @param file the file of SQLite */
export async function freshPostgres(file: string): Promise<Opened> {
  running ??= start()
  const { server, monitor, clock } = await running
  const setClock = (now: number) => writeFileSync(clock, String(now))
  setClock(0)
  await monitor.query('DROP DATABASE IF EXISTS berth WITH (FORCE)')
  await monitor.query('CREATE DATABASE berth TEMPLATE newest')
  const url = new URL(server.url('berth'))
  const follower = await connect(url.href)
  const mirror = new Mirror(follower, file)
  await mirror.fill()
  const close = async () => {
    mirror.close()
    await follower.end()
  }
  return { monitor, mirror, url, setClock, close }
}
