import type { Compilable, CompiledQuery, DialectAdapter } from 'kysely'
import type { Queries } from './database.ts'
import { SqliteShortcut } from './sqlite.ts'

/** A row of a table as the values of a query: TypeScript does not accept an interface as a record. */
export type RowOf<Table> = { [Column in keyof Table]: Table[Column] }

/** A compiled query. It takes its values by name, like the function that built it. */
export interface Prepared<Values, Row> {
  all(db: Queries, values: Values): Promise<Row[]>
  first(db: Queries, values: Values): Promise<Row | undefined>
  /** @returns the number of rows that it changed */
  change(db: Queries, values: Values): Promise<number>
  /** The query with its values, for `send`. */
  with(db: Queries, values: Values): Compilable<Row>
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
 * take from a list. They have the names of the first values, as every later call must.
 */
export function prepared<Values extends Record<string, string | number | null>, Row>(
  build: (db: Queries, values: Values) => Compilable<Row>,
): Prepared<Values, Row> {
  // Each open database has one, which its transactions share, and which is removed with the database.
  const known = new WeakMap<DialectAdapter, { query: CompiledQuery<Row>; names: string[] }>()
  const bind = (db: Queries, values: Values): CompiledQuery<Row> => {
    const { adapter } = db.getExecutor()
    let own = known.get(adapter)
    if (!own) {
      const names = Object.keys(values)
      const stands = Object.fromEntries(names.map((name) => [name, new Slot(name)] as const))
      own = { query: build(db, stands as unknown as Values).compile(), names } // builders accept any value
      known.set(adapter, own)
    }
    const { query, names } = own
    if (Object.keys(values).length !== names.length)
      throw new Error(`a prepared query takes the values ${names.join(', ')} and no others`)
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
    change: async (db, values) => Number((await run(db, values)).numAffectedRows ?? 0),
    with: (db, values) => ({ compile: () => bind(db, values) }),
  }
}
