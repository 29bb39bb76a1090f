import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import { Semaphore } from '../concurrency.ts'
import type { Database } from '../database/database.ts'
import { DriverError } from '../drivers/driver.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { SnapshotFiles } from '../drivers/snapshots.ts'
import { Loop } from '../loop.ts'
import { messageOf } from '../message-of.ts'
import { PlaceError } from '../offsite/place.ts'
import type { Damage, Vault } from '../offsite/vault.ts'
import type { Peers } from '../processes/peers.ts'
import {
  findOffsite,
  hasten,
  nextDue,
  noteDamaged,
  noteParted,
  noteParts,
  noteRemoved,
  noteSent,
  type OffsiteRow,
  postpone,
  putOff,
  sendAbove,
  sendAllTo,
} from './offsite-rows.ts'
import { Ongoing } from './ongoing.ts'

const LOOK_EVERY_MS = 15_000
/** The pause before the next try if a copy could not be sent or removed. */
const RETRY_MS = 5 * 60_000
/** The pause before the next try if a host could not export a copy: each try may fill its disk. */
const COSTLY_MS = 6 * 3600_000
/** The pause before the next check of a deleted full copy that others need. */
const NEEDED_MS = 60 * 60_000
/** The most copies that are brought back at once. Each takes the memory of four parts. */
const AT_ONCE = 2

interface OffsiteOptions {
  db: Database
  clock: Clock
  log: Logger
  drivers: Drivers
  peers: Peers
  /** Null: the operator has set no place. */
  vault: Vault | null
}

/** A copy on its way back to its host. Once it is there, its host lists it. */
export type BringState =
  | { state: 'copying'; progress: number }
  /** No complete copy exists off site. */
  | { state: 'absent' }
  | Failure

interface Failure {
  state: 'failed'
  /** `unavailable`: the place or the host does not answer, so the next call tries again. */
  code: 'unavailable' | 'disk_full' | 'damaged'
}

/** The state of a copy that is read off site to check it, without being brought back. */
export type CheckState =
  | { state: 'reading' }
  | { state: 'intact' }
  /** The copy is damaged or missing. A damaged copy is sent again. */
  | { state: 'failed' }

/** Copies snapshots, images and backups off site, removes them from there with their rows, and brings them back. */
export class Offsite {
  readonly #options: OffsiteOptions
  readonly #loop: Loop
  readonly #bringing: Ongoing<Failure>
  readonly #checking: Ongoing<CheckState>
  readonly #turns = new Semaphore(AT_ONCE)
  readonly #stopping = new AbortController()
  #isSettled = false

  constructor(options: OffsiteOptions) {
    this.#options = options
    this.#bringing = new Ongoing(options.clock)
    this.#checking = new Ongoing(options.clock)
    this.#loop = new Loop({
      ...options,
      turn: () => this.look(),
      failure: 'copies could not be sent off site; trying again',
      pauseMs: () => LOOK_EVERY_MS,
      isOurs: () => options.peers.holds('reconciler'),
    })
  }

  /** The place without secrets; null: none is set. */
  get place(): string | null {
    return this.#options.vault?.place ?? null
  }

  start(): void {
    if (this.#options.vault) this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('The service ends'))
    await this.#loop.stop()
    await this.settled()
  }

  /** Resolves when nothing is being brought back or checked. */
  async settled(): Promise<void> {
    await Promise.all([this.#bringing.settled(), this.#checking.settled()])
  }

  /** True if a row's copy is complete in the operator's current place. */
  has({ offsite_at, offsite_place }: Pick<OffsiteRow, 'offsite_at' | 'offsite_place'>): boolean {
    return offsite_at !== null && offsite_place !== null && offsite_place === this.place
  }

  /** Sends and removes all due copies, one at a time, to leave the bandwidth to customers. */
  async look(): Promise<void> {
    const { db, clock, log, vault } = this.#options
    if (!vault) return
    vault.rest()
    if (!this.#isSettled) await sendAllTo(db, vault.place, clock.now())
    this.#isSettled = true
    while (!this.#stopping.signal.aborted) {
      const due = await nextDue(db, clock.now())
      if (!due) return
      const { snapshot_id } = due
      try {
        if (due.deleted_at === null) await this.#send(vault, due)
        else if (due.is_below) await putOff(db, snapshot_id, clock.now() + NEEDED_MS)
        else await this.#remove(vault, due)
      } catch (error) {
        log.error({ err: error, snapshot_id }, 'a copy could not be sent off site, or removed; trying again')
        const isCostly = error instanceof DriverError && ['disk_full', 'start_failed'].includes(error.code)
        await postpone(db, snapshot_id, clock.now() + (isCostly ? COSTLY_MS : RETRY_MS), messageOf(error))
        // Other copies would only wait for the same place.
        if (error instanceof PlaceError) return
      }
    }
  }

  async #send(vault: Vault, { snapshot_id, pool, base_id, ...row }: OffsiteRow): Promise<void> {
    const { db, clock, drivers } = this.#options
    const files = drivers.at(pool).snapshotFiles
    let done = row.offsite_place === vault.place ? row.offsite_parts : 0
    // The place is noted before the first part, so that a copy deleted meanwhile leaves nothing there.
    let isWanted = await noteParts(db, snapshot_id, vault.place, done)
    if (!isWanted) return
    const noted = async (parts: number) => {
      done = parts
      isWanted = (await noteParts(db, snapshot_id, vault.place, parts)) && !this.#stopping.signal.aborted
      return isWanted
    }
    const base = base_id === null ? undefined : await findOffsite(db, base_id)
    const there = base && this.has(base) ? base_id : null
    const sent = await vault
      .send(files, snapshot_id, { done, noted, there })
      .catch(async (error: unknown) => {
        // An export of which nothing was sent would only take up space; a later try makes another.
        if (done === 0) await this.#release(files, snapshot_id)
        throw error
      })
    if (!sent && isWanted) throw new Error('It is missing on its host')
    if (!sent) return
    await noteSent(db, snapshot_id, sent, clock.now())
    await this.#release(files, snapshot_id)
  }

  /** Removes an export. If that fails, it expires. */
  async #release(files: SnapshotFiles, snapshotId: string): Promise<void> {
    const { log } = this.#options
    await files
      .release?.(snapshotId)
      .catch((error: unknown) => log.warn({ err: error, snapshot_id: snapshotId }, 'an export stays'))
  }

  async #remove(vault: Vault, { snapshot_id, base_id, offsite_place }: OffsiteRow): Promise<void> {
    const { db, clock, log } = this.#options
    // An interrupted removal must not leave parts that a difference takes for a complete copy.
    await noteParted(db, snapshot_id)
    if (offsite_place === vault.place) await vault.remove(snapshot_id)
    else if (offsite_place)
      log.warn({ snapshot_id, offsite_place }, 'a deleted copy stays in a place that is not set any more')
    await noteRemoved(db, snapshot_id)
    if (base_id !== null) await hasten(db, base_id, clock.now())
  }

  /** Begins or continues to bring a copy back to its host, and returns the state immediately, as drivers do. */
  async bring(snapshotId: string): Promise<BringState> {
    const { db, drivers, vault } = this.#options
    const known = this.#bringing.find(snapshotId)
    if (known) return 'result' in known ? known.result : { state: 'copying', ...known }
    const row = await findOffsite(db, snapshotId)
    if (!vault || !row || !this.has(row) || this.#stopping.signal.aborted) return { state: 'absent' }
    const kept = await drivers.at(row.pool).listSnapshots([snapshotId])
    // Another call may have been quicker.
    if (!kept.get(snapshotId)?.isReady)
      this.#bringing.begin(snapshotId, (progress) => this.#carry(vault, row, progress))
    return { state: 'copying', progress: 0 }
  }

  /** Never fails. */
  async #carry(vault: Vault, row: OffsiteRow, progress: (share: number) => void): Promise<Failure | null> {
    const { log } = this.#options
    const { snapshot_id, offsite_sha256 } = row
    await this.#turns.acquire()
    try {
      const damage = await vault.bring(this.#targetOf(row), snapshot_id, {
        sha256: offsite_sha256 ?? '',
        progress,
        signal: this.#stopping.signal,
      })
      if (damage === null) return null
      await this.#noteDamage(snapshot_id, damage)
      return { state: 'failed', code: 'damaged' }
    } catch (error) {
      const isFull = error instanceof DriverError && error.code === 'disk_full'
      log.error({ err: error, snapshot_id }, 'a copy could not be brought back')
      return { state: 'failed', code: isFull ? 'disk_full' : 'unavailable' }
    } finally {
      this.#turns.release()
    }
  }

  /**
   * The files of a copy on its host, as long as the copy is not deleted. Its host is swept for an hour after the
   * deletion, and a copy takes longer to arrive.
   */
  #targetOf({ snapshot_id, pool }: OffsiteRow): Pick<SnapshotFiles, 'write' | 'accept'> {
    const { db, drivers } = this.#options
    const driver = drivers.at(pool)
    const { snapshotFiles: files } = driver
    const isGone = async () => (await findOffsite(db, snapshot_id))?.deleted_at !== null
    const requireKept = async () => {
      if (await isGone()) throw new Error('The copy was deleted meanwhile')
    }
    return {
      write: async (id, part) => {
        await requireKept()
        await files.write(id, part)
      },
      accept: async (id, list) => {
        await requireKept()
        const damaged = await files.accept(id, list)
        if (await isGone()) await driver.removeSnapshot(id)
        return damaged
      },
    }
  }

  /** Notes which copies are damaged, so that they are sent again. */
  async #noteDamage(snapshot_id: string, { snapshotId: damagedId, reason }: Damage): Promise<void> {
    const { db, clock, log } = this.#options
    log.error({ snapshot_id, damaged_id: damagedId, reason }, 'a copy off site is damaged')
    const dueAt = clock.now() + RETRY_MS
    for (const id of new Set([damagedId, snapshot_id])) await noteDamaged(db, id, dueAt, reason)
    if (damagedId !== snapshot_id) await sendAbove(db, damagedId, dueAt, reason)
  }

  /** Begins or continues to read a whole copy off site, and returns the state immediately, as drivers do. */
  async check(snapshotId: string): Promise<CheckState> {
    const known = this.#checking.find(snapshotId)
    if (known && 'result' in known) return known.result
    this.#checking.begin(snapshotId, () => this.#read(snapshotId))
    return { state: 'reading' }
  }

  /** Never fails. */
  async #read(snapshotId: string): Promise<CheckState> {
    const { db, log, vault } = this.#options
    await this.#turns.acquire()
    try {
      const row = await findOffsite(db, snapshotId)
      if (!vault || !row || !this.has(row)) return { state: 'failed' }
      const wanted = { sha256: row.offsite_sha256 ?? '', signal: this.#stopping.signal }
      const damage = await vault.check(snapshotId, wanted)
      if (damage === null) return { state: 'intact' }
      await this.#noteDamage(snapshotId, damage)
    } catch (error) {
      log.error({ err: error, snapshot_id: snapshotId }, 'a copy off site could not be read')
    } finally {
      this.#turns.release()
    }
    return { state: 'failed' }
  }
}
