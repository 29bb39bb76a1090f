import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import type { Outcome } from './procedure.ts'
import type { OperationTable } from './tables.ts'

/** The end of an operation. */
export interface End {
  operation: OperationTable
  outcome: Outcome
  /** Writes its consequences. */
  write: ((tx: Queries) => Promise<void>) | undefined
}

export interface EndsOptions {
  db: Database
  clock: Clock
  /** The process that holds the operations. */
  owner: string
  /** Called for each operation that ended, in the transaction that writes it. */
  ended: (tx: Queries, operation: OperationTable) => Promise<void>
  /** Runs the part of that transaction that records events, so that they are written together. */
  together?: ((tx: Queries, run: () => Promise<void>) => Promise<void>) | undefined
}

/** The most ends that one transaction writes. */
const MOST = 16
/** The number of transactions that write ends at the same time; further ends wait for them and share the next one. */
const WIDTH = 2

/** Rolls back writes for an operation that is no longer ours. */
class NotOurs extends Error {}

interface Waiting {
  end: End
  resolve: (isOurs: boolean) => void
  reject: (error: unknown) => void
}

/** Writes the ends of operations; those that end at the same time share a transaction. */
export class Ends {
  readonly #options: EndsOptions
  readonly #waiting: Waiting[] = []
  #writing = 0

  constructor(options: EndsOptions) {
    this.#options = options
  }

  /**
   * Ends an operation and writes its consequences in one transaction.
   * @returns false if it no longer runs for this owner: it was canceled, or taken by another process
   */
  async settle(end: End, { isShared }: { isShared: boolean }): Promise<boolean> {
    if (!isShared) return this.#settleAlone(end)
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    this.#waiting.push({ end, resolve, reject })
    if (this.#writing < WIDTH) void this.#writeWaiting()
    return promise
  }

  async #writeWaiting(): Promise<void> {
    this.#writing += 1
    while (this.#waiting.length > 0) await this.#settleGroup(this.#waiting.splice(0, MOST))
    this.#writing -= 1
  }

  async #settleGroup(group: readonly Waiting[]): Promise<void> {
    if (group.length > 1)
      try {
        await this.#write(group.map(({ end }) => end))
        for (const { resolve } of group) resolve(true)
        return
      } catch {
        // Each end is written again by itself below, so that one that fails does not hold back the others.
      }
    for (const { end, resolve, reject } of group) await this.#settleAlone(end).then(resolve, reject)
  }

  async #settleAlone(end: End): Promise<boolean> {
    try {
      await this.#write([end])
      return true
    } catch (error) {
      if (error instanceof NotOurs) return false
      throw error
    }
  }

  /**
   * Writes the consequences first, sorted by subject: every request also locks the rows of subjects before those of
   * operations, so this cannot deadlock.
   */
  async #write(ends: readonly End[]): Promise<void> {
    const { db, clock, owner, ended, together = (_tx, run) => run() } = this.#options
    const inOrder = ends.toSorted((a, b) => (a.operation.subject_id < b.operation.subject_id ? -1 : 1))
    const now = clock.now()
    await db.transaction().execute((tx) =>
      together(tx, async () => {
        for (const { write } of inOrder) await write?.(tx)
        const rows = await endOperations(tx, inOrder, { owner, now })
        if (rows.length < ends.length) throw new NotOurs()
        for (const row of rows) await ended(tx, row)
      }),
    )
  }
}

/** @param ends one, or several that succeeded */
function endOperations(
  tx: Queries,
  ends: readonly End[],
  { owner, now }: { owner: string; now: number },
): Promise<OperationTable[]> {
  const [failure] = ends.flatMap(({ outcome, operation: { progress } }) =>
    outcome.status === 'failed' ? [{ ...outcome, progress }] : [],
  )
  const ids = ends.map(({ operation }) => operation.operation_id)
  return tx
    .updateTable('operations')
    .set({
      status: failure ? 'failed' : 'succeeded',
      progress: failure?.progress ?? 100,
      error_code: failure?.code ?? null,
      error_message: failure?.message ?? null,
      finished_at: now,
      // The data of a rebuild has a password and user data, which must not outlive the server.
      data: '{}',
      lease_owner: null,
      lease_until: 0,
    })
    .where('operation_id', 'in', ids)
    .where('lease_owner', '=', owner)
    .where('status', '=', 'running')
    .returningAll()
    .execute()
}
