import type { FastifyBaseLogger as Logger } from 'fastify'
import { v7 as uuid } from 'uuid'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { countOf } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { Loop } from '../loop.ts'
import type { Secrets } from '../secrets.ts'
import type { Mail, Mailer } from './mailer.ts'
import type { MailTable } from './tables.ts'

/** Milliseconds between the attempts; a mail that fails after the last one is given up. */
const PAUSES_MS = [60_000, 5 * 60_000, 30 * 60_000, 2 * 3600_000, 6 * 3600_000, 12 * 3600_000]
/** A lease outlasts the timeout of a mail server, so that no second process sends the same mail. */
const LEASE_MS = 2 * 60_000
const LOOK_EVERY_MS = 5_000
const AT_ONCE = 20
/** Limits the mails that wait for a server that is down, since strangers can cause mails. */
export const MOST_WAITING = 10_000

interface MailQueueOptions {
  db: Database
  clock: Clock
  log: Logger
  secrets: Secrets
  mailer: Mailer
}

/** Sends mails in the background: no request waits for a mail server or reveals its response time. */
export class MailQueue {
  readonly #options: MailQueueOptions
  readonly #loop: Loop

  constructor(options: MailQueueOptions) {
    this.#options = options
    this.#loop = new Loop({
      ...options,
      turn: () => this.look(),
      failure: 'mails could not be sent; trying again',
      pauseMs: () => LOOK_EVERY_MS,
    })
  }

  /** Description of the destination, for the operator. */
  get place(): string {
    return this.#options.mailer.place
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    this.#options.mailer.close()
  }

  /** Call it after a mail was queued. */
  wake(): void {
    this.#loop.wake()
  }

  /** Sends the mails that are due. */
  async look(): Promise<void> {
    for (let sent = 0; sent < AT_ONCE; sent += 1) {
      const mail = await this.#claim()
      if (!mail) return
      await this.#send(mail)
    }
    this.wake()
  }

  #claim(): Promise<MailTable | undefined> {
    const { db, clock } = this.#options
    const now = clock.now()
    return claimNext.first(db, { now, until: now + LEASE_MS })
  }

  async #send({ mail_id, content, attempts }: MailTable): Promise<void> {
    const { db, clock, log, secrets, mailer } = this.#options
    try {
      // A mail that was sealed with another key fails here, and is given up like any other.
      const mail: Mail = JSON.parse(secrets.open(content))
      await mailer.send(mail)
    } catch (error) {
      const pause = PAUSES_MS[attempts - 1]
      // The log omits the mail, which contains a sign-in link.
      const failure = { err: error, mail_id, attempts, is_given_up: pause === undefined }
      log.error(failure, 'a mail could not be sent')
      if (pause !== undefined) {
        const next = { next_run_at: clock.now() + pause }
        await db.updateTable('mails').set(next).where('mail_id', '=', mail_id).execute()
        return
      }
    }
    await db.deleteFrom('mails').where('mail_id', '=', mail_id).execute()
  }
}

const claimNext = prepared((db, { now, until }: { now: number; until: number }) =>
  db
    .updateTable('mails')
    .set((eb) => ({ next_run_at: until, attempts: eb('attempts', '+', 1) }))
    .where('next_run_at', '<=', now)
    .where('mail_id', '=', (eb) =>
      eb
        .selectFrom('mails as due')
        .select('due.mail_id')
        .where('due.next_run_at', '<=', now)
        .orderBy('due.next_run_at')
        .orderBy('due.mail_id')
        .limit(1),
    )
    .returningAll(),
)

/** Queues a mail in the transaction of the change that it reports. */
export async function enqueueMail(
  tx: Queries,
  { clock, secrets }: { clock: Clock; secrets: Secrets },
  mail: Mail,
): Promise<void> {
  const now = clock.now()
  const content = secrets.seal(JSON.stringify(mail))
  const row: MailTable = { mail_id: uuid(), content, attempts: 0, next_run_at: now, created_at: now }
  await tx.insertInto('mails').values(row).execute()
}

export function countMails(db: Queries): Promise<number> {
  return countOf(db.selectFrom('mails'))
}
