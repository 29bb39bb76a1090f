import { randomUUID } from 'node:crypto'
import { Command } from 'commander'
import { accountsInAnyCase, findAccount } from '../accounts/accounts.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { ApiError } from '../http/contract/problem.ts'
import { onBehalfOf } from '../http/limits/origin.ts'
import { canonicalEmail } from '../people/person/people.ts'
import { operatorName } from './command-log.ts'
import { openDatabase } from './installation.ts'

export type ReadConfig = () => Config

/**
 * Runs a command on the database, on behalf of the operator.
 * @param action the operator's action, as the audit log of the accounts will name it, with the operator
 * @throws CommandError the reason why the action is refused
 */
export async function withDatabase<T>(
  config: Config,
  action: string,
  run: (db: Database) => Promise<T>,
): Promise<T> {
  const db = await openDatabase(config, {
    say: console.error,
    holdsLock: false,
    mayMigrate: action === 'migrate',
    mayCreate: action === 'migrate' || action === 'account create',
  })
  const origin = {
    // Several people may share one root.
    action: `berthd ${action}, by ${operatorName()}`,
    tokenId: null,
    person: null,
    address: null,
    requestId: randomUUID(),
  }
  try {
    return await onBehalfOf(origin, () => run(db))
  } catch (error) {
    throw error instanceof ApiError ? new CommandError(error.message) : error
  } finally {
    await db.destroy()
  }
}

/** Finds an account by its address in upper or lower case, as earlier versions kept it; prefers the exact one. */
export async function accountByEmail(db: Database, given: string) {
  const email = canonicalEmail(given)
  const found = await accountsInAnyCase(db, email)
  return found.find((row) => row.email === given) ?? found.find((row) => row.email === email) ?? found[0]
}

/** @throws ConfigError */
export async function accountByNameOrId(db: Database, given: string) {
  const isEmail = given.includes('@')
  const account = isEmail
    ? await accountByEmail(db, given)
    : await findAccount(db, given).catch(() => undefined)
  if (!account) throw new ConfigError(`No such account: ${given}. List them with: berthd account list`)
  return account
}

export function migrateCommand(config: ReadConfig): Command {
  return new Command('migrate')
    .description('migrate the database to the latest schema (serve does this automatically)')
    .action(async () => {
      await withDatabase(config(), 'migrate', async () => console.log('The database is up to date.'))
    })
}

/** Times of the operator's tables: to the second, in UTC. */
export function shortTime(ms: number | null): string {
  return ms === null ? '' : `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')}Z`
}
