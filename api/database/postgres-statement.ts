import { hash } from 'node:crypto'
import pg from 'pg'

/** The outcome of a statement. */
export interface Answer {
  /** The first word of the statement, such as `INSERT`. */
  command: string
  /** The number of rows that it found or changed; null if it does neither. */
  rowCount: number | null
  rows: Record<string, unknown>[]
}

type Parser = (text: string) => unknown

/** The columns of an answer. */
interface Columns {
  names: readonly string[]
  parsers: readonly Parser[]
  /** An empty row, whose layout all rows share. */
  empty: Readonly<Record<string, unknown>>
}

/** A statement that a connection has prepared, or is about to. */
export interface Prepared {
  /** Empty if the statement is sent only once. */
  name: string
  /**
   * The columns of its answers, once PostgreSQL has described them. After a migration that changes columns,
   * all names are renewed.
   */
  columns: Columns | null
}

/** The most statements prepared on a connection; the program has a few hundred. */
const MAX_PREPARED = 500

/** Names statements, so that each connection parses, plans and describes each of them once. */
export class Statements {
  readonly #prepared = new WeakMap<pg.PoolClient, Map<string, Prepared & { generation: number }>>()
  #generation = 0

  /** The statement as a connection knows it. */
  on(client: pg.PoolClient, sql: string): Prepared {
    let own = this.#prepared.get(client)
    if (!own) {
      own = new Map()
      this.#prepared.set(client, own)
    }
    const generation = this.#generation
    const known = own.get(sql)
    if (known?.generation === generation) return known
    const prepared = { name: `${hash('sha1', sql, 'base64url')}_${generation}`, generation, columns: null }
    own.set(sql, prepared)
    return prepared
  }

  /** Gives statements other names from here on, so that they are prepared for the changed tables. */
  renew(): void {
    this.#generation += 1
  }

  /** True if a connection has so many prepared statements that another one should take its place. */
  isFull(client: pg.PoolClient): boolean {
    return (this.#prepared.get(client)?.size ?? 0) > MAX_PREPARED
  }
}

/** The fields of pg's connection that its types lack. */
interface Wire extends pg.Connection {
  parsedStatements: Record<string, string | undefined>
  submittedNamedStatements: Record<string, string | undefined>
}

const NO_COLUMNS: Columns = { names: [], parsers: [], empty: {} }
const COMPLETE = /^(\w+)(?: \d+)??(?: (\d+))?$/

/** A statement with its values. pg's own query copies its options, and has its columns described each time. */
export class Statement extends pg.Query {
  readonly name: string
  readonly text: string
  readonly #prepared: Prepared
  readonly #values: readonly unknown[]
  readonly #types: pg.CustomTypesConfig
  /** True if it begins a transaction. */
  readonly #isFirst: boolean
  /** Called with an error, or with the answer. pg replaces it to limit its time. */
  callback: (error: unknown, answer?: Answer) => void
  readonly #answer: Answer = { command: '', rowCount: null, rows: [] }
  /** The error of a value that can't be read. */
  #failure: { error: unknown } | null = null

  constructor(
    { text, prepared, values }: { text: string; prepared: Prepared; values: readonly unknown[] },
    { types, isFirst }: { types: pg.CustomTypesConfig; isFirst: boolean },
    callback: (error: unknown, answer?: Answer) => void,
  ) {
    super('')
    this.name = prepared.name
    this.text = text
    this.#prepared = prepared
    this.#values = values
    this.#types = types
    this.#isFirst = isFirst
    this.callback = callback
  }

  /** Sends all messages in one packet. PostgreSQL discards the statement if the BEGIN before it fails. */
  override submit = (connection: pg.Connection): void => {
    const wire = connection as Wire // pg's connection has these fields
    const { name, text } = this
    wire.stream.cork()
    try {
      if (this.#isFirst) {
        wire.parse({ name: '', text: 'BEGIN', types: [] }, true)
        wire.bind({}, true)
        wire.execute({}, true)
      }
      const isParsed =
        name !== '' && (wire.parsedStatements[name] ?? wire.submittedNamedStatements[name]) !== undefined
      if (!isParsed) {
        wire.parse({ name, text, types: [] }, true)
        if (name !== '') wire.submittedNamedStatements[name] = text
      }
      wire.bind({ statement: name, values: this.#values.map(toText) }, true)
      if (!this.#prepared.columns) wire.describe({ type: 'P' }, true)
      wire.execute({}, true)
      wire.sync()
    } finally {
      wire.stream.uncork()
    }
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    const names = fields.map((field) => field.name)
    this.#prepared.columns = {
      names,
      parsers: fields.map(({ dataTypeID }) => this.#types.getTypeParser(dataTypeID, 'text') as Parser), // of texts
      empty: Object.fromEntries(names.map((column) => [column, null])),
    }
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const { names, parsers, empty } = this.#prepared.columns ?? NO_COLUMNS
    const row = { ...empty }
    try {
      for (const [at, text] of fields.entries()) if (text !== null) row[names[at] ?? ''] = parsers[at]?.(text)
      this.#answer.rows.push(row)
    } catch (error) {
      this.#failure ??= { error }
    }
  }

  handleCommandComplete({ text }: { text: string }): void {
    const [, command = '', count] = COMPLETE.exec(text) ?? []
    if (command === 'BEGIN') return
    this.#prepared.columns ??= NO_COLUMNS
    this.#answer.command = command
    this.#answer.rowCount = count === undefined ? null : Number(count)
  }

  handleReadyForQuery(): void {
    if (this.#failure) this.callback(this.#failure.error)
    else this.callback(null, this.#answer)
  }

  handleError(error: unknown): void {
    this.callback(error)
  }
}

/**
 * Converts a value to PostgreSQL's text form: columns are texts and integers, and parameters may be lists of
 * these.
 */
function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (!Array.isArray(value)) return String(value)
  return `{${value.map((item) => `"${String(item).replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`
}
