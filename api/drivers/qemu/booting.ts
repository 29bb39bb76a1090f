import { availableParallelism } from 'node:os'
import type { Clock } from '../../clock.ts'
import { mayBoot } from '../boot-slots.ts'

/** A machine counts as booting until its guest's kernel runs, but at most this long. */
export const BOOT_MS = 60_000

/**
 * Bounds how many machines boot at once. Emulated guests that boot all at once starve each other until their kernels
 * distrust their timers.
 */
export class BootingMachines {
  readonly #machines = new Map<string, { since: number; owner: string }>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Lets a machine of this account boot, unless too many are booting. @returns true if it may */
  admit(serverId: string, owner: string): boolean {
    const now = this.#clock.now()
    this.#forgetOld()
    const owners = [...this.#machines.values()].map((machine) => machine.owner)
    if (!this.#machines.has(serverId) && !mayBoot(owner, owners, availableParallelism())) return false
    this.begin(serverId, owner, now)
    return true
  }

  /** True if any machine is booting. */
  isBusy(): boolean {
    this.#forgetOld()
    return this.#machines.size > 0
  }

  begin(serverId: string, owner: string, since: number): void {
    this.#machines.set(serverId, { since, owner })
  }

  end(serverId: string): void {
    this.#machines.delete(serverId)
  }

  #forgetOld(): void {
    const now = this.#clock.now()
    for (const [id, { since }] of this.#machines) if (now - since >= BOOT_MS) this.#machines.delete(id)
  }
}
