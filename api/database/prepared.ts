import type { Compilable, CompiledQuery, DialectAdapter } from 'kysely'
import type { Queries } from './database.ts'
import { SqliteShortcut } from './sqlite.ts'

/** A query whose SQL is known. Takes its values by name, as the function did that built it. */
export interface Prepared<Values, Row> {
  all(db: Queries, values: Values): Promise<Row[]>
  first(db: Queries, values: Values): Promise<Row | undefined>
}

/** Stands for a value while its query is built. */
class Slot {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/**
 * A query that is built and compiled once for each kind of database: of a small query, that is half of the cost.
 * @param build must put the values into the query as they are: it sees stand-ins, so that it can neither look at one
 * nor take one out of a list
 */
export function prepared<Values extends Record<string, string | number | null>, Row>(
  build: (db: Queries, values: Values) => Compilable<Row>,
): Prepared<Values, Row> {
  const stands = new Proxy({}, { get: (_, name) => new Slot(String(name)) })
  // One for each database that was opened, which its transactions share; it goes with it.
  const known = new WeakMap<DialectAdapter, CompiledQuery<Row>>()
  const bind = (db: Queries, values: Values): CompiledQuery<Row> => {
    const { adapter } = db.getExecutor()
    let query = known.get(adapter)
    if (!query) {
      query = build(db, stands as Values).compile() // only builders see them, and they take any value
      known.set(adapter, query)
    }
    const parameters = query.parameters.map((value) => (value instanceof Slot ? values[value.name] : value))
    return { ...query, parameters }
  }
  const run = (db: Queries, values: Values) => {
    const query = bind(db, values)
    const { adapter } = db.getExecutor()
    const isDirect = adapter instanceof SqliteShortcut && !db.isTransaction
    return isDirect ? adapter.run(query) : db.executeQuery(query)
  }
  return {
    all: async (db, values) => (await run(db, values)).rows,
    first: async (db, values) => (await run(db, values)).rows[0],
  }
}
