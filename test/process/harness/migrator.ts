import { DatabaseSync, StatementSync } from 'node:sqlite'
import { openDatabase } from '../../../api/commands/installation.ts'

/** Opens the database of a folder as the program does, and is killed right before a statement. Prints how many ran. */

const [dataDir = '', dieAt = '0'] = process.argv.slice(2)
let statements = 0

function countCalls(prototype: object, name: string): void {
  const original: unknown = Reflect.get(prototype, name)
  if (typeof original !== 'function') throw new Error(`node:sqlite has no ${name}`)
  Reflect.set(prototype, name, function (this: unknown, ...values: unknown[]) {
    statements += 1
    if (statements === Number(dieAt)) process.kill(process.pid, 'SIGKILL')
    return Reflect.apply(original, this, values)
  })
}

countCalls(DatabaseSync.prototype, 'exec')
countCalls(StatementSync.prototype, 'run')
countCalls(StatementSync.prototype, 'all')

const db = await openDatabase({ dataDir }, { say: console.log, holdsLock: true, mayCreate: true })
await db.destroy()
console.log(`${statements} statements`)
