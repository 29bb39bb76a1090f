import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { onTestFinished } from 'vitest'
import type { Database } from '../../../api/database/database.ts'
import { openPostgres } from '../../../api/database/postgres.ts'
import type { Server } from '../../harness/postgres.ts'
import { folder, order, type Service, serveOn } from './berthd.ts'
import { type Cutter, cutter, type Wall } from './cutter.ts'

const OWN_TIME = path.join(import.meta.dirname, 'own-time.ts')
const ROLES = ['api', 'api', 'worker', 'worker'] as const
const QUOTAS = JSON.stringify({ servers: 12, cpu: 1000, ram_mb: 10_000_000, disk_gb: 100_000 })

interface Member {
  role: (typeof ROLES)[number]
  link: Cutter
  clockFile: string
  stepMs: number
  data: string
  service: Service | null
}

/** A program, and what prepares an empty database and data folder for it. */
interface Version {
  program?: string
  prepare?: (url: string, data: string) => Promise<string>
}

/** Two processes of each role on one database, with the faults that can happen to them. */
export class Fleet {
  readonly db: Database
  readonly url: string
  readonly members: readonly Member[]
  token = ''
  /** The program for new processes (default: this version's). */
  program: string | undefined
  /** The body that orders a server. */
  order: Record<string, unknown> = {}
  #passedMs = 0

  private constructor(url: string, members: readonly Member[]) {
    this.url = url
    this.db = openPostgres(url)
    this.members = members
    onTestFinished(() => this.db.destroy())
  }

  /** @param prepare makes the tables and an account; by default this version does. @returns its token */
  static async open(postgres: Server, name: string, { program, prepare }: Version = {}): Promise<Fleet> {
    const url = await postgres.create(name)
    const data = folder()
    const token = (await prepare?.(url, data)) ?? ''
    const members = await Promise.all(
      ROLES.map(async (role, at) => {
        const clockFile = path.join(data, `clock-${at}`)
        return { role, link: await cutter(url), clockFile, stepMs: 0, data, service: null }
      }),
    )
    const fleet = new Fleet(url, members)
    fleet.token = token
    fleet.program = program
    await fleet.#ownTime(name)
    await fleet.start(0)
    for (const service of fleet.answering) fleet.order = await order(service)
    await Promise.all([1, 2, 3].map((at) => fleet.start(at)))
    await fleet.db.updateTable('accounts').set({ quotas: QUOTAS }).execute()
    return fleet
  }

  at(index: number): Member {
    const member = this.members[index]
    if (!member) throw new Error(`there is no process ${index}`)
    return member
  }

  /** The processes whose role is to answer requests. */
  get answering(): Service[] {
    return this.members.flatMap(({ role, service }) => (role === 'api' && service ? [service] : []))
  }

  async start(index: number): Promise<void> {
    const member = this.at(index)
    if (member.service) return
    this.#tellTime(member)
    const { role, link, clockFile, data } = member
    const env = {
      BERTH_ROLE: role,
      TEST_CLOCK: clockFile,
      TEST_PATIENCE_MS: '3600000',
      NODE_OPTIONS: `--import ${OWN_TIME}`,
      ...(this.token ? { TOKEN: this.token } : {}),
    }
    member.service = await serveOn(link.url, data, env, this.program)
    this.token = member.service.token
  }

  async end(index: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { service } = this.at(index)
    this.at(index).service = null
    service?.process.kill(signal)
    await service?.ended
  }

  /** Stops a process for a while, without its knowledge. */
  async pause(index: number, ms: number): Promise<void> {
    const process = this.at(index).service?.process
    process?.kill('SIGSTOP')
    await sleep(ms)
    process?.kill('SIGCONT')
  }

  async part(index: number, wall: Wall, ms: number): Promise<void> {
    this.at(index).link.part(wall)
    await sleep(ms)
    this.at(index).link.part(null)
  }

  /** Sets the clock of a process wrong for a while. */
  async step(index: number, stepMs: number, ms: number): Promise<void> {
    const member = this.at(index)
    for (const step of [stepMs, 0]) {
      member.stepMs = step
      this.#tellTime(member)
      if (step !== 0) await sleep(ms)
    }
  }

  /** Lets the disk of a process accept nothing for a while. */
  async fill(index: number, ms: number): Promise<void> {
    const pid = this.at(index).service?.process.pid
    const limit = (bytes: string) =>
      pid && execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}`])
    limit('0:unlimited')
    await sleep(ms)
    if (this.at(index).service?.process.pid === pid) limit('unlimited')
  }

  /** Advances the time of all processes and of the database. */
  async pass(ms: number): Promise<void> {
    this.#passedMs += ms
    for (const member of this.members) this.#tellTime(member)
    await sql`UPDATE travel.passed SET ms = ${this.#passedMs}`.execute(this.db)
    await this.db.transaction().execute(async (tx) => {
      // Deleting rows one by one could wait for a process that removes a dead one, which waits for this transaction.
      await sql`LOCK TABLE processes IN EXCLUSIVE MODE`.execute(tx)
      await tx
        .updateTable('processes')
        .set((eb) => ({ seen_at: eb('seen_at', '+', ms) }))
        .execute()
    })
  }

  /** The pids of processes that hold a duty. */
  async holders(): Promise<Set<number>> {
    const owners = this.db.selectFrom('duties').innerJoin('processes', 'process_id', 'owner').select('pid')
    return new Set((await owners.execute()).map((row) => row.pid))
  }

  /** Replaces the clock of the database by one that the test sets. */
  async #ownTime(name: string): Promise<void> {
    const statements = [
      'CREATE SCHEMA travel',
      'CREATE TABLE travel.passed (ms bigint)',
      'INSERT INTO travel.passed VALUES (0)',
      `CREATE FUNCTION travel.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
        $$SELECT pg_catalog.clock_timestamp() + (SELECT ms FROM travel.passed) * interval '1 ms'$$`,
      `ALTER DATABASE ${name} SET search_path = public, travel, pg_catalog`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(this.db)
  }

  #tellTime({ clockFile, stepMs, service }: Member): void {
    writeFileSync(clockFile, JSON.stringify({ passedMs: this.#passedMs, stepMs }))
    service?.process.kill('SIGUSR2')
  }
}
