import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyBaseLogger as Logger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { type Access, type Actor, credentialId } from '../http/contract/auth.ts'
import { ApiError, httpProblems } from '../http/contract/problem.ts'
import { findRoom, type Holder } from '../http/limits/places.ts'
import { Alarm } from '../loop.ts'
import { accountsAfter, eventsAfter, lastEventId, lastPosition } from './store.ts'
import { type EventScopes, type EventType, visibleTo } from './types.ts'
import { eventView } from './view.ts'

/** Keeps proxies from closing an idle stream. */
const HEARTBEAT_MS = 15_000
/** A client that reads nothing for this long is disconnected; it can reconnect and continue. */
const STALL_MS = 30_000
const TOKENS_EVERY_MS = 1_000
/** Events read at once; nothing else of a stream is kept in memory. */
const BATCH = 100
const MAX_OF_TOKEN = 5
const BOUNDS = { noun: 'streams', most: 1_000, ofAccount: 20, ofUnpaid: 2 }

interface StreamsOptions {
  db: Database
  clock: Clock
  log: Logger
  access: Pick<Access, 'stillValid'>
  eventScopes: EventScopes
  /** Resolves to true if the account has ever paid. */
  hasPaid: (accountId: string) => Promise<boolean>
}

interface Reader {
  actor: Actor
  holder: Holder
  types: readonly EventType[]
  after: number
  stream: Readable
  /** Rings when there are new events. */
  news: Alarm
  /** The time since which a chunk has been waiting for the client to read it; null: none waits. */
  givenAt: number | null
  isOver: boolean
}

/**
 * Streams of events. Each reads the database from its own position on, as fast as its reader takes it: a slow one
 * costs no memory, and nobody waits for another.
 */
export class Streams {
  readonly #options: StreamsOptions
  readonly #readers = new Set<Reader>()
  #seen = 0
  #tokensLookedAt = 0
  #isStopped = false

  constructor(options: StreamsOptions) {
    this.#options = options
  }

  /**
   * @param after the position of the last event that the reader has seen; undefined: only new events are sent
   * @param hangup aborted when the client disconnects
   * @throws ApiError rate_limited
   */
  async open(actor: Actor, after: number | undefined, hangup: AbortSignal): Promise<Readable> {
    const { accountId } = actor
    const holder = { accountId, hasPaid: await this.#options.hasPaid(accountId) }
    const now = await lastPosition(this.#options.db)
    // Streams opened in the meantime count as well.
    this.#makeRoom(actor, holder)
    if (this.#readers.size === 0) this.#seen = now
    const reader: Reader = {
      actor,
      holder,
      types: visibleTo(actor, this.#options.eventScopes),
      after: after ?? now,
      stream: Readable.from([]),
      news: new Alarm(this.#options.clock),
      givenAt: null,
      isOver: this.#isStopped,
    }
    reader.stream = Readable.from(this.#timed(reader))
    reader.stream.on('error', () => {})
    reader.stream.once('close', () => this.#readers.delete(reader))
    this.#readers.add(reader)
    // A stream that sleeps can't close until it is woken.
    hangup.addEventListener('abort', () => this.#end(reader))
    if (hangup.aborted) this.#end(reader)
    return reader.stream
  }

  /** Wakes the streams of accounts with new events, and closes those of revoked tokens and stalled clients. */
  async look(): Promise<void> {
    if (this.#readers.size === 0) return
    const { db, clock } = this.#options
    const now = clock.now()
    for (const { givenAt, stream } of this.#readers)
      if (givenAt !== null && now - givenAt > STALL_MS) stream.destroy()
    const position = await lastPosition(db)
    const accounts = new Set(position > this.#seen ? await accountsAfter(db, this.#seen) : [])
    this.#seen = position
    if (accounts.size > 0 || Math.abs(now - this.#tokensLookedAt) >= TOKENS_EVERY_MS) await this.#hangUp(now)
    for (const reader of this.#readers) if (accounts.has(reader.actor.accountId)) reader.news.ring()
  }

  /** Ends all streams; their clients know where to continue. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const ends = [...this.#readers].map((reader) => {
      const end = finished(reader.stream).catch(() => {})
      this.#end(reader)
      // A client that does not read its output would never see the end.
      if (reader.givenAt !== null) reader.stream.destroy()
      return end
    })
    await Promise.all(ends)
  }

  /** @throws ApiError rate_limited */
  #makeRoom(asking: Actor, holder: Holder): void {
    const readers = [...this.#readers]
    const isSame = ({ actor }: Reader) => credentialId(actor) === credentialId(asking)
    if (readers.filter(isSame).length >= MAX_OF_TOKEN)
      throw new ApiError(
        httpProblems.rate_limited,
        `A token can have ${MAX_OF_TOKEN} open streams. Close one first.`,
        {},
        { 'retry-after': '5' },
      )
    const places = readers.map((reader) => reader.holder)
    const at = findRoom(places, holder, BOUNDS)
    const loser = at === null ? undefined : readers[at]
    if (!loser) return
    this.#readers.delete(loser)
    this.#end(loser)
    if (loser.givenAt !== null) loser.stream.destroy()
  }

  async #hangUp(now: number): Promise<void> {
    this.#tokensLookedAt = now
    const valid = await this.#options.access.stillValid([...this.#readers].map(({ actor }) => actor))
    for (const reader of this.#readers) if (!valid.has(reader.actor)) this.#end(reader)
  }

  #end(reader: Reader): void {
    reader.isOver = true
    reader.news.ring()
  }

  /** Notes the time since which a chunk has been waiting to be read. */
  async *#timed(reader: Reader): AsyncGenerator<string> {
    for await (const chunk of this.#chunks(reader)) {
      reader.givenAt = this.#options.clock.now()
      yield chunk
      reader.givenAt = null
    }
  }

  /**
   * Begins with the reader's position and repeats it in each heartbeat, because events that advance it may be hidden
   * from the reader.
   */
  async *#chunks(reader: Reader): AsyncGenerator<string> {
    // A disconnected reader reconnects after two seconds.
    for (let line = 'retry: 2000'; !reader.isOver; line = ':') {
      const id = await this.#ask(reader, lastEventId(this.#options.db, reader.actor.accountId, reader.after))
      if (reader.isOver) return
      yield `${line}\nid: ${id}\n\n`
      yield* this.#news(reader)
    }
  }

  /** Yields events until it is time for a heartbeat. */
  async *#news(reader: Reader): AsyncGenerator<string> {
    const { db, clock } = this.#options
    let quietSince = clock.now()
    // The absolute value keeps heartbeats coming after the clock was set back.
    const left = () => HEARTBEAT_MS - Math.abs(clock.now() - quietSince)
    while (!reader.isOver && left() > 0) {
      reader.news.reset()
      const seen = this.#seen
      const found = { accountId: reader.actor.accountId, types: reader.types, after: reader.after }
      const events = (await this.#ask(reader, eventsAfter(db, found, { limit: BATCH, offset: 0 }))) ?? []
      // Checked again: the token may have been revoked while this was read.
      if (reader.isOver) return
      const last = events.at(-1)
      if (last) {
        yield events.map((event) => messageOf(eventView(event))).join('')
        reader.after = last.position
        quietSince = clock.now()
      }
      if (events.length === BATCH) continue
      // Events that the reader may not see need not be read again.
      reader.after = Math.max(reader.after, seen)
      await reader.news.sleep(left())
    }
  }

  /** Returns the result of a query; if the database can't be reached, the stream ends and its reader reconnects. */
  async #ask<Result>(reader: Reader, query: Promise<Result>): Promise<Result | undefined> {
    return query.catch((error: unknown) => {
      this.#options.log.warn(
        { err: error },
        'events of a stream could not be read; its client will reconnect',
      )
      reader.isOver = true
      return undefined
    })
  }
}

/** JSON has no line breaks, so it fits in one `data:` line. */
function messageOf(event: { event_id: string }): string {
  return `id: ${event.event_id}\ndata: ${JSON.stringify(event)}\n\n`
}
