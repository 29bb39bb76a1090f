import type { Lent } from '../database/database.ts'

/**
 * Topics of messages to all processes: operations are due, have ended or were canceled; something was committed (so
 * events may lack positions); events have positions; there are mails to send.
 */
export const topics = ['operations', 'ended', 'canceled', 'recorded', 'published', 'mailed'] as const
export type Topic = (typeof topics)[number]

/** Work that one process does for all. */
export const duties = ['reconciler', 'sampler', 'billing', 'relay', 'retention', 'totals'] as const
export type Duty = (typeof duties)[number]

/** The role of a process: it answers requests (api), works in the background (worker), or both. */
export type Role = 'all' | 'api' | 'worker'

/** A living process with its host and the path of its catalogue's file; null: it does not report the file. */
export interface Living {
  process_id: string
  host: string
  catalog_file: string | null
}

/** The other processes that serve the same installation, and what they share with this one. */
export interface Peers {
  /** True if this process has the duty at this moment. */
  holds(duty: Duty): boolean
  /** True if this process looks after the machines of a pool at this moment: they are measured and reconciled here. */
  holdsPool(pool: string): boolean
  /** The number of processes that answer requests. */
  readonly answering: number
  /** The processes that are alive; null: there is only this one. */
  readonly living: Lent<Living> | null
  /**
   * Notifies all processes: this one at once, the others in some milliseconds, or never if the database is away.
   * Listeners must therefore also poll now and then.
   */
  ring(topic: Topic, ids?: readonly string[]): void
  /** @param listener gets an empty list if it may have missed ids */
  on(topic: Topic, listener: (ids: readonly string[]) => void): void
  /** @param listener is called when this process has got a duty or a pool, or lost one */
  onShift(listener: () => void): void
  /** Leaves the other processes, which take over the duties of this one. */
  stop(): Promise<void>
}

export type Listener = Parameters<Peers['on']>[1]

/** The listeners in this process. */
export class Listeners {
  readonly #listeners = new Map<Topic, Listener[]>()

  on(topic: Topic, listener: Listener): void {
    this.#listeners.set(topic, [...(this.#listeners.get(topic) ?? []), listener])
  }

  tell(topic: Topic, ids: readonly string[]): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener(ids)
  }
}

/** One process that does everything. */
export function noPeers(listeners = new Listeners()): Peers {
  return {
    holds: () => true,
    holdsPool: () => true,
    answering: 1,
    living: null,
    ring: (topic, ids = []) => listeners.tell(topic, ids),
    on: (topic, listener) => listeners.on(topic, listener),
    onShift: () => {},
    stop: async () => {},
  }
}
