import { Writable } from 'node:stream'
import pino from 'pino'
import { type App, buildApp } from '../../api/app.ts'
import type { Catalog } from '../../api/catalog/file.ts'
import type { Database } from '../../api/database/database.ts'
import { Drivers } from '../../api/drivers/drivers.ts'
import { Passwords } from '../../api/people/guard/passwords.ts'
import { Members } from '../../api/processes/members.ts'
import { Listeners, noPeers, type Topic } from '../../api/processes/peers.ts'
import { Secrets } from '../../api/secrets.ts'
import { openSeam } from './database.ts'
import type { Faults } from './faults.ts'
import type { Host } from './host.ts'
import { Actor, type Scheduler } from './scheduler.ts'
import type { Sessions } from './sessions.ts'

/** The key of the installation's secrets. */
export const KEY = Buffer.alloc(32, 7)
export const PORTS = { first: 22000, last: 22199 }

/** All that the processes of one installation share. */
export interface Installation {
  scheduler: Scheduler
  faults: Faults
  host: Host
  /** The file of the database. */
  file: string
  /** The sessions of PostgreSQL; null: the database is SQLite. */
  sessions: Sessions | null
  catalog: Catalog
  /** The database does not answer before this time. */
  databaseAwayUntil: number
  /** True if one process serves alone, as it does on SQLite. */
  isAlone: boolean
  sampleSeconds: number
  saveEveryMs: number
  keepSuspendedMs: number | null
  graceMs: number
  /** The processes that are alive. */
  processes: Process[]
  /** Receives each line of a process's log. */
  onLog: (process: string, line: string) => void
  /** Observes each moment of each step. */
  onStep: (process: Actor, doing: Doing) => void
  /** Receives the changed tables; null: any. */
  onWrite: (tables: Iterable<string> | null) => void
}

/** A step of an operation, and its progress. */
export interface Doing {
  operationId: string
  type: string
  step: string
  moment: 'before' | 'after' | 'saved'
}

/** A process of the service: the real application, connected to the simulated world at its seams. */
export class Process {
  readonly actor: Actor
  readonly app: App
  readonly #cut: () => void
  /** The current steps, by the operation's subject. */
  readonly doing: ReadonlyMap<string, Doing>
  readonly #listeners: Listeners
  /** Resolves when the process has died. */
  readonly death: Promise<void>
  readonly #isWriting: () => boolean
  #die: () => void = () => {}
  /** The database, accessed as this process. */
  readonly db: Database

  private constructor(parts: {
    actor: Actor
    app: App
    db: Database
    cut: () => void
    isWriting: () => boolean
    doing: ReadonlyMap<string, Doing>
    listeners: Listeners
  }) {
    this.doing = parts.doing
    this.#isWriting = parts.isWriting
    this.actor = parts.actor
    this.app = parts.app
    this.db = parts.db
    this.#cut = parts.cut
    this.#listeners = parts.listeners
    this.death = new Promise((resolve) => {
      this.#die = resolve
    })
  }

  /** Starts a process as `berthd serve` does. */
  static async start(installation: Installation, name: string): Promise<Process> {
    const actor = new Actor(name)
    const { sessions, file } = installation
    const onCommit = () => ring(installation, actor, 'recorded')
    const seam = sessions?.open(actor, onCommit) ?? openSeam(file, seamOf(installation, actor))
    try {
      return await installation.scheduler.as(actor, () => Process.#start(installation, actor, seam))
    } catch (error) {
      // `berthd serve` would exit here, which also ends its heartbeats.
      actor.isDead = true
      seam.cut()
      throw error
    }
  }

  static async #start(
    installation: Installation,
    actor: Actor,
    { db, cut, isWriting }: ReturnType<typeof openSeam>,
  ): Promise<Process> {
    const { scheduler, faults, host, isAlone } = installation
    const clock = scheduler.clockOf(actor)
    const listeners = new Listeners()
    const bells = {
      on: listeners.on.bind(listeners),
      ring: (topic: Topic, ids: readonly string[] = []) => ring(installation, actor, topic, ids),
    }
    const log = pino(
      { level: 'warn' },
      logOf((line) => installation.onLog(actor.name, line)),
    )
    const members = isAlone ? null : new Members({ db, clock, log, role: 'all', bells })
    const doing = new Map<string, Doing>()
    await members?.start()
    const app = await buildApp({
      db,
      clock,
      drivers: new Drivers('simulator', { simulator: host.driverFor(actor) }),
      catalog: installation.catalog,
      secrets: new Secrets(KEY),
      log,
      sshPorts: PORTS,
      sshHost: '127.0.0.1',
      rateLimits: { reads: 1e9, writes: 1e9, anonymous: 1e9 },
      validateReplies: true,
      observe: (moment, { operation_id: operationId, subject_id, type }, step) => {
        const now = { operationId, type, step, moment }
        doing.set(subject_id, now)
        installation.onStep(actor, now)
      },
      // Some installations save each step, others only pauses.
      saveEveryMs: installation.saveEveryMs,
      peers: members ?? noPeers(listeners),
      owner: members?.processId ?? actor.name,
      sampleSeconds: installation.sampleSeconds,
      yookassa: new URL('https://shop:key@provider.example.com/v3'),
      keepSuspendedMs: installation.keepSuspendedMs,
      graceMs: installation.graceMs,
      passwords: new Passwords({ logN: 4, r: 8, p: 1 }),
      lookup: async (name) => [{ address: name.startsWith('b') ? '1.1.1.1' : '8.8.8.8', family: 4 }],
      mailer: {
        place: 'in the simulation',
        check: async () => {},
        send: async () => {
          await scheduler.cross(actor, 'mail')
          if (faults.happens('mail_fails')) throw new Error('the mail server refused it')
        },
        close: () => {},
      },
    })
    const self = new Process({ actor, app, db, cut, isWriting, doing, listeners })
    await startWorkers(app, members)
    installation.processes.push(self)
    return self
  }

  /** True if the process is in a transaction that has written. */
  get isWriting(): boolean {
    return this.#isWriting()
  }

  /** Ends the process at once, between any two steps, as a kill does. */
  kill(installation: Installation): void {
    this.actor.isDead = true
    installation.processes.splice(installation.processes.indexOf(this), 1)
    this.#cut()
    installation.onWrite(null)
    this.#die()
  }

  hear(topic: Topic, ids: readonly string[]): void {
    this.#listeners.tell(topic, ids)
  }
}

async function startWorkers(app: App, members: Members | null): Promise<void> {
  const isAlone = members === null
  app.events.start()
  app.security.start()
  app.consoles.start()
  members?.inherit(app.engine.inherit)
  members?.inherit(app.webhooks.inherit)
  members?.share(['simulator'])
  await app.engine.start({ isAlone })
  app.reconciler.start()
  app.backups.start()
  app.sampler.start()
  app.complaintMails.start()
  app.billing.start()
  app.payments.start()
  app.retention.start()
  app.mails.start()
  await app.webhooks.start({ isAlone })
}

/** Notifies this process at once, and each other one some time later, or never. */
function ring(installation: Installation, from: Actor, topic: Topic, ids: readonly string[] = []): void {
  const { processes, faults, scheduler } = installation
  for (const process of processes) {
    if (process.actor === from) process.hear(topic, ids)
    else if (!faults.happens('lost_bell'))
      void scheduler.cross(process.actor, `bell ${topic}`, 5).then(() => process.hear(topic, ids))
  }
}

/** The error that PostgreSQL's driver reports for a broken connection. */
function broken(): Error {
  return Object.assign(new Error('the connection to the database was lost'), { code: '08006' })
}

function seamOf(installation: Installation, actor: Actor) {
  const { scheduler, faults, onWrite } = installation
  return {
    wrote: onWrite,
    now: scheduler.now,
    before: async (label: string) => {
      const slowMs = faults.happens('slow_statement') ? faults.delayMs(5, 3_000) : 0
      await scheduler.cross(actor, label, slowMs)
      if (faults.happens('failover'))
        installation.databaseAwayUntil = scheduler.elapsed() + faults.delayMs(5_000, 60_000)
      const isAway = scheduler.elapsed() < installation.databaseAwayUntil
      if (faults.happens('database_away') || isAway) throw broken()
    },
    after: async (label: string, isWrite: boolean) => {
      if (!isWrite) return
      await scheduler.cross(actor, `answer of ${label}`)
      if (faults.happens('lost_commit')) throw broken()
    },
  }
}

function logOf(write: (line: string) => void): Writable {
  return new Writable({
    write: (chunk, _, done) => {
      write(String(chunk))
      done()
    },
  })
}
