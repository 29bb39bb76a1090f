import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger as Logger } from 'fastify'
import pino from 'pino'
import type { Clock } from '../clock.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import { type Database, isUnavailable, migrations, type Queries } from '../database/database.ts'
import { MigrationFailed, migrate, pendingMigrations, SchemaTooNew } from '../database/migrate.ts'
import { openPostgres } from '../database/postgres.ts'
import { Replica } from '../database/replica.ts'
import { writeWholeSync } from '../files.ts'
import { messageOf } from '../message-of.ts'
import { InUse, isServedFrom, Link } from '../processes/link.ts'
import { Members } from '../processes/members.ts'
import { processName } from '../processes/name.ts'
import { Secrets } from '../secrets.ts'
import { noInstallation } from './no-installation.ts'

/** The time that the start of a service waits for a database that does not answer yet. */
const START_MS = 60_000
const TRY_EVERY_MS = 500

/** Returns the URL without its password. */
export function placeOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? host}${pathname}`
}

/** The name of this process in the server's own tools. */
function nameOf(what: string): string {
  return `berthd ${what} ${processName}`
}

/**
 * Announces that this process serves the installation, as long as it runs. Waits for a database that does not
 * answer yet.
 * @throws ConfigError if it can't be reached; CommandError if others serve the installation
 */
export async function holdInstallation(
  url: string,
  { log, say }: { log: Logger; say: (line: string) => void },
): Promise<Link> {
  const usurped = () => {
    log.fatal(
      'another process has served the installation since the connection to the database was lost; stopping',
    )
    process.exit(1)
  }
  const until = performance.now() + START_MS
  for (let attempt = 1; ; attempt += 1)
    try {
      return await Link.open({ url, name: nameOf('link'), isAlone: false, log, usurped })
    } catch (error) {
      if (error instanceof InUse)
        throw new CommandError(
          `The installation in ${placeOf(url)} is being moved, or served by a berthd that runs servers on its own host, which serves alone. Stop it, or set DATABASE_URL (--database-url) to another database.`,
        )
      if (!isAway(error) || performance.now() > until) throw unusable(url, error)
      if (attempt === 1) say(`Waiting for the database at ${placeOf(url)}: ${messageOf(error)}`)
      await sleep(TRY_EVERY_MS)
    }
}

/**
 * Holds a database for one command alone.
 * @throws CommandError if a service uses it, ConfigError if it can't be reached
 */
export async function holdAlone(url: string): Promise<Link> {
  const usurped = () => process.exit(1)
  const log = pino({ level: 'silent' })
  try {
    return await Link.open({ url, name: nameOf('link'), isAlone: true, log, usurped })
  } catch (error) {
    if (!(error instanceof InUse)) throw unusable(url, error)
    throw new CommandError(`The installation in ${placeOf(url)} is being served. Stop the service first.`)
  }
}

/**
 * Joins the processes that serve the installation.
 * @param isAlone true if this process must be the only one
 * @throws CommandError if other processes prevent that
 */
export async function join(
  link: Link,
  { db, config, log, isAlone }: { db: Database; config: Config; log: Logger; isAlone: boolean },
): Promise<Members> {
  if (isAlone)
    await link.beAlone().catch((error: unknown) => {
      if (!(error instanceof InUse)) throw error
      throw new CommandError(
        'Other processes serve this installation, and this one would run servers with QEMU on its own host, which only a process that serves alone can. Stop the others, or set BERTH_COMPUTE=simulator.',
      )
    })
  const catalogFile = pathOf(config.catalogFile)
  const members = new Members({ db, clock: link.clock, log, role: config.role, bells: link, catalogFile })
  await members.start()
  return members
}

/** Resolves links in a path. The file may be missing while its last good copy is in force. */
function pathOf(file: string): string {
  return existsSync(file) ? realpathSync(file) : file
}

/** True if the database may answer in a moment. */
function isAway(error: unknown): boolean {
  const isOfSystem = error instanceof Error && 'syscall' in error
  return isOfSystem || isUnavailable(error) || /timeout|terminated/.test(messageOf(error))
}

/**
 * A database server that may come up later is not a mistake in the settings: supervisors restart the service.
 */
function unusable(url: string, error: unknown): Error {
  const Refusal = isAway(error) ? CommandError : ConfigError
  return new Refusal(
    `DATABASE_URL (--database-url) points to ${placeOf(url)}, which can't be used: ${messageOf(error) || 'it does not answer'}.`,
  )
}

interface Opening {
  /** True if an existing database may be changed: services of an earlier version may be using it. */
  mayMigrate: boolean
  /** True if an empty database may become an installation. */
  mayCreate: boolean
  /** True if it is opened for an import; nothing else may use an incomplete installation. */
  isImport?: boolean
  log?: Logger
  onCommit?: () => void
}

/**
 * Opens the installation's database on PostgreSQL at its newest schema.
 * @throws ConfigError, CommandError
 */
export async function openOnPostgres(
  { databaseUrl, databaseConnections }: { databaseUrl: string; databaseConnections: number },
  { mayMigrate, mayCreate, isImport = false, log, onCommit }: Opening,
): Promise<Database> {
  const name = nameOf('migration')
  const patient = openPostgres(databaseUrl, { connections: 4, name, isPatient: true })
  try {
    const pending = await pendingMigrations(patient)
    const isNew = pending.length === Object.keys(migrations).length
    if (isNew && !mayCreate) throw noInstallation(placeOf(databaseUrl), 'DATABASE_URL (--database-url)')
    if (!mayMigrate && !isNew && pending.length > 0)
      throw new CommandError(
        `The database needs a migration, and services of an earlier version may be using it. Run berthd migrate.`,
      )
    await migrate(patient)
    const imported = await findFact(patient, 'import')
    if (!isImport && imported !== undefined && imported !== 'done')
      throw new CommandError(
        'The database contains part of an import. Run the same berthd import again: it continues.',
      )
  } catch (error) {
    if (error instanceof CommandError || error instanceof ConfigError) throw error
    if (error instanceof SchemaTooNew) throw new CommandError(`${error.message} Run that version.`)
    if (error instanceof MigrationFailed)
      throw new CommandError(`${error.message}. The database was not changed.`)
    throw unusable(databaseUrl, error)
  } finally {
    await patient.destroy()
  }
  return openPostgres(databaseUrl, {
    connections: databaseConnections,
    name: nameOf('pool'),
    ...(onCommit ? { onCommit } : {}),
    onIdleError: (error) => log?.warn({ reason: messageOf(error) }, 'the database ended a connection'),
  })
}

/** Opens the replica of the database, if the settings name one, for queries that may be a second old. */
export function openReplica(
  { databaseReplicaUrl: url, databaseConnections: connections }: Config,
  parts: { primary: Database; clock: Clock; log: Logger },
): Replica | null {
  if (url === null) return null
  const replica = new Replica({
    ...parts,
    replica: openPostgres(url, { connections, name: nameOf('replica') }),
  })
  replica.start()
  return replica
}

/** Queries a database that may be of another version, in use, or new; a new database is empty. */
export async function lookOnPostgres<Rows>(
  url: string,
  query: (db: Database) => Promise<readonly Rows[]>,
): Promise<readonly Rows[]> {
  const db = openPostgres(url, { connections: 2, name: nameOf('look') })
  try {
    const pending = await pendingMigrations(db)
    return pending.length === Object.keys(migrations).length ? [] : await query(db)
  } catch (error) {
    throw isAway(error) ? unusable(url, error) : error
  } finally {
    await db.destroy()
  }
}

/** True if a service is running on the installation. @param alone as isServedFrom has it. @throws ConfigError */
export async function isServedOnPostgres(url: string, alone = false): Promise<boolean> {
  return isServedFrom(url, alone).catch((error: unknown) => {
    throw unusable(url, error)
  })
}

const KEY = 'secret_key'

/**
 * Opens the key that seals secrets in the database. All processes need the same one: the database has its fingerprint.
 * @throws CommandError if this data folder has another key, or none
 */
export async function openSharedSecrets(db: Queries, { dataDir }: Pick<Config, 'dataDir'>): Promise<Secrets> {
  const file = path.join(dataDir, 'secret.key')
  const known = await findFact(db, KEY)
  if (!existsSync(file)) {
    if (known !== undefined) throw otherKey(file)
    placeKey(file)
  }
  const secrets = new Secrets(Buffer.from(readFileSync(file, 'utf8').trim(), 'hex'))
  await db
    .insertInto('installation')
    .values({ name: KEY, value: secrets.fingerprint })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  if ((await findFact(db, KEY)) !== secrets.fingerprint) throw otherKey(file)
  return secrets
}

function otherKey(file: string): CommandError {
  return new CommandError(
    `${file} is not the key that seals the secrets in the database. Copy secret.key there from the data folder of a machine that serves this installation, or from its backup.`,
  )
}

/**
 * Two processes may start in a folder at once: both use the first one's key. In containers each process has
 * the pid 1.
 */
function placeKey(file: string): void {
  const draft = `${file}.${randomBytes(4).toString('hex')}`
  writeWholeSync(draft, randomBytes(32).toString('hex'))
  try {
    linkSync(draft, file)
  } catch (error) {
    if (!existsSync(file)) throw error
  } finally {
    rmSync(draft)
  }
}

async function findFact(db: Queries, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('installation').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}
