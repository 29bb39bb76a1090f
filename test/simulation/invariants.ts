import { createHash } from 'node:crypto'
import { constants, DatabaseSync, type StatementSync } from 'node:sqlite'
import { type Owned, owned } from './owning.ts'
import type { Role } from './people.ts'
import { always, atRest, HELD } from './promises.ts'

interface EntryRow {
  at: number
  account_id: string
  sequence: number
  balance_before: number
  amount: number
  balance_after: number
  type: string
  item_id: string | null
  seconds: number | null
  bytes: number | null
}

interface Query {
  promise: string
  statement: StatementSync
  /** The tables that it reads. */
  tables: ReadonlySet<string>
}

/** Checks the database over a connection of its own, and reports broken promises. */
export class Auditor {
  readonly #sqlite: DatabaseSync
  readonly #always: readonly Query[]
  readonly #atRest: readonly Query[]
  readonly #entries: StatementSync
  readonly #moves: StatementSync
  readonly #server: StatementSync
  readonly #role: StatementSync
  /** The tables changed since the last check; null: perhaps all. */
  #changed: Set<string> | null = null
  #hasNews = true
  /** Receives the tables that the statement being prepared reads. */
  #onRead: (table: string) => void = () => {}
  #lastEntry = 0
  #lastPosition = 0
  /** The balance of each ledger and the seconds charged for each item, summed up from the entries read so far. */
  readonly #ledgers = new Map<string, { sequence: number; balance: number; paid: number }>()
  readonly #seconds = new Map<string, number>()
  readonly #statuses = new Map<string, string>()
  readonly #statements = new Map<string, StatementSync>()

  constructor(file: string, { now, graceMs }: { now: () => number; graceMs: number }) {
    this.#sqlite = new DatabaseSync(file, { timeout: 0 })
    this.#sqlite.function('simulated_now', now)
    this.#sqlite.function('grace_ms', () => graceMs)
    this.#sqlite.exec(HELD)
    this.#sqlite.exec('PRAGMA query_only = ON')
    this.#sqlite.setAuthorizer((action, table) => {
      if (action === constants.SQLITE_READ) this.#onRead(String(table))
      return constants.SQLITE_OK
    })
    this.#always = this.#prepare(always)
    this.#atRest = this.#prepare(atRest)
    this.#onRead = () => {}
    this.#entries = this.#sqlite.prepare(
      'SELECT rowid AS at, * FROM transactions WHERE rowid > ? ORDER BY rowid',
    )
    this.#server = this.#sqlite.prepare(
      'SELECT status, cpu, ram_mb FROM servers WHERE server_id = ? AND deleted_at IS NULL',
    )
    this.#role = this.#sqlite.prepare('SELECT role FROM members WHERE member_id = ?')
    this.#moves = this.#sqlite.prepare(
      `SELECT position, type, json_extract(data, '$.server_id') AS id, json_extract(data, '$.old_status') AS old,
        json_extract(data, '$.new_status') AS new, json_extract(data, '$.status') AS status FROM events WHERE position > ? ORDER BY position`,
    )
  }

  /** Records which tables were changed; null: any. */
  note(tables: Iterable<string> | null): void {
    if (tables === null) this.#changed = null
    for (const table of tables ?? []) {
      this.#changed?.add(table)
      this.#hasNews = true
    }
  }

  /** True if something was committed since the last call. */
  hasNews(): boolean {
    const hasNews = this.#hasNews
    this.#hasNews = false
    return hasNews
  }

  /** Checks all promises that changes since the last check may have broken. */
  broken(): string[] {
    const changed = this.#changed
    this.#changed = new Set()
    const isNew = ({ tables }: Query) => changed === null || [...tables].some((table) => changed.has(table))
    const due = this.#always.filter(isNew)
    // A single read transaction serves all queries.
    this.#sqlite.exec('BEGIN')
    try {
      return [...findings(due), ...this.#brokenLedgers(changed), ...this.#brokenMoves(changed)]
    } finally {
      this.#sqlite.exec('COMMIT')
    }
  }

  brokenAtRest(): string[] {
    this.note(null)
    return [...this.broken(), ...findings(this.#atRest), ...this.#brokenPaid(), ...this.#brokenMeters()]
  }

  /** Checks that a key creates one server, however often its request is sent. */
  brokenOrders({ most }: { most: number }): string[] {
    const [row] = this.rows<{ servers: number }>('SELECT count(*) AS servers FROM servers')
    const servers = row?.servers ?? 0
    return servers > most ? [`a key creates one server: ${servers} are there instead of at most ${most}`] : []
  }

  /** True if an operation has not ended. */
  get isBusy(): boolean {
    return this.rows('SELECT 1 FROM operations WHERE finished_at IS NULL LIMIT 1').length > 0
  }

  serverOf(serverId: string): { status: string; cpu: number; ram_mb: number } | undefined {
    return this.#server.get(serverId) as ReturnType<typeof this.serverOf> // its columns
  }

  roleOf(memberId: string): Role | undefined {
    const row = this.#role.get(memberId) as { role: Role } | undefined // its one column
    return row?.role
  }

  /** The account of an object; undefined if there is none. */
  ownerOf(table: Owned, id: string): string | undefined {
    const [row] = this.rows<{ account_id: string }>(
      `SELECT account_id FROM ${table} WHERE ${owned[table]} = ?`,
      id,
    )
    return row?.account_id
  }

  rows<Row>(sql: string, ...values: (string | null)[]): Row[] {
    const statement = this.#statements.get(sql) ?? this.#sqlite.prepare(sql)
    this.#statements.set(sql, statement)
    return statement.all(...values) as Row[] // the caller names the columns
  }

  /** A hash of all rows. */
  fingerprint(): string {
    const hash = createHash('sha256')
    const tables = this.rows<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'kysely_migration' ORDER BY name",
    )
    for (const { name } of tables)
      for (const row of this.rows<object>(`SELECT * FROM "${name}"`)) hash.update(JSON.stringify(row))
    return hash.digest('hex')
  }

  close(): void {
    this.#sqlite.close()
  }

  #prepare(queries: Readonly<Record<string, string>>): Query[] {
    return Object.entries(queries).map(([promise, sql]) => {
      const tables = new Set<string>()
      this.#onRead = (table) => tables.add(table)
      return { promise, statement: this.#sqlite.prepare(sql), tables }
    })
  }

  /** Checks that each entry follows the one before. */
  #brokenLedgers(changed: ReadonlySet<string> | null): string[] {
    if (changed && !changed.has('transactions')) return []
    const broken: string[] = []
    for (const row of this.#entries.all(this.#lastEntry) as unknown as EntryRow[]) {
      // its columns
      this.#lastEntry = row.at
      const before = this.#ledgers.get(row.account_id) ?? { sequence: 0, balance: 0, paid: 0 }
      const follows =
        row.sequence === before.sequence + 1 &&
        row.balance_before === before.balance &&
        row.balance_before + row.amount === row.balance_after
      if (!follows) broken.push(`entries follow each other: ${row.account_id} ${row.sequence}`)
      const paid = before.paid + (row.type === 'payment' ? row.amount : 0)
      this.#ledgers.set(row.account_id, { sequence: row.sequence, balance: row.balance_after, paid })
      if (row.item_id && row.bytes === null) {
        const paid = `${row.item_id} by ${row.account_id}`
        this.#seconds.set(paid, (this.#seconds.get(paid) ?? 0) + (row.seconds ?? 0))
      }
    }
    return broken
  }

  /** Checks that the account's total paid equals the sum of its payments. */
  #brokenPaid(): string[] {
    const rows = this.rows<{ account_id: string; paid: number }>('SELECT account_id, paid FROM ledgers')
    return rows.flatMap(({ account_id, paid }) => {
      const sum = this.#ledgers.get(account_id)?.paid ?? 0
      return paid === sum ? [] : [`an account has paid its payments: ${account_id} ${paid} instead of ${sum}`]
    })
  }

  /** Checks that every second of a rate up to the meter is charged once, to the right account. */
  #brokenMeters(): string[] {
    const rows = this.rows<{ paid: string; seconds: number }>(
      `SELECT m.item_id || ' by ' || coalesce(r.account_id, m.account_id) AS paid,
        coalesce(sum(max(0, min(coalesce(r.ends_at, m.charged_until), m.charged_until) - r.starts_at)), 0) / 1000
          AS seconds
      FROM billing_meters m LEFT JOIN rates r USING (item_id) GROUP BY 1`,
    )
    const due = new Map(rows.map(({ paid, seconds }) => [paid, seconds]))
    return [...new Set([...due.keys(), ...this.#seconds.keys()])].flatMap((paid) => {
      const [charged, seconds] = [this.#seconds.get(paid) ?? 0, due.get(paid) ?? 0]
      if (charged === seconds) return []
      return [`every second is charged once: ${paid} is charged for ${charged} s instead of ${seconds}`]
    })
  }

  /** Checks that the events of a server report its statuses without a gap. */
  #brokenMoves(changed: ReadonlySet<string> | null): string[] {
    if (changed && !changed.has('events')) return []
    const broken: string[] = []
    const rows = this.#moves.all(this.#lastPosition) as {
      position: number
      type: string
      id: string
      old: string
      new: string
      status: string
    }[] // its columns
    for (const { position, type, id, old, new: next, status } of rows) {
      this.#lastPosition = position
      // A server that moved to another account starts there with its current status.
      if (type === 'server.created') this.#statuses.set(id, status)
      if (type !== 'server.status_changed') continue
      const before = this.#statuses.get(id)
      if (before !== old)
        broken.push(`events tell every change of a status: ${id} was ${before}, then ${old} → ${next}`)
      this.#statuses.set(id, next)
    }
    return broken
  }
}

function findings(queries: readonly Query[]): string[] {
  return queries.flatMap(
    ({ promise, statement }) =>
      (statement.all() as { what: unknown }[]).map(({ what }) => `${promise}: ${what}`), // each has this column
  )
}
