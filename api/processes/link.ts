import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger as Logger } from 'fastify'
import pg from 'pg'
import { type Clock, systemClock } from '../clock.ts'
import { connectionTo } from '../database/postgres.ts'
import { type Listener, Listeners, type Topic, topics } from './peers.ts'

/** The lock of the processes that serve an installation: exclusive for a single process, shared for several. */
const SERVING = 0x6265_7274
/** The channel that all processes listen to. */
const CHANNEL = 'berth'
/** Messages within this time are sent together. */
const GATHER_MS = 5
/** The pause between notifications, in which more messages gather, because each notification wakes all processes. */
const REST_MS = 25
/** PostgreSQL limits a notification to 8000 bytes. */
const IDS_AT_ONCE = 200
/** The interval of connection checks; a check may take as long. */
const TRY_EVERY_MS = 2_000
const ANSWER_MS = 4_000
const RECONNECT_EVERY_MS = 500
/** The database's time, and the drift from it at which this process adjusts its own. */
const TIME = 'SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint) AS now'
const DRIFT_MS = 100

/** Other processes serve the installation, and exclude this one. */
export class InUse extends Error {
  override readonly name = 'InUse'
}

interface LinkOptions {
  url: string
  /** The name of the connection in the server's own tools. */
  name: string
  /** True if no other process may serve the installation. */
  isAlone: boolean
  log: Logger
  /** Called if the lock was lost with the connection, and other processes have taken it. */
  usurped: () => void
}

/**
 * A connection to PostgreSQL that a service keeps open as long as it runs. Its lock shows that the installation is
 * served. The lock belongs to the session, so it ends with the process in any case. Processes notify each other over
 * it, outside of transactions, because commits with notifications wait for each other. It also provides the database's
 * time, which all processes use instead of the clocks of their machines.
 */
export class Link {
  readonly #options: LinkOptions
  readonly #listeners = new Listeners()
  /** Messages to send, by topic. */
  readonly #news = new Map<Topic, Set<string>>()
  #isTelling = false
  #toldAt = Number.NEGATIVE_INFINITY
  readonly #stopping = new AbortController()
  #client: pg.Client
  #running: Promise<void> = Promise.resolve()
  /** The difference between the database's clock and a monotonic clock. */
  #ahead = Number.NEGATIVE_INFINITY

  private constructor(options: LinkOptions, client: pg.Client) {
    this.#options = { ...options }
    this.#client = client
    this.#listen()
  }

  /** @throws InUse, and the errors of pg if the database can't be reached */
  static async open(options: LinkOptions): Promise<Link> {
    const link = new Link(options, await connect(options))
    await link.#readTime()
    link.#running = link.#run()
    return link
  }

  /** Continues to count while the database is unreachable, regardless of changes to this machine's clock. */
  readonly clock: Clock = {
    now: () => Math.round(performance.now() + this.#ahead),
    sleep: systemClock.sleep,
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#client.end().catch(() => {})
  }

  /** Notifies this process at once, and the others soon. */
  readonly ring = (topic: Topic, ids: readonly string[] = []): void => {
    this.#listeners.tell(topic, ids)
    const gathered = this.#news.get(topic) ?? new Set()
    this.#news.set(topic, gathered)
    for (const id of ids) gathered.add(id)
    if (!this.#isTelling) this.#tellSoon()
  }

  readonly on = (topic: Topic, listener: Listener): void => this.#listeners.on(topic, listener)

  /**
   * Reserves the installation for this process alone.
   * @throws InUse if other processes serve it
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
    // A lost message does no lasting harm, because the other processes also poll.
    await this.#client.query(text, [CHANNEL, messages]).catch(() => {})
    this.#isTelling = false
    this.#toldAt = performance.now()
    if (this.#news.size > 0) this.#tellSoon()
  }

  #tellSoon(): void {
    this.#isTelling = true
    setTimeout(() => this.#tell(), Math.max(GATHER_MS, this.#toldAt + REST_MS - performance.now()))
  }

  #listen(): void {
    const client = this.#client
    client.on('notification', ({ processId, payload = '' }) => {
      // The process's own message was delivered at once.
      if (processId === ownProcessId(client)) return
      for (const { topic, ids } of newsIn(payload)) this.#listeners.tell(topic, ids)
    })
  }

  /** Checks the connection regularly, and opens another one if it is lost. */
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
    // The time was read at some moment between these; within that uncertainty, there is no difference.
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

/** The types of pg lack this property. */
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
  // An error also ends the connection, and only the end matters.
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

/** True if a process serves the installation of a database. @param alone counts only a process that excludes others */
export async function isServedFrom(url: string, alone = false): Promise<boolean> {
  try {
    const link = await connect({ url, name: 'berthd', isAlone: !alone })
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
