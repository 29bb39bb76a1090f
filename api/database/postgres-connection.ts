import {
  AbortedTransactionError,
  CompiledQuery,
  type DatabaseConnection,
  type QueryResult,
  type RootOperationNode,
} from 'kysely'
import pg from 'pg'
import { codeOf, explained, isLost, Unchanged } from './postgres-errors.ts'
import { type Answer, type Prepared, Statement, type Statements } from './postgres-statement.ts'

/** A migration changed the tables during a transaction, which was rolled back. */
class Outdated extends Error {
  /** PostgreSQL's serialization_failure: the transaction succeeds if it is repeated. */
  readonly code = '40001'
}

/** Errors after a statement was parsed, such as those of values, constraints and locks. */
const AFTER_PARSING = /^(22|23|40|55)/
/** PostgreSQL's division_by_zero. */
const NONE_CHANGED = '22012'

/** True if a statement was prepared before a migration changed the columns of its result. */
function isOutdated(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery'
  )
}

/** Statements that are worth a name even without parameters; others change the schema or the session. */
const NAMED: ReadonlySet<string> = new Set([
  'SelectQueryNode',
  'InsertQueryNode',
  'UpdateQueryNode',
  'DeleteQueryNode',
])
/** Longer statements, which insert many rows, exist in too many lengths to be worth a name. */
const MAX_NAMED_PARAMETERS = 100

/** A change that is sent together with the commit. */
interface LastChange {
  query: CompiledQuery
  isNeeded: boolean
}

/** The id of the transaction, if it has written something; a transaction that only reads has none. */
const ID_IF_ANY = 'SELECT pg_current_xact_id_if_assigned()::text AS id'
const ID = 'SELECT pg_current_xact_id()::text AS id'

/**
 * One connection, and the transaction on it. Parts of a transaction that need no answer are sent with the
 * next part: BEGIN, writes whose result nobody reads, and the last change.
 */
export class PostgresConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient
  readonly #statements: Statements
  readonly caller: string
  /** The id of the last transaction; empty if that has written nothing. */
  transaction = ''
  /** The last change, which is sent with the commit of the open transaction. */
  last: LastChange | null = null
  /** True if the connection is lost. */
  isLost = false
  /** True if the client can't know which statements are prepared. */
  #isMuddled = false
  /** The number of statements of the open transaction; null outside of transactions. */
  #count: number | null = null
  /** Resolves when a request for the transaction's id is answered. */
  #idAsked: Promise<void> | null = null
  /** True if writes were sent after that request. */
  #isIdDue = false
  /** Writes that are sent with the next part, writes that were sent, and the first error among those. */
  #unsent: (() => Promise<void>)[] = []
  #sent: Promise<void>[] = []
  #failure: { error: unknown } | null = null

  constructor(client: pg.PoolClient, caller: string, statements: Statements) {
    this.#client = client
    this.caller = caller
    this.#statements = statements
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const isFirst = (this.#count ?? 0) === 0 && this.#unsent.length === 0
    try {
      return resultOf(await this.#afterUnsent(() => this.#run(query)))
    } catch (error) {
      // The stack of the error would otherwise lead to the socket, not to the caller.
      if (error instanceof Error) Error.captureStackTrace(error)
      await Promise.all(this.#sent)
      if (this.#failure) throw this.#failure.error
      if (!isOutdated(error)) throw error
      this.#statements.renew()
      if (!isFirst) throw new Outdated('the tables of the database changed during the transaction')
    }
    if (this.#count !== null) {
      await this.#command('ROLLBACK')
      this.#count = 0
    }
    return resultOf(await this.#run(query))
  }

  // biome-ignore lint/correctness/useYield: the interface requires it, but nobody streams rows
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('rows are not streamed')
  }

  /**
   * Sends a write of the transaction with the next statement or the commit, which throws its error.
   * @param orElse returns the error if the write must change a row, and finds none
   */
  send(query: CompiledQuery, orElse?: () => Error): void {
    const noteFailure = (error: unknown) => {
      const isRefused = orElse !== undefined && codeOf(error) === NONE_CHANGED
      this.#failure ??= { error: isRefused ? orElse() : error }
    }
    const sent = orElse ? { ...query, sql: failingIfNone(query.sql) } : query
    this.#unsent.push(() => this.#run(sent).then(() => {}, noteFailure))
  }

  /** Sends nothing: BEGIN is sent with the first statement. */
  begin(): void {
    this.#count = 0
    this.transaction = ''
    this.last = null
    this.#isIdDue = false
    this.#unsent = []
    this.#sent = []
    this.#failure = null
  }

  /** @throws Unchanged; AbortedTransactionError if an earlier error had ended it already */
  async commit(): Promise<void> {
    const { last } = this
    if (this.#count === 0 && !last && this.#unsent.length === 0) {
      this.#count = null
      return
    }
    await this.#learnId()
    const answers = this.#afterUnsent(() => [...(last ? [this.#change(last)] : []), this.#command('COMMIT')])
    const settled = await Promise.allSettled([...answers, ...this.#sent])
    this.#count = null
    const failed = settled.find(({ status }) => status === 'rejected')
    const failure = this.#failure ?? (failed?.status === 'rejected' ? { error: failed.reason } : null)
    if (failure) throw codeOf(failure.error) === NONE_CHANGED ? new Unchanged() : failure.error
    if ((await answers.at(-1))?.command === 'ROLLBACK') throw new AbortedTransactionError()
  }

  async rollback(): Promise<void> {
    const isOpen = this.#count !== null && this.#count > 0
    this.#count = null
    if (this.isLost || !isOpen) return
    try {
      await this.#command('ROLLBACK')
    } catch (error) {
      // The connection must not be used again in the middle of a transaction.
      this.isLost = true
      throw error
    }
  }

  release(): void {
    this.#client.release(this.isLost || this.#isMuddled || this.#statements.isFull(this.#client))
  }

  async #run({ query, sql, parameters }: CompiledQuery): Promise<Answer> {
    const isNamed = parameters.length > 0 ? parameters.length <= MAX_NAMED_PARAMETERS : NAMED.has(query.kind)
    const send = (isFirst = false) => {
      if (isNamed) return this.#ask(sql, parameters, { isFirst })
      const isPlain = parameters.length === 0 && !isFirst
      return isPlain ? this.#command(sql) : this.#ask(sql, parameters, { isFirst, isNamed })
    }
    if (this.#count === null) return send()
    this.#count += 1
    const isFirst = this.#count === 1
    const answer = await this.#together(() => {
      const sent = send(isFirst)
      if (mayWrite(query)) this.#askForId()
      return sent
    })
    // The reply with the id follows in the same message, and shows whether the next write must request it again.
    if (this.#idAsked) await this.#idAsked
    return answer
  }

  /** Requests the id with a write: at the end of the transaction it may be too late. */
  #askForId(): void {
    if (this.transaction !== '') return
    this.#isIdDue = this.#idAsked !== null
    if (this.#isIdDue) return
    const noteId = ({ rows }: Answer) => {
      this.transaction = String(rows[0]?.id ?? '')
    }
    const answered = this.#ask(ID_IF_ANY).then(noteId)
    // After an error the transaction is not committed.
    this.#idAsked = answered
      .catch(() => {})
      .finally(() => {
        this.#idAsked = null
      })
  }

  /**
   * Waits for the transaction's id. It must be known before the commit is sent, because the outcome is looked up by
   * it.
   */
  async #learnId(): Promise<void> {
    if (this.transaction === '') this.#afterUnsent(() => {})
    await this.#idAsked
    if (this.#isIdDue) this.#askForId()
    await this.#idAsked
    if (this.transaction !== '' || !this.last) return
    const { rows } = await this.#run(CompiledQuery.raw(ID))
    this.transaction = String(rows[0]?.id ?? '')
  }

  #change({ query: { sql, parameters }, isNeeded }: LastChange): Promise<Answer> {
    return this.#ask(isNeeded ? failingIfNone(sql) : sql, parameters)
  }

  /**
   * @param isNamed false for a statement that is sent only once
   * @param isFirst true if the statement begins a transaction
   */
  #ask(
    text: string,
    values: readonly unknown[] = [],
    { isNamed = true, isFirst = false } = {},
  ): Promise<Answer> {
    const client = this.#client
    const prepared: Prepared = isNamed ? this.#statements.on(client, text) : { name: '', columns: null }
    return new Promise((resolve, reject) => {
      const noteEnd = (error: unknown, answer?: Answer) => {
        if (answer) return resolve(answer)
        // pg mistakes the parsed BEGIN for the statement, whose own parsing may have failed.
        if (isFirst) this.#isMuddled ||= !AFTER_PARSING.test(codeOf(error))
        reject(this.#explain(error))
      }
      client.query(new Statement({ text, prepared, values }, { types: client, isFirst }, noteEnd))
    })
  }

  /** Sends a statement without parameters that is not worth a name. */
  async #command(text: string): Promise<Answer> {
    try {
      return await this.#client.query(text)
    } catch (error) {
      throw this.#explain(error)
    }
  }

  #explain(thrown: unknown): unknown {
    const error = explained(thrown)
    this.isLost ||= isLost(error)
    return error
  }

  /** Sends the waiting writes and the messages of a function in one packet. */
  #afterUnsent<Result>(send: () => Result): Result {
    return this.#together(() => {
      for (const write of this.#unsent.splice(0)) this.#sent.push(write())
      return send()
    })
  }

  /** Sends all messages of a function in one packet. */
  #together<Result>(send: () => Result): Result {
    const { stream } = this.#client.connection
    stream.cork()
    try {
      return send()
    } finally {
      stream.uncork()
    }
  }
}

/**
 * Makes a write, and the commit sent with it, fail if it changes no row: it divides by the number of rows.
 * Plain SQL has no other error on demand, and waiting for the number would hold locks for another round trip.
 */
function failingIfNone(write: string): string {
  return `WITH changed AS (${write} RETURNING 1) SELECT 1 / count(*) FROM changed`
}

/** True unless a statement can only read: locks are written too. */
function mayWrite(query: RootOperationNode): boolean {
  return query.kind !== 'SelectQueryNode' || query.with !== undefined || query.endModifiers !== undefined
}

/** Converts an answer to Kysely's form; Kysely knows the type of the rows that it asked for. */
function resultOf<Row>({ command, rowCount, rows }: Answer): QueryResult<Row> {
  const found = rows as Row[] // see above
  const isChange = ['INSERT', 'UPDATE', 'DELETE', 'MERGE'].includes(command)
  return isChange ? { numAffectedRows: BigInt(rowCount ?? 0), rows: found } : { rows: found }
}
