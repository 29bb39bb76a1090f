import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger as Logger } from 'fastify'
import pg from 'pg'
import { type Clock, systemClock } from '../clock.ts'
import { connectionTo } from '../database/postgres.ts'
import { type Listener, Listeners, type Topic, topics } from './peers.ts'

/** Held by those who serve an installation: by one alone, or by several together. */
const SERVING = 0x6265_7274
/** The channel that all processes listen to. */
const CHANNEL = 'berth'
/** Messages within this time are sent together. */
const GATHER_MS = 5
/** A notification has less than 8000 bytes. */
const IDS_AT_ONCE = 200
/** The interval of connection checks; a check may take as long. */
const TRY_EVERY_MS = 2_000
const ANSWER_MS = 4_000
const RECONNECT_EVERY_MS = 500
/** The database's time, and how far from it the time of this process may be before it is set anew. */
const TIME = 'SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint) AS now'
const DRIFT_MS = 100

/** Others serve the installation, in a way that leaves no room for this process. */
export class InUse extends Error {
  override readonly name = 'InUse'
}

interface LinkOptions {
  url: string
  /** The name of the connection in the server's own tools. */
  name: string
  /** Whether no other process may serve the installation. */
  isAlone: boolean
  log: Logger
  /** Called where the lock was lost with the connection, and others have it by now. */
  usurped: () => void
}

/**
 * A connection to PostgreSQL that a service keeps open as long as it runs. Its lock says that the installation is
 * served; it is the session's, and ends with the process, however that ends. Over it processes tell each other what has
 * happened, outside of the transactions in which it does: a commit that notifies waits for all others that do. And it
 * has the time of the database, by which all of them act, whatever the clocks of their machines say.
 */
export class Link {
  readonly #options: LinkOptions
  readonly #listeners = new Listeners()
  /** Messages to send, by topic. */
  readonly #news = new Map<Topic, Set<string>>()
  #isTelling = false
  readonly #stopping = new AbortController()
  #client: pg.Client
  #running: Promise<void> = Promise.resolve()
  /** By how much the database's clock is ahead of one that only counts. */
  #ahead = Number.NEGATIVE_INFINITY

  private constructor(options: LinkOptions, client: pg.Client) {
    this.#options = { ...options }
    this.#client = client
    this.#listen()
  }

  /** @throws InUse, and what pg throws where the database can't be reached */
  static async open(options: LinkOptions): Promise<Link> {
    const link = new Link(options, await connect(options))
    await link.#readTime()
    link.#running = link.#run()
    return link
  }

  /** Goes on counting where the database is away; steps of this machine's clock do not count. */
  readonly clock: Clock = {
    now: () => Math.round(performance.now() + this.#ahead),
    sleep: systemClock.sleep,
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#client.end().catch(() => {})
  }

  /** Tells this process at once, and the others soon. */
  readonly ring = (topic: Topic, ids: readonly string[] = []): void => {
    this.#listeners.tell(topic, ids)
    const gathered = this.#news.get(topic) ?? new Set()
    this.#news.set(topic, gathered)
    for (const id of ids) gathered.add(id)
    if (!this.#isTelling) this.#tellSoon()
  }

  readonly on = (topic: Topic, listener: Listener): void => this.#listeners.on(topic, listener)

  /**
   * Keeps the installation for this process alone.
   * @throws InUse where other processes serve it
   */
  async beAlone(): Promise<void> {
    const { rows } = await this.#client.query<Held>('SELECT pg_try_advisory_lock($1) AS is_held', [SERVING])
    if (!rows[0]?.is_held) throw new InUse('the installation is served by other processes')
    this.#options.isAlone = true
  }

  async #tell(): Promise<void> {
    const messages = [...this.#news].flatMap(([topic, ids]) => {
      const all = [...ids]
      const parts: string[][] = all.length === 0 ? [[]] : []
      for (let at = 0; at < all.length; at += IDS_AT_ONCE) parts.push(all.slice(at, at + IDS_AT_ONCE))
      return parts.map((part) => JSON.stringify([topic, ...part]))
    })
    this.#news.clear()
    const text = 'SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message'
    // A lost message does no lasting harm: the other processes also look by themselves.
    await this.#client.query(text, [CHANNEL, messages]).catch(() => {})
    this.#isTelling = false
    if (this.#news.size > 0) this.#tellSoon()
  }

  #tellSoon(): void {
    this.#isTelling = true
    setTimeout(() => this.#tell(), GATHER_MS)
  }

  #listen(): void {
    const client = this.#client
    client.on('notification', ({ processId, payload = '' }) => {
      // The process's own message was delivered at once.
      if (processId === ownProcessId(client)) return
      for (const { topic, ids } of newsIn(payload)) this.#listeners.tell(topic, ids)
    })
  }

  /** Tries the connection out again and again, and makes another one when it is gone. */
  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const pause = new AbortController()
      const wake = () => pause.abort()
      this.#client.once('end', wake)
      await sleep(TRY_EVERY_MS, undefined, { signal: AbortSignal.any([signal, pause.signal]) }).catch(
        () => {},
      )
      this.#client.off('end', wake)
      const isThere = await this.#readTime().then(
        () => true,
        () => false,
      )
      if (!isThere && !signal.aborted) await this.#reconnect()
    }
  }

  async #readTime(): Promise<void> {
    const asked = performance.now()
    const { rows } = await this.#client.query<{ now: string }>(TIME)
    const took = performance.now() - asked
    const ahead = Number(rows[0]?.now) - asked - took / 2
    // It was read at some moment of these: what they leave open is no difference.
    if (Math.abs(ahead - this.#ahead) > DRIFT_MS + took / 2) this.#ahead = ahead
  }

  async #reconnect(): Promise<void> {
    const { log, usurped } = this.#options
    log.error('the connection to the database was lost; connecting again')
    void this.#client.end().catch(() => {})
    while (!this.#stopping.signal.aborted) {
      try {
        this.#client = await connect(this.#options)
        this.#listen()
        log.warn('the database can be reached again')
        // Messages sent during the interruption were missed.
        for (const topic of topics) this.#listeners.tell(topic, [])
        return
      } catch (error) {
        if (error instanceof InUse) return usurped()
      }
      await sleep(RECONNECT_EVERY_MS, undefined, { signal: this.#stopping.signal }).catch(() => {})
    }
  }
}

interface Held {
  is_held: boolean
}

/** pg's types do not have it. */
function ownProcessId(client: pg.Client): number | undefined {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : undefined
}

/** @throws InUse */
async function connect({
  url,
  name,
  isAlone,
}: Pick<LinkOptions, 'url' | 'name' | 'isAlone'>): Promise<pg.Client> {
  const client = new pg.Client({ ...connectionTo(url, name), query_timeout: ANSWER_MS })
  // Its end is what is looked at.
  client.on('error', () => {})
  await client.connect()
  const lock = isAlone ? 'pg_try_advisory_lock' : 'pg_try_advisory_lock_shared'
  try {
    await client.query(`LISTEN ${CHANNEL}`)
    const { rows } = await client.query<Held>(`SELECT ${lock}($1) AS is_held`, [SERVING])
    if (rows[0]?.is_held) return client
  } catch (error) {
    void client.end().catch(() => {})
    throw error
  }
  await client.end()
  throw new InUse('the installation is served by another process')
}

/** Whether a process serves the installation of a database. */
export async function isServedFrom(url: string): Promise<boolean> {
  try {
    const link = await connect({ url, name: 'berthd', isAlone: true })
    await link.end()
    return false
  } catch (error) {
    if (error instanceof InUse) return true
    throw error
  }
}

/** Parses another process's message; empty if only a later version understands it. */
function newsIn(payload: string): { topic: Topic; ids: string[] }[] {
  try {
    const [topic, ...ids]: [Topic, ...string[]] = JSON.parse(payload)
    return topics.includes(topic) ? [{ topic, ids: ids.map(String) }] : []
  } catch {
    return []
  }
}
