import { DatabaseSync, StatementSync } from 'node:sqlite'
import pg from 'pg'

/** The traffic between this process and a database. */
export interface Cost {
  /** Statements, without those that begin and end transactions. */
  statements: number
  transactions: number
  /**
   * The number of times that the program waits for PostgreSQL: messages that are sent together count once.
   */
  trips: number
}

type Method = (this: object, ...given: unknown[]) => unknown

type Watch = (self: object, given: unknown[]) => void

/** Puts a watcher before a method. @returns a function that removes the watcher */
function before(owner: object, name: string, watch: Watch): () => void {
  const own = Object.getOwnPropertyDescriptor(owner, name)
  const method: Method = Reflect.get(owner, name)
  const watched: Method = function (...given) {
    watch(this, given)
    return method.apply(this, given)
  }
  Object.defineProperty(owner, name, { value: watched, configurable: true, writable: true })
  return () => {
    if (own) Object.defineProperty(owner, name, own)
    else Reflect.deleteProperty(owner, name)
  }
}

/** Counts what both drivers send, from here on until it is stopped. */
export function countStatements() {
  const cost: Cost = { statements: 0, transactions: 0, trips: 0 }
  /** The connections over which something has just been sent, to be waited for. */
  const sending = new Set<object>()
  const send = (connection: object) => {
    if (sending.has(connection)) return
    cost.trips += 1
    sending.add(connection)
    queueMicrotask(() => sending.delete(connection))
  }
  const hear = (_: object, [event, message]: unknown[]) => {
    if (event === 'errorMessage') cost.statements += 1
    else if (event === 'commandComplete') {
      const { text } = message as { text: string } // the tag that PostgreSQL ends each statement with
      if (text === 'BEGIN') cost.transactions += 1
      else if (text !== 'COMMIT' && text !== 'ROLLBACK') cost.statements += 1
    }
  }
  const run = () => {
    cost.statements += 1
  }
  const exec = (_: object, [sql]: unknown[]) => {
    // A transaction of ours is a savepoint; several share SQLite's own.
    if (/^SAVEPOINT/.test(String(sql))) cost.transactions += 1
    else if (!/^(BEGIN|COMMIT|RELEASE|ROLLBACK)/.test(String(sql))) run()
  }
  const removals = [
    before(StatementSync.prototype, 'all', run),
    before(StatementSync.prototype, 'run', run),
    before(DatabaseSync.prototype, 'exec', exec),
    before(pg.Connection.prototype, 'query', send),
    before(pg.Connection.prototype, 'sync', send),
    before(pg.Connection.prototype, 'emit', hear),
  ]
  return {
    sinceStart: (): Cost => ({ ...cost }),
    stop: () => {
      for (const remove of removals) remove()
    },
  }
}
