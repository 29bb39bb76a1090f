import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../../clock.ts'
import { type Database, failuresIn, inTransactions, type Queries } from '../../database/database.ts'
import { Loop } from '../../loop.ts'
import { countMails } from '../../mail/queue.ts'
import type { Peers } from '../../processes/peers.ts'
import type { Secrets } from '../../secrets.ts'

const LOOK_EVERY_MS = 20_000
const AT_ONCE = 50
/** The queue also has links for signing in, which these mails must not delay. */
const MOST_WAITING = 1_000

export interface Mailing {
  db: Database
  clock: Clock
  log: Logger
  peers: Peers
  secrets: Secrets
  /** Address at which people open the console. */
  siteUrl: () => string
  /** Called after mails were queued. */
  mailed: () => void
}

interface Parts<Due> {
  /** The subject of the mails, for the log. */
  about: string
  /** Finds the mails that are due, oldest first, at most `atMost`. It must not return one that was mailed. */
  due: (now: number, atMost: number) => Promise<readonly Due[]>
  /**
   * Queues the mails of one item, in the transaction that notes it as mailed. Another process may have done so
   * already.
   */
  mail: (tx: Queries, due: Due) => Promise<void>
}

/**
 * Queues mails that rows mark as due, in one process. It pauses while the queue is full. A mail that can't be created
 * does not stop the others.
 */
export class MailLoop<Due = string> {
  readonly #mailing: Mailing
  readonly #parts: Parts<Due>
  readonly #loop: Loop
  /** Items that could not be mailed last time: they stay the oldest, and others come after them. */
  #failed = 0

  constructor(mailing: Mailing, parts: Parts<Due>) {
    this.#mailing = mailing
    this.#parts = parts
    this.#loop = new Loop({
      ...mailing,
      turn: () => this.look(),
      failure: `mails about ${parts.about} could not be queued; trying again`,
      pauseMs: () => LOOK_EVERY_MS,
      isOurs: () => mailing.peers.holds('billing'),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Queues the mails that are due. */
  async look(): Promise<void> {
    const { db, clock, mailed } = this.#mailing
    const atMost = AT_ONCE + this.#failed
    const due = await this.#parts.due(clock.now(), atMost)
    this.#failed = 0
    if (due.length === 0 || (await countMails(db)) >= MOST_WAITING) return
    try {
      await inTransactions(db, due, this.#parts.mail)
    } catch (error) {
      this.#failed = failuresIn(error)
      throw error
    } finally {
      mailed()
    }
    if (due.length >= atMost) this.#loop.wake()
  }
}
