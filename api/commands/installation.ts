import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createAccount, findAccountByEmail } from '../accounts/accounts.ts'
import { createToken } from '../accounts/tokens.ts'
import { balanceOf, post } from '../billing/ledger.ts'
import { type Clock, systemClock } from '../clock.ts'
import { type Config, ConfigError } from '../config.ts'
import { type Database, isDamaged, isUnavailable, migrate } from '../database/database.ts'
import { openSqlite } from '../database/sqlite.ts'
import { writeWholeSync } from '../files.ts'
import { messageOf } from '../message-of.ts'
import { parseMoney } from '../money.ts'
import { Secrets } from '../secrets.ts'

export const DEMO_EMAIL = 'demo@berth.local'
const DEMO_BALANCE = '10000.00'

/**
 * Makes the data folder. What is secret in it is private file by file; root's folder lets others pass through, as
 * each machine's QEMU then runs as a user of its own.
 * @throws ConfigError
 */
export function openDataDir({ dataDir }: Config): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  } catch (error) {
    throw new ConfigError(
      `BERTH_DATA (--data) is "${dataDir}": the folder can't be made: ${messageOf(error)}.`,
    )
  }
}

/**
 * Opens the installation's database at its newest schema.
 * @throws ConfigError where the file is no database, or can't be used now
 */
export async function openDatabase(config: Config): Promise<Database> {
  openDataDir(config)
  const file = privateFile(config, 'berth.db')
  try {
    const db = openSqlite(file)
    await migrate(db)
    return db
  } catch (error) {
    if (isDamaged(error))
      throw new ConfigError(
        `${file} is not a database of Berth's, or is damaged: ${messageOf(error)}. Put a backup in its place, or set BERTH_DATA (--data) to another folder.`,
      )
    if (isUnavailable(error))
      throw new ConfigError(
        `${file} can't be used: ${messageOf(error)}. See whether another program has locked it, and whether the disk is full or read-only.`,
      )
    throw error
  }
}

/**
 * A database's path; the files that SQLite makes beside it take over its mode.
 * @throws ConfigError where nothing can be written
 */
function privateFile({ dataDir }: Config, name: string): string {
  const file = path.join(dataDir, name)
  try {
    closeSync(openSync(file, 'a', 0o600))
  } catch (error) {
    throw new ConfigError(`BERTH_DATA (--data) is "${dataDir}": it can't be written to: ${messageOf(error)}.`)
  }
  return file
}

/**
 * Holds the data folder for this process. The lock is the operating system's: it ends with the process, however
 * that ends, so that there are no stale ones.
 * @throws ConfigError where another process serves this folder
 */
export function lockDataDir(config: Config): () => void {
  openDataDir(config)
  const lock = new DatabaseSync(privateFile(config, 'serve.lock'))
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch {
    lock.close()
    throw new ConfigError(
      `Another berthd serves ${config.dataDir} already. Stop that one, or set BERTH_DATA (--data) to another folder.`,
    )
  }
  return () => lock.close()
}

/** The key that seals generated passwords and user data; made on the first start. */
export function openSecrets({ dataDir }: Config): Secrets {
  const file = path.join(dataDir, 'secret.key')
  if (!existsSync(file)) writeWholeSync(file, randomBytes(32).toString('hex'))
  return new Secrets(Buffer.from(readFileSync(file, 'utf8').trim(), 'hex'))
}

export interface Demo {
  email: string
  accountId: string
  /** Units. */
  balance: number
  tokenFile: string
  /** Set on the start that made it. */
  newToken: string | null
}

/** The demo account, its balance and its token: each made where it is missing. */
export async function openDemo(db: Database, config: Config, clock: Clock = systemClock): Promise<Demo> {
  const tokenFile = path.join(config.dataDir, 'demo-token')
  const accountId =
    (await createAccount(db, clock, { email: DEMO_EMAIL, name: 'Demo' })) ??
    (await findAccountByEmail(db, DEMO_EMAIL))?.account_id
  if (!accountId) throw new Error('the demo account is neither there nor can it be made')
  await post(db, clock, {
    accountId,
    type: 'payment',
    amount: parseMoney(DEMO_BALANCE),
    description: 'Welcome to Berth',
    reference: 'demo',
  })
  let newToken: string | null = null
  if (!existsSync(tokenFile)) {
    const scopes = ['account:read', 'account:write', 'servers:read', 'servers:write'] as const
    newToken = (await createToken(db, clock, { accountId, name: 'demo', scopes, expiresAt: null })).value
    writeWholeSync(tokenFile, `${newToken}\n`)
  }
  return { email: DEMO_EMAIL, accountId, balance: await balanceOf(db, accountId), tokenFile, newToken }
}
