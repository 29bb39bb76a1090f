import type { FastifyBaseLogger as Logger } from 'fastify'
import { findAccount } from '../../accounts/accounts.ts'
import { documentsToMail, takeToMail } from '../../billing/documents/mailing.ts'
import type { Clock } from '../../clock.ts'
import type { Database, Queries } from '../../database/database.ts'
import type { Role } from '../../http/contract/auth.ts'
import { Loop } from '../../loop.ts'
import { countMails, enqueueMail } from '../../mail/queue.ts'
import type { Peers } from '../../processes/peers.ts'
import type { Secrets } from '../../secrets.ts'
import { readersOf } from '../membership/members.ts'
import { documentMail } from './documents.ts'

const LOOK_EVERY_MS = 20_000
const AT_ONCE = 50
/** Each month ends for all accounts at once: their mails must not fill the queue of links for signing in. */
const MOST_WAITING = 1_000
/** The people who may pay. */
const PAYING: readonly Role[] = ['owner', 'admin', 'billing']

interface MailingOptions {
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

/** Mails those who may pay about invoices and their corrections, also those that a command issued. */
export class DocumentMails {
  readonly #options: MailingOptions
  readonly #loop: Loop

  constructor(options: MailingOptions) {
    this.#options = options
    this.#loop = new Loop({
      ...options,
      turn: () => this.look(),
      failure: 'mails about documents could not be queued; trying again',
      pauseMs: () => LOOK_EVERY_MS,
      isOurs: () => options.peers.holds('billing'),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Queues the mails that are due, each in the transaction that notes it. */
  async look(): Promise<void> {
    const { db, clock, mailed } = this.#options
    const due = await documentsToMail(db, clock.now(), AT_ONCE)
    if (due.length === 0 || (await countMails(db)) >= MOST_WAITING) return
    for (const documentId of due) await db.transaction().execute((tx) => this.#mail(tx, documentId))
    mailed()
    if (due.length === AT_ONCE) this.#loop.wake()
  }

  async #mail(tx: Queries, documentId: string): Promise<void> {
    const document = await takeToMail(tx, documentId)
    if (!document) return
    const { email: account } = await findAccount(tx, document.accountId)
    const link = new URL('/billing', this.#options.siteUrl())
    for (const reader of await readersOf(tx, document.accountId, PAYING))
      await enqueueMail(tx, this.#options, documentMail(reader, { ...document, account }, link))
  }
}
