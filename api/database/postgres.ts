import {
  type BinaryOperationNode,
  InsertQueryNode,
  Kysely,
  OperatorNode,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  PrimitiveValueListNode,
  type ValuesNode,
} from 'kysely'
import pg from 'pg'
import type { Database } from './database.ts'
import { PostgresDriver } from './postgres-driver.ts'
import type { Schema } from './schema.ts'

const INT8 = 20

/** The server ends statements, waits for locks and idle transactions that take longer than this. */
const STATEMENT_MS = 30_000
const LOCK_MS = 10_000
const IDLE_IN_TRANSACTION_MS = 30_000
const LIMITS = {
  statement_timeout: STATEMENT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  // The time the server has to answer: a little longer than a statement may take.
  query_timeout: STATEMENT_MS + 5_000,
}
const CONNECT_MS = 5_000
/** The server ends the sessions of a lost host after ten seconds, which releases their locks. */
const KEEPALIVE =
  '-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000'

export interface PostgresOptions {
  /** The most connections at once. */
  connections?: number
  /** The name of this client in the server's own tools. */
  name?: string
  /** No time limits, for work such as migrations. */
  isPatient?: boolean
  /** Called after each transaction that has written something and was committed. */
  onCommit?: () => void
  /** Called when the server ends a connection that nobody uses; the pool opens another one. */
  onIdleError?: (error: Error) => void
}

/** @param url postgres://user:password@host:port/name */
export function connectionTo(url: string, name: string): pg.ClientConfig {
  const place = new URL(url)
  const given = place.searchParams.get('options')
  place.searchParams.set('options', given === null ? KEEPALIVE : `${KEEPALIVE} ${given}`)
  return {
    connectionString: place.href,
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: CONNECT_MS,
  }
}

/**
 * Opens a PostgreSQL database. Our bigints are times and money, all within 2^53, so they are read as numbers.
 * @param url postgres://user:password@host:port/name
 */
export function openPostgres(url: string, options: PostgresOptions = {}): Database {
  const {
    connections = 10,
    name = 'berthd',
    isPatient = false,
    onIdleError = () => {},
    onCommit = () => {},
  } = options
  const types = new pg.TypeOverrides()
  types.setTypeParser(INT8, (text: string) => {
    const value = Number(text)
    if (!Number.isSafeInteger(value))
      throw new RangeError(`the database returned ${text}, which is beyond 2^53`)
    return value
  })
  const pool = new pg.Pool({
    ...connectionTo(url, name),
    types,
    max: connections,
    pipeline: true,
    lock_timeout: LOCK_MS,
    ...(isPatient ? {} : LIMITS),
  })
  // Without a listener a restart of the database would end this process too.
  pool.on('error', onIdleError)
  // A connection in use reports an error to its caller, and also as an event, which has no other listener.
  pool.on('connect', (client) => client.on('error', () => {}))
  const driver = new PostgresDriver(pool, onCommit)
  return new Kysely<Schema>({
    dialect: {
      createDriver: () => driver,
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresCompiler(),
    },
  })
}

/** Inserts of more values than this send their rows as one parameter. */
const MAX_VALUES = 100

/** Sends a list, or many rows, as one parameter, so that the statement does not depend on their number. */
class PostgresCompiler extends PostgresQueryCompiler {
  protected override visitValues(node: ValuesNode): void {
    const insert = this.parentNode
    const rows = node.values.filter(PrimitiveValueListNode.is)
    const isLong = rows.reduce((sum, { values }) => sum + values.length, 0) > MAX_VALUES
    if (
      !isLong ||
      rows.length < node.values.length ||
      !insert ||
      !InsertQueryNode.is(insert) ||
      !insert.into
    ) {
      super.visitValues(node)
      return
    }
    const { into, columns = [] } = insert
    const names = columns.map(({ column }) => column.name)
    this.append('select ')
    this.compileList(columns)
    // PostgreSQL takes the types of the columns from the table.
    this.append(' from json_populate_recordset(null::')
    this.visitNode(into)
    this.append(', ')
    this.appendValue(
      JSON.stringify(
        rows.map(({ values }) => Object.fromEntries(names.map((name, at) => [name, values[at] ?? null]))),
      ),
    )
    this.append(')')
  }

  protected override visitBinaryOperation(node: BinaryOperationNode): void {
    const { leftOperand, operator, rightOperand } = node
    const name = OperatorNode.is(operator) ? operator.operator : ''
    if (!PrimitiveValueListNode.is(rightOperand) || (name !== 'in' && name !== 'not in')) {
      super.visitBinaryOperation(node)
      return
    }
    this.visitNode(leftOperand)
    this.append(name === 'in' ? ' = any(' : ' <> all(')
    this.appendValue(rightOperand.values)
    this.append(')')
  }
}
