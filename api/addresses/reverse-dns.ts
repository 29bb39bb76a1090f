import type { FastifyBaseLogger as Logger } from 'fastify'
import { reverseName } from '../cidrs.ts'
import type { Clock } from '../clock.ts'
import type { NameServerSettings } from '../config.ts'
import type { Database, Queries } from '../database/database.ts'
import { countOf } from '../database/page.ts'
import { Loop } from '../loop.ts'
import { messageOf } from '../message-of.ts'
import { NoAnswer } from '../outgoing.ts'
import type { Peers } from '../processes/peers.ts'
import { type NameServer, openNameServer, RecordRefused } from './name-servers.ts'
import type { ReverseRecordTable } from './tables.ts'
import { ipv6Of } from './view.ts'

const LOOK_EVERY_MS = 10_000
const LONGEST_PAUSE_MS = 300_000
/** Records that one turn sends. */
const AT_ONCE = 50
/** Records are sent again after this time, in case somebody else has changed them. */
const SEND_AGAIN_MS = 24 * 3600_000
const FIRST_RETRY_MS = 60_000
const LONGEST_RETRY_MS = 3600_000

interface ReverseDnsOptions {
  db: Database
  clock: Clock
  log: Logger
  peers: Peers
  settings: NameServerSettings | null
}

type Due = Pick<ReverseRecordTable, 'address' | 'name'> & { failures: number | null }

/**
 * Sends the reverse DNS names of addresses to a name server, and deletes those of released addresses. It
 * compares the names that addresses have with those that were sent, so no change is missed.
 */
export class ReverseDns {
  readonly #options: ReverseDnsOptions
  readonly #server: NameServer | null
  readonly #loop: Loop
  #pauseMs = LOOK_EVERY_MS

  constructor(options: ReverseDnsOptions) {
    const { clock, log, peers, settings } = options
    this.#options = options
    this.#server = settings && openNameServer(settings, clock)
    this.#loop = new Loop({
      ...{ clock, log, peers },
      turn: async () => {
        if ((await this.publish()) === AT_ONCE) this.#loop.wake()
      },
      failure: 'reverse DNS names could not be published; trying again',
      pauseMs: () => this.#pauseMs,
      isOurs: () => peers.holds('billing'),
    })
  }

  start(): void {
    if (this.#server) this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Sends the records that are due. @returns how many were sent, at most AT_ONCE */
  async publish(): Promise<number> {
    const { db, clock, log } = this.#options
    const server = this.#server
    if (!server) return 0
    const due = await dueRecords(db, server.place, clock.now())
    let sent = 0
    try {
      for (const record of due) {
        await this.#send(server, record)
        sent += 1
      }
      this.#pauseMs = LOOK_EVERY_MS
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
      log.warn(
        { reason: error.message, records: due.length - sent },
        'the name server does not answer; trying again',
      )
    }
    return sent
  }

  /** @throws NoAnswer */
  async #send(server: NameServer, { address, name, failures }: Due): Promise<void> {
    const { db, clock, log } = this.#options
    // If the process dies from here on, the record is due.
    const attempt = { name, place: server.place, failures: (failures ?? 0) + 1, look_at: clock.now() }
    await db
      .insertInto('reverse_records')
      .values({ address, ...attempt })
      .onConflict((conflict) => conflict.column('address').doUpdateSet(attempt))
      .execute()
    try {
      await server.set(reverseName(ipv6Of(address) ?? address), name)
    } catch (error) {
      if (!(error instanceof RecordRefused || error instanceof NoAnswer)) throw error
      const pauseMs = Math.min(FIRST_RETRY_MS * 2 ** (attempt.failures - 1), LONGEST_RETRY_MS)
      // Other records come first, in case only this one gets no answer.
      await this.#note(address, { look_at: clock.now() + pauseMs })
      if (error instanceof NoAnswer) throw error
      log.warn({ address, reason: messageOf(error) }, 'a reverse DNS name was refused; trying again')
      return
    }
    if (name === null) await db.deleteFrom('reverse_records').where('address', '=', address).execute()
    else await this.#note(address, { failures: 0, look_at: clock.now() + SEND_AGAIN_MS })
  }

  async #note(address: string, change: Partial<ReverseRecordTable>): Promise<void> {
    await this.#options.db.updateTable('reverse_records').set(change).where('address', '=', address).execute()
  }
}

/** Returns records to delete, which must precede the next customer of the address, and then those to set. */
async function dueRecords(db: Queries, place: string, now: number): Promise<Due[]> {
  const gone = await db
    .selectFrom('reverse_records as record')
    .leftJoin(named(db).as('named'), 'named.address', 'record.address')
    .select(({ val }) => ['record.address', val(null).as('name'), 'failures'])
    .where('named.address', 'is', null)
    .where((eb) =>
      eb.or([eb('record.name', 'is not', null), eb('place', '<>', place), eb('look_at', '<=', now)]),
    )
    // Records that failed come last, so that one customer's bad names delay nobody else's.
    .orderBy((eb) => eb.fn.coalesce('failures', eb.val(0)))
    .orderBy((eb) => eb.fn.coalesce('look_at', eb.val(0)))
    .limit(AT_ONCE)
    .execute()
  const wanted = await named(db)
    .leftJoin('reverse_records as record', 'record.address', 'addresses.address')
    .select(['reverse_dns as name', 'failures'])
    .where((eb) =>
      eb.or([
        eb('record.address', 'is', null),
        eb('record.name', 'is distinct from', eb.ref('reverse_dns')),
        eb('place', '<>', place),
        eb('look_at', '<=', now),
      ]),
    )
    .orderBy((eb) => eb.fn.coalesce('failures', eb.val(0)))
    // Changed names do not wait for those that are only sent again.
    .orderBy((eb) => eb.case().when('record.name', '=', eb.ref('reverse_dns')).then(1).else(0).end())
    .orderBy((eb) => eb.fn.coalesce('look_at', eb.val(0)))
    .limit(AT_ONCE - gone.length)
    .execute()
  return [...gone, ...wanted]
}

/** Addresses that are to have a name. */
function named(db: Queries) {
  return db
    .selectFrom('addresses')
    .select('addresses.address')
    .where('released_at', 'is', null)
    .where('reverse_dns', 'is not', null)
}

/** Counts the records that the name server did not take when they were last sent. */
export function countUnpublished(db: Queries): Promise<number> {
  return countOf(db.selectFrom('reverse_records').where('failures', '>', 0))
}
