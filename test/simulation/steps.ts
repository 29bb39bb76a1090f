import type { Doing, Installation } from './process.ts'
import type { Actor } from './scheduler.ts'

/** After this time, leases have expired, and dead processes are known to be dead. */
const LEASES_MS = 60_000

/** Watches the steps of all processes, and reports operations that two carry out at once. */
export class Steps {
  readonly #installation: Installation
  readonly #broken: (what: string) => void
  #unsettledUntil = 0

  constructor(installation: Installation, broken: (what: string) => void) {
    this.#installation = installation
    this.#broken = broken
  }

  /** Allows other processes to take leases that expired while everything was paused. */
  unsettle(): void {
    this.#unsettledUntil = this.#installation.scheduler.elapsed() + LEASES_MS
  }

  see(process: Actor, { moment, operationId, type }: Doing): void {
    const { scheduler, faults, processes, databaseAwayUntil } = this.#installation
    const elapsed = scheduler.elapsed()
    // After a step of the clock ahead, all leases count as expired, too.
    const disturbedAt = Math.max(databaseAwayUntil, scheduler.clockSetAt)
    const unsettledUntil = Math.max(this.#unsettledUntil, disturbedAt + LEASES_MS)
    if (moment !== 'before' || elapsed < unsettledUntil || faults.disturbsDatabase) return
    for (const { actor, doing } of processes) {
      // A process that was paused has lost its leases.
      if (actor === process || actor.pausedUntil + LEASES_MS > elapsed) continue
      const isDouble = [...doing.values()].some(
        (other) => other.operationId === operationId && other.moment === 'before',
      )
      if (isDouble)
        this.#broken(
          `one process at a time carries out an operation: ${type} by ${actor.name} and ${process.name}`,
        )
    }
  }
}
