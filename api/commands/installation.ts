import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { FastifyBaseLogger as Logger } from 'fastify'
import { systemClock } from '../clock.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import { type Database, isDamaged, isUnavailable } from '../database/database.ts'
import { MigrationFailed, migrate, SchemaTooNew } from '../database/migrate.ts'
import { copySqlite, openSqlite } from '../database/sqlite.ts'
import { syncFolder, writeWholeSync } from '../files.ts'
import { folderMailer, type Mailer, smtpMailer } from '../mail/mailer.ts'
import { messageOf } from '../message-of.ts'
import { Secrets } from '../secrets.ts'
import { noInstallation } from './no-installation.ts'

/** Loaded on demand, because it loads pg. */
const onPostgres = () => import('./on-postgres.ts')

type DataDir = Pick<Config, 'dataDir'>
type Place = DataDir & Partial<Pick<Config, 'databaseUrl' | 'databaseConnections'>>

/**
 * Creates the data folder. Secret files in it are private one by one; others may pass through root's folder, because
 * each machine's QEMU then runs as a user of its own.
 * @throws ConfigError
 */
export function openDataDir({ dataDir }: DataDir): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  } catch (error) {
    throw new ConfigError(
      `BERTH_DATA (--data) is "${dataDir}": the folder can't be created: ${messageOf(error)}.`,
    )
  }
}

/** True if there is an installation; on PostgreSQL only its database can tell, so this assumes one. */
export function isInstalled({ dataDir, databaseUrl = null }: Place): boolean {
  return databaseUrl !== null || existsSync(path.join(dataDir, 'berth.db'))
}

/**
 * Refuses a data folder without an installation, so that a mistyped one is not taken for an empty installation.
 * @throws ConfigError
 */
export function requireInstallation(place: Place): void {
  if (isInstalled(place)) return
  throw noInstallation(place.dataDir, 'BERTH_DATA (--data)')
}

/** The file whose modification time is the time of the last backup. */
export function backupMark({ dataDir }: DataDir): string {
  return path.join(dataDir, 'last-backup')
}

/**
 * The time of the last backup; -Infinity if there has never been one. On PostgreSQL, where others back up, it is null
 * unless they note it.
 */
export async function lastBackup(place: Place): Promise<number | null> {
  const mark = statSync(backupMark(place), { throwIfNoEntry: false })
  return mark?.mtimeMs ?? (place.databaseUrl ? null : Number.NEGATIVE_INFINITY)
}

/** The number of copies kept from before migrations. */
const COPIES = 3

/** The ways to open a database. */
interface Opening {
  /** Prints the path of the copy. */
  say: (line: string) => void
  /**
   * True if this process holds the data folder; otherwise it does not migrate while another process holds it.
   */
  holdsLock: boolean
  /** True if the installation may be created. */
  mayCreate: boolean
  /** True if a database that has moved to PostgreSQL may be opened. */
  mayBeMoved?: boolean
  /** On PostgreSQL: true to migrate even if services may be using the database. */
  mayMigrate?: boolean
  log?: Logger
  /** On PostgreSQL: called after each commit. */
  onCommit?: () => void
}

/**
 * Opens the installation's database at its newest schema. An SQLite database is copied before migrations
 * change it.
 * @throws ConfigError if the file is not a database, or can't be used at the moment
 * @throws CommandError if the schema is newer than this program, or a migration failed; nothing has changed
 * then
 */
export async function openDatabase(config: Place, opening: Opening): Promise<Database> {
  if (!opening.mayCreate) requireInstallation(config)
  openDataDir(config)
  const { databaseUrl = null, databaseConnections = 4 } = config
  const { mayMigrate = opening.holdsLock, ...more } = opening
  if (databaseUrl === null) return openFile(config, opening)
  const place = { databaseUrl, databaseConnections }
  return (await onPostgres()).openOnPostgres(place, { ...more, mayMigrate })
}

async function openFile(config: DataDir, { say, holdsLock, mayBeMoved }: Opening): Promise<Database> {
  const file = privateFile(config, 'berth.db')
  const copies = path.join(config.dataDir, 'database-copies')
  try {
    const db = openSqlite(file)
    const keepCopy = async (present: string) => {
      if (!holdsLock) refuseServed(config)
      say(`Migrating the database. A copy of the old one is ${await keepDatabase(file, copies, present)}.`)
    }
    try {
      if (!mayBeMoved) await refuseMoved(db, file)
      await migrate(db, { keepCopy })
    } catch (error) {
      await db.destroy()
      throw error
    }
    return db
  } catch (error) {
    if (error instanceof SchemaTooNew)
      throw new CommandError(
        `${error.message} Run that version again; or, to go back to before its first start, replace ${file} by the copy that it kept in ${copies}.`,
      )
    if (error instanceof MigrationFailed)
      throw new CommandError(
        `${error.message}. ${file} was not changed${existsSync(copies) ? `, and ${copies} has a copy of it` : ''}.`,
      )
    if (isDamaged(error))
      throw new ConfigError(
        `${file} is not a Berth database, or is damaged: ${messageOf(error)}. Restore a backup, or set BERTH_DATA (--data) to another folder.`,
      )
    if (isUnavailable(error))
      throw new ConfigError(
        `${file} can't be used: ${messageOf(error)}. Check whether another program has locked it, and whether the disk is full or read-only.`,
      )
    throw error
  }
}

/**
 * The name of the fact that a database has moved to PostgreSQL; its value names the place without a password.
 */
const MOVED = 'moved'

/** Marks an SQLite database as moved, so that nothing writes to it any more; null removes the mark. */
export async function markMoved(db: Database, where: string | null): Promise<void> {
  await db.deleteFrom('installation').where('name', '=', MOVED).execute()
  if (where !== null) await db.insertInto('installation').values({ name: MOVED, value: where }).execute()
}

/** @throws ConfigError if an SQLite database has been moved to PostgreSQL */
export async function refuseMoved(db: Database, file: string): Promise<void> {
  const found = db.selectFrom('installation').select('value').where('name', '=', MOVED)
  // The migration reports a damaged database, or one that lacks the table.
  const moved = await found.executeTakeFirst().catch(() => undefined)
  if (moved)
    throw new ConfigError(
      `${file} ${moved.value}, so nothing opens it any more. Set DATABASE_URL (--database-url) to that database. To use the file again, without what has changed in PostgreSQL since: berthd export --undo`,
    )
}

/** @throws CommandError if a service is using the database: it must be one of an earlier version */
function refuseServed(config: DataDir): void {
  if (isFolderServed(config))
    throw new CommandError(
      `The database needs a migration, and an earlier version serves ${config.dataDir}. Start that service again first: it migrates.`,
    )
}

/** @throws CommandError if the disk is full, or the folder can't be written to */
async function keepDatabase(file: string, folder: string, present: string): Promise<string> {
  const copy = path.join(folder, `${present}.db`)
  const draft = `${copy}.new`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(folder)) if (name.endsWith('.new')) rmSync(path.join(folder, name))
    copySqlite(file, draft)
    renameSync(draft, copy)
    await syncFolder(folder)
    const madeAt = (name: string) => statSync(path.join(folder, name)).mtimeMs
    const newestFirst = readdirSync(folder).sort((a, b) => madeAt(b) - madeAt(a))
    for (const name of newestFirst.slice(COPIES)) rmSync(path.join(folder, name))
    return copy
  } catch (error) {
    rmSync(draft, { force: true })
    throw new CommandError(
      `The database needs a migration, and a copy of the old one can't be kept in ${folder}: ${messageOf(error)}. Nothing was changed; make room for a second ${file}, and start again.`,
    )
  }
}

/**
 * Creates a database's file, and returns its path. The files that SQLite creates beside it get the same mode.
 * @throws ConfigError if nothing can be written
 */
function privateFile({ dataDir }: DataDir, name: string): string {
  const file = path.join(dataDir, name)
  try {
    closeSync(openSync(file, 'a', 0o600))
  } catch (error) {
    throw new ConfigError(`BERTH_DATA (--data) is "${dataDir}": it can't be written to: ${messageOf(error)}.`)
  }
  return file
}

/**
 * Holds the data folder for this process. The operating system releases the lock with the process, however that ends,
 * so that there are no stale locks.
 * @throws ConfigError if another process serves this folder
 */
export function lockDataDir(config: DataDir): () => void {
  openDataDir(config)
  const lock = new DatabaseSync(privateFile(config, 'serve.lock'))
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch {
    lock.close()
    throw new ConfigError(
      `Another berthd is already using ${config.dataDir}. Stop it, or set BERTH_DATA (--data) to another folder.`,
    )
  }
  return () => lock.close()
}

/** True if a service is running on the installation. It creates no file in a folder that has no installation. */
export async function isServed({ databaseUrl = null, dataDir }: Place): Promise<boolean> {
  return databaseUrl === null
    ? isFolderServed({ dataDir })
    : (await onPostgres()).isServedOnPostgres(databaseUrl)
}

/**
 * True if the installation's machines run on this host or nowhere: its database is SQLite, or the only
 * process of its PostgreSQL database uses this folder.
 */
export async function isHostOf({ databaseUrl = null, dataDir }: Place): Promise<boolean> {
  if (databaseUrl === null) return true
  return isLocked({ dataDir }) && (await onPostgres()).isServedOnPostgres(databaseUrl, true)
}

function isFolderServed(config: DataDir): boolean {
  return isInstalled({ dataDir: config.dataDir }) && isLocked(config)
}

function isLocked(config: DataDir): boolean {
  try {
    lockDataDir(config)()
    return false
  } catch {
    return true
  }
}

/** The key that seals generated passwords and user data; created on the first start. @throws CommandError */
export async function openSecrets(
  { dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>,
  db: Database,
): Promise<Secrets> {
  if (databaseUrl !== null) return (await onPostgres()).openSharedSecrets(db, { dataDir })
  const file = path.join(dataDir, 'secret.key')
  if (!existsSync(file)) writeWholeSync(file, randomBytes(32).toString('hex'))
  return new Secrets(Buffer.from(readFileSync(file, 'utf8').trim(), 'hex'))
}

/** Opens the mailer: the operator's server, or a folder that they read. */
export function openMailer({
  smtp,
  mailFrom,
  dataDir,
}: Pick<Config, 'smtp' | 'mailFrom' | 'dataDir'>): Mailer {
  if (smtp) return smtpMailer(smtp, mailFrom)
  const folder = path.join(dataDir, 'mail')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folderMailer(folder, mailFrom, systemClock)
}
