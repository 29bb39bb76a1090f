import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../../clock.ts'
import { type Database, inTransactions } from '../../database/database.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { Loop } from '../../loop.ts'
import type { Engine } from '../../operations/engine.ts'
import type { Peers } from '../../processes/peers.ts'
import { dropExpired, expiredBackups } from '../../snapshots/backups.ts'
import type { Offsite } from '../../snapshots/offsite.ts'
import { isUsingSnapshot } from '../queries.ts'
import { copyDisk } from '../snapshots/snapshots.ts'
import { checkAction } from '../states.ts'
import { lockServer, postponeBackups } from '../store.ts'
import { BootChecks } from './boot-checks.ts'
import { dueBackup, poolsToBackUp } from './due.ts'
import { verifyCopies } from './verify.ts'

const LOOK_EVERY_MS = 5_000
const VERIFY_EVERY_MS = 15_000
/** The pause before the next try if a server's backup could not begin. */
const POSTPONED_MS = 3600_000

interface ScheduleOptions {
  db: Database
  clock: Clock
  drivers: Drivers
  engine: Engine
  log: Logger
  peers: Peers
  offsite: Offsite
}

/** Begins the backups that are due, one at a time in each pool, deletes those that expire, verifies all copies, and boots the newest. */
export class BackupSchedule {
  readonly #options: ScheduleOptions
  readonly #loop: Loop
  readonly #verifying: Loop
  readonly #boots: BootChecks
  readonly #booting: Loop

  constructor(options: ScheduleOptions) {
    this.#options = options
    this.#loop = new Loop({
      ...options,
      turn: () => this.look(),
      failure: 'backups could not be begun; trying again',
      pauseMs: () => LOOK_EVERY_MS,
      isOurs: () => options.peers.holds('reconciler'),
    })
    this.#verifying = new Loop({
      ...options,
      turn: () => this.verify(),
      failure: 'copies could not be verified; trying again',
      pauseMs: () => VERIFY_EVERY_MS,
      isOurs: () => options.peers.holds('reconciler'),
    })
    this.#boots = new BootChecks(options)
    this.#booting = new Loop({
      ...options,
      turn: () => this.bootNewest(),
      failure: 'backups could not be booted; trying again',
      pauseMs: () => VERIFY_EVERY_MS,
      isOurs: () => options.peers.holds('reconciler'),
    })
  }

  start(): void {
    this.#loop.start()
    this.#verifying.start()
    this.#booting.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#loop.stop(), this.#verifying.stop(), this.#booting.stop()])
  }

  /** Verifies copies that are due against the facts noted when they were made. */
  verify(): Promise<void> {
    return verifyCopies(this.#options)
  }

  /** Boots newest backups that are due, at night, to see if they start. */
  bootNewest(): Promise<void> {
    return this.#boots.look()
  }

  async look(): Promise<void> {
    const { db, clock, engine } = this.#options
    for (const pool of await poolsToBackUp(db, clock.now())) await this.#lookAt(pool)
    engine.wake()
    await inTransactions(db, await expiredBackups(db, clock.now()), (tx, { snapshot_id }) =>
      dropExpired(tx, snapshot_id, isUsingSnapshot, clock.now()),
    )
  }

  /** A host copies one disk at a time, and no server should be busy while it waits for its turn. */
  async #lookAt(pool: string): Promise<void> {
    const { db, clock, log } = this.#options
    const due = await dueBackup(db, pool, clock.now())
    if (!due) return
    try {
      await this.#begin(due.server_id)
    } catch (error) {
      log.error(
        { err: error, server_id: due.server_id },
        'a backup could not be begun; it is tried again later',
      )
      await postponeBackups(db, { server_id: due.server_id }, clock.now() + POSTPONED_MS)
    }
  }

  async #begin(serverId: string): Promise<void> {
    const { db, clock } = this.#options
    await db.transaction().execute(async (tx) => {
      const now = clock.now()
      const server = await lockServer(tx, serverId)
      // Another process, or a request, may have been quicker.
      if (!server || server.backing_up !== null || (server.backup_due_at ?? now + 1) > now) return
      if (checkAction('snapshot', server) === 'allowed') await copyDisk(tx, server, 'backup', undefined, now)
    })
  }
}
