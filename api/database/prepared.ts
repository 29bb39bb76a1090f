import type { Compilable, CompiledQuery, DialectAdapter } from 'kysely'
import type { Queries } from './database.ts'
import { SqliteShortcut } from './sqlite.ts'

/** A compiled query. It takes its values by name, like the function that built it. */
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
 * A query that is built and compiled once for each kind of database: for a small query, compiling is half of the cost.
 * @param build must put the values into the query unchanged: it gets placeholders, which it can neither inspect nor
 * take from a list
 */
export function prepared<Values extends Record<string, string | number | null>, Row>(
  build: (db: Queries, values: Values) => Compilable<Row>,
): Prepared<Values, Row> {
  const stands = new Proxy({}, { get: (_, name) => new Slot(String(name)) })
  // There is one for each open database, shared by its transactions, and removed with it.
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
