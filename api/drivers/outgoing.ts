import { createReadStream } from 'node:fs'
import { appendFile, mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { exists, isMissing } from '../files.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const KEEP_DAYS = 90

/** The most bytes of a day: with 90 days, 3 GB in all. */
const DAY_BYTES = 2 ** 25
/**
 * The most bytes of a server in a day, and the share of the day's remaining room that it may use. So there is
 * always room for other servers.
 */
const SERVER_BYTES = 2 ** 20
const SHARE = 1 / 16

/** Milliseconds for which a driver keeps connections that are not written yet. */
export const KEPT_MS = 10 * MINUTE

/** A connection that a guest opened by the host's own address. */
export interface Outgoing {
  at: number
  serverId: string
  protocol: string
  /** The port of the host that it came from; null: unknown. */
  sourcePort: number | null
  address: string
  port: number
}

/** A note that some connections of a server were not recorded. */
export interface Missed {
  at: number
  serverId: string
  count: number
}

const folderOf = (dataDir: string) => join(dataDir, 'outgoing')
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)

/** Records which server opened which connection by the host's address: a file a day, for 90 days. */
export class OutgoingLog {
  readonly #dir: string
  readonly #dayBytes: number
  #day = ''
  #left = 0
  readonly #used = new Map<string, number>()
  readonly #full = new Set<string>()
  /** The time until which all is recorded; null: not read yet, 0: nothing was recorded before. */
  #until: number | null = null
  #touched = 0

  constructor(dataDir: string, dayBytes = DAY_BYTES) {
    this.#dir = folderOf(dataDir)
    this.#dayBytes = dayBytes
  }

  /**
   * Appends connections within the limits. A server that has used up its share of the day gets one last line.
   * @param isWhole false: the driver may have lost connections since the last call
   */
  async add(found: readonly (Outgoing | Missed)[], now: number, isWhole: boolean): Promise<void> {
    if (dayOf(now) !== this.#day) await this.#begin(now)
    this.#until ??= await this.#readUntil()
    const lines: string[] = []
    if (this.#until > 0 && (!isWhole || now - this.#until > KEPT_MS)) {
      const line = `${Math.round(now)} - gap ${Math.round(this.#until)}\n`
      if (line.length <= this.#left) lines.push(line)
      this.#left -= line.length
    }
    for (const entry of found) {
      if (this.#full.has(entry.serverId)) continue
      const line = lineOf(entry)
      const used = (this.#used.get(entry.serverId) ?? 0) + line.length
      const isFull = used > Math.min(SERVER_BYTES, this.#left * SHARE)
      const kept = isFull ? `${Math.round(entry.at)} ${entry.serverId} full\n` : line
      lines.push(kept)
      this.#count(entry.serverId, kept.length, isFull)
    }
    await this.#append(lines)
    this.#until = now
    if (now - this.#touched >= MINUTE || now < this.#touched) await this.#touch(now)
  }

  /** Notes that no guest runs, so that the record has no gap until the next start. */
  async rest(): Promise<void> {
    await rm(this.#mark(), { force: true })
    this.#until = 0
  }

  async #append(lines: readonly string[]): Promise<void> {
    try {
      if (lines.length > 0) await appendFile(this.#file(), lines.join(''), { mode: 0o600 })
    } catch (error) {
      // The write may be incomplete, so the next call reads the file again.
      this.#day = ''
      throw error
    }
  }

  #file = () => join(this.#dir, `${this.#day}.log`)
  #mark = () => join(this.#dir, 'until')

  async #touch(now: number): Promise<void> {
    const at = new Date(now)
    await utimes(this.#mark(), at, at).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error
      await writeFile(this.#mark(), '', { mode: 0o600 })
      await utimes(this.#mark(), at, at)
    })
    this.#touched = now
  }

  async #readUntil(): Promise<number> {
    return stat(this.#mark()).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    )
  }

  #count(serverId: string, bytes: number, isFull: boolean): void {
    if (isFull) this.#full.add(serverId)
    this.#used.set(serverId, (this.#used.get(serverId) ?? 0) + bytes)
    this.#left -= bytes
  }

  /** Begins a day, or continues it after a restart, and deletes days that are too old. */
  async #begin(now: number): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const oldest = `${dayOf(now - KEEP_DAYS * DAY)}.log`
    for (const name of await readdir(this.#dir))
      if (name.endsWith('.log') && name < oldest) await rm(join(this.#dir, name), { force: true })
    this.#day = dayOf(now)
    this.#left = this.#dayBytes
    this.#used.clear()
    this.#full.clear()
    // A crash may have left half a line behind.
    if (await exists(this.#file())) await appendFile(this.#file(), '\n')
    for await (const line of linesOf(this.#file())) {
      const [, serverId = '', kind] = line.split(' ')
      this.#count(serverId, line.length + 1, kind === 'full')
    }
  }
}

const lineOf = (entry: Outgoing | Missed) =>
  'count' in entry
    ? `${Math.round(entry.at)} ${entry.serverId} more ${entry.count}\n`
    : `${Math.round(entry.at)} ${entry.serverId} ${entry.protocol} ${entry.sourcePort ?? '-'} ${entry.address} ${entry.port}\n`

async function* linesOf(file: string): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: createReadStream(file) })
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** A row of an answer; `serverId` null: of all servers. */
export interface Found {
  serverId: string | null
  /** The connection, or a reason why one may be missing. */
  what: string
  since: number
  until: number | null
}

/** The most connections that an answer lists. */
const MOST_FOUND = 100

interface Wanted {
  address: string
  port: number
  /** The port of the host that the connection came from; null: any. */
  sourcePort: number | null
  at: number
}

/**
 * Finds connections that began within a day before a time, the likeliest first. It looks for a port of an address, or
 * else for a port of the host. For the last hour it also returns reasons why some may be missing. Repeated
 * connections count once. Clocks may differ by a minute.
 * @returns null if nothing was ever recorded in this data folder
 */
export async function findOutgoing(dataDir: string, wanted: Wanted): Promise<Found[] | null> {
  const dir = folderOf(dataDir)
  if (!(await exists(dir))) return null
  const [first, last] = [wanted.at - DAY, wanted.at + MINUTE]
  const [connections, fromPort] = [new Map<string, Outgoing>(), new Map<string, Outgoing>()]
  const missed = new Map<string, Found & { count: number }>()
  for (const day of new Set([dayOf(first), dayOf(wanted.at), dayOf(last)]))
    for await (const line of linesOf(join(dir, `${day}.log`))) {
      const [time, serverId = '', ...rest] = line.split(' ')
      const at = Number(time)
      if (!at || rest.length === 0) continue
      const [kind = '', value = ''] = rest
      if (rest.length < 4) note(missed, { at, serverId, kind, value: Number(value) }, wanted.at)
      else if (at >= first && at <= last) {
        const found = outgoingIn(line)
        if (isWanted(found, wanted)) keep(connections, found, wanted.sourcePort)
        else if (found.sourcePort === wanted.port) keep(fromPort, found, wanted.port)
      }
    }
  const isByPort = connections.size === 0 && wanted.sourcePort === null
  const order = byLikelihood(wanted.sourcePort)
  const listed = [...(isByPort ? fromPort : connections).values()].sort(order).slice(0, MOST_FOUND)
  return [...listed.map((one) => foundOf(one, isByPort)), ...missed.values()]
}

function outgoingIn(line: string): Outgoing {
  const [time, serverId = '', protocol = '', source = '', address = '', port] = line.split(' ')
  const sourcePort = source === '-' ? null : Number(source)
  return { at: Number(time), serverId, protocol, sourcePort, address, port: Number(port) }
}

function isWanted(found: Outgoing, { address, port, sourcePort }: Wanted): boolean {
  const isPort = sourcePort === null || found.sourcePort === null || found.sourcePort === sourcePort
  return found.address === address && found.port === port && isPort
}

function keep(connections: Map<string, Outgoing>, found: Outgoing, sourcePort: number | null): void {
  const { serverId, protocol, sourcePort: source, address, port } = found
  connections.set([serverId, protocol, source, address, port].join(' '), found)
  if (connections.size <= 2 * MOST_FOUND) return
  const sorted = [...connections].sort(([, a], [, b]) => byLikelihood(sourcePort)(a, b))
  for (const [key] of sorted.slice(MOST_FOUND)) connections.delete(key)
}

/** Sorts the port that was asked for first, then the latest. */
const byLikelihood = (sourcePort: number | null) => (a: Outgoing, b: Outgoing) => {
  const isIt = (one: Outgoing) => Number(sourcePort !== null && one.sourcePort === sourcePort)
  return isIt(b) - isIt(a) || b.at - a.at
}

function foundOf({ at, serverId, protocol, sourcePort, address, port }: Outgoing, isByPort: boolean): Found {
  const from = sourcePort === null ? ', source port unknown' : ` from port ${sourcePort}`
  const what = `${protocol}${from}${isByPort ? ` to ${address} port ${port}` : ''}`
  return { serverId, what, since: at, until: null }
}

/** Notes why connections within the hour before the moment may be missing. */
function note(
  missed: Map<string, Found & { count: number }>,
  { at, serverId, kind, value }: { at: number; serverId: string; kind: string; value: number },
  moment: number,
): void {
  const key = `${serverId} ${kind}`
  if (kind === 'gap') {
    if (value > moment + MINUTE || at < moment - HOUR) return
    const what = 'the service did not record'
    missed.set(`${key} ${at}`, { serverId: null, what, since: value, until: at, count: 0 })
  } else if (kind === 'full') {
    if (dayOf(at) !== dayOf(moment) || at > moment + MINUTE) return
    const until = Date.parse(dayOf(at)) + DAY
    missed.set(key, { serverId, what: 'more than a day records of a server', since: at, until, count: 0 })
  } else if (kind === 'more') {
    if (at < moment - HOUR || at > moment + HOUR) return
    const before = missed.get(key)
    const count = (before?.count ?? 0) + value
    const what = `${count} or more not recorded, within the hour`
    missed.set(key, { serverId, what, since: before?.since ?? at, until: at, count })
  }
}
