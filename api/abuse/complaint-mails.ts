import type { FastifyBaseLogger as Logger } from 'fastify'
import { lockAccount } from '../accounts/accounts.ts'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { Loop } from '../loop.ts'
import { countMails, enqueueMail } from '../mail/queue.ts'
import { complaintMail } from '../people/letters/complaints.ts'
import { readersOf } from '../people/membership/members.ts'
import type { Peers } from '../processes/peers.ts'
import type { Secrets } from '../secrets.ts'
import { noteMailed, wholeView } from './complaints.ts'

const LOOK_EVERY_MS = 20_000
const AT_ONCE = 50
/** Complaints must not fill the queue in which links for signing in wait. */
const MOST_WAITING = 1_000

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

/** Mails owners and admins about complaints, also about those that a command opened, in one process for all. */
export class ComplaintMails {
  readonly #options: MailingOptions
  readonly #loop: Loop

  constructor(options: MailingOptions) {
    this.#options = options
    this.#loop = new Loop({
      ...options,
      turn: () => this.look(),
      failure: 'mails about complaints could not be queued; trying again',
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
    const due = await db
      .selectFrom('complaints')
      .select(['complaint_id', 'account_id'])
      .where('letter_at', '<=', clock.now())
      .orderBy('letter_at')
      .limit(AT_ONCE)
      .execute()
    if (due.length === 0 || (await countMails(db)) >= MOST_WAITING) return
    for (const { complaint_id, account_id } of due)
      await db.transaction().execute(async (tx) => {
        await lockAccount(tx, account_id)
        await this.#mail(tx, complaint_id)
      })
    mailed()
  }

  /** The account is locked, so the complaint cannot change meanwhile; it may have before. */
  async #mail(tx: Queries, complaintId: string): Promise<void> {
    const { clock, siteUrl } = this.#options
    const now = clock.now()
    const row = await tx
      .selectFrom('complaints')
      .selectAll()
      .where('complaint_id', '=', complaintId)
      .where('letter_at', '<=', now)
      .executeTakeFirst()
    if (!row?.letter) return
    const link = new URL('/account/complaints', siteUrl())
    const last = wholeView(now)(row).messages.at(-1)
    const said = last?.author === 'operator' ? last.text : null
    const facts = { ...row, letter: row.letter, last: said, deadlineAt: row.deadline_at }
    for (const reader of await readersOf(tx, row.account_id, ['owner', 'admin']))
      await enqueueMail(tx, this.#options, complaintMail(reader, facts, link))
    await noteMailed(tx, row, now)
  }
}
