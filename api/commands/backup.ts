import { execFile } from 'node:child_process'
import { createHash, randomBytes, scrypt } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { chmod, lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { Command, Option } from 'commander'
import { CatalogError, readCatalogText, withAbsolutePaths } from '../catalog/file.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import { appliedMigrations } from '../database/migrate.ts'
import { copySqlite, openSqlite } from '../database/sqlite.ts'
import type { ArchivedMachines } from '../drivers/module.ts'
import { modules } from '../drivers/modules/modules.ts'
import { exists, syncFolder, writeWholeSync } from '../files.ts'
import { messageOf } from '../message-of.ts'
import { Secrets } from '../secrets.ts'
import { catalogFileOf, lastGoodCatalog } from './catalog.ts'
import { backupMark, refuseMoved, requireInstallation } from './installation.ts'
import { askPassphrase } from './passphrase.ts'

/** The last member of a backup: a truncated file lacks it. */
export interface Manifest {
  format: 1
  created_at: string
  /** The newest migration of the database. */
  schema: string
  /** The path of the data folder, for people. */
  data_dir: string
  /** Servers whose disks are in the backup. */
  disks: string[]
  /** The members by name, without the manifest. */
  files: Record<string, { sha256: string; bytes: number }>
}

/** The member `secrets.sealed`: JSON of a text for each file of the data folder, under a key from the passphrase. */
export interface SealedSecrets {
  salt: string
  sealed: string
}

/** Secrets in the data folder: the key of all passwords, and the token of the demo account. */
export const SECRET_FILES = ['secret.key', 'demo-token']

interface BackupOptions {
  file: string
  passphrase: string
  withDisks: boolean
  say: (line: string) => void
}

export function backupCommand(config: () => Config): Command {
  return new Command('backup')
    .description('write a backup of the installation to a file, also while the service is running')
    .argument('<file>', 'a new file, a tar archive; or a folder for a file with the time in its name')
    .option('--disks', 'include the disks of stopped servers and their base images', false)
    .addOption(
      new Option('--keep <number>', 'in a folder: delete all of its berth-….tar but the newest').argParser(
        (text) => {
          if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
          throw new ConfigError(`--keep is "${text}": it must be a whole number from 1.`)
        },
      ),
    )
    .action(async (given: string, { disks, keep }: { disks: boolean; keep?: number }) => {
      const parsed = config()
      const folder = statSync(given, { throwIfNoEntry: false })?.isDirectory() ? path.resolve(given) : null
      const file = folder ? path.join(folder, nameAt(new Date())) : path.resolve(given)
      if (keep !== undefined && !folder)
        throw new ConfigError(
          `--keep deletes old backups of a folder, and ${path.resolve(given)} is not a folder. Name an existing folder.`,
        )
      refuseTarget(parsed, file)
      const passphrase = await askPassphrase({ isNew: true })
      await backUp(parsed, { file, passphrase, withDisks: disks, say: console.log })
      writeWholeSync(backupMark(parsed), `${file}\n`)
      if (keep !== undefined && folder) await rotate(folder, keep)
    })
}

function nameAt(time: Date): string {
  return `berth-${time.toISOString().slice(0, 19).replaceAll(':', '')}Z.tar`
}
/** The names that nameAt gives to backups, which sort by time, and the leftovers of killed attempts. */
const OWN_NAME = /^berth-\d{4}-\d\d-\d\dT\d{6}Z\.tar(\.parts)?$/
const DAY_MS = 24 * 3600_000

/**
 * Deletes all but the newest backups of a folder, and the leftovers of attempts that were killed more than a
 * day ago.
 */
async function rotate(folder: string, keep: number): Promise<void> {
  const names = (await readdir(folder)).filter((name) => OWN_NAME.test(name)).sort()
  const isOld = (name: string) => statSync(path.join(folder, name)).mtimeMs < Date.now() - DAY_MS
  const parts = names.filter((name) => name.endsWith('.parts'))
  const backups = names.filter((name) => !name.endsWith('.parts'))
  for (const name of [...parts.filter(isOld), ...backups.slice(0, -keep)]) {
    await rm(path.join(folder, name), { recursive: true })
    console.log(`Deleted ${path.join(folder, name)}.`)
  }
}

/** @throws ConfigError */
function refuseTarget({ dataDir, databaseUrl }: Config, file: string): void {
  if (databaseUrl !== null)
    throw new ConfigError(
      'berthd backup is for an installation in a data folder. On PostgreSQL use pg_dump, and keep secret.key and catalog.yaml of the data folder with it.',
    )
  requireInstallation({ dataDir })
  if (existsSync(file)) throw new ConfigError(`${file} already exists. Choose another file name.`)
  if (!existsSync(path.dirname(file))) throw new ConfigError(`No such folder: ${path.dirname(file)}.`)
}

/**
 * Writes a backup completely, or not at all. The database is copied as it is at one moment; the service may keep
 * running.
 * @throws CommandError
 */
async function backUp(config: Config, options: BackupOptions): Promise<void> {
  const { file, say } = options
  const parts = `${file}.parts`
  try {
    await rm(parts, { recursive: true, force: true })
    await mkdir(parts, { mode: 0o700 })
    const archive = path.join(parts, 'backup.tar')
    const lines = await fill(config, options, parts, archive)
    await chmod(archive, 0o600)
    await sync(archive)
    await rename(archive, file)
    await syncFolder(path.dirname(file))
    for (const line of lines) say(line)
  } catch (error) {
    if (error instanceof CatalogError || error instanceof CommandError || error instanceof ConfigError)
      throw error
    throw new CommandError(`The backup could not be written to ${file}: ${messageOf(error)}`)
  } finally {
    await rm(parts, { recursive: true, force: true })
  }
}

/** @returns lines that describe the contents */
async function fill(
  config: Config,
  { passphrase, withDisks, file }: BackupOptions,
  parts: string,
  archive: string,
): Promise<string[]> {
  const contents = new Contents(archive)
  copySqlite(path.join(config.dataDir, 'berth.db'), path.join(parts, 'berth.db'))
  const schema = await schemaOf(path.join(parts, 'berth.db'))
  await writeFile(path.join(parts, 'secrets.sealed'), await sealSecrets(config, passphrase))
  await writeFile(path.join(parts, 'catalog.yaml'), catalogText(config))
  await contents.add(parts, ['berth.db', 'secrets.sealed', 'catalog.yaml'])
  await rm(path.join(parts, 'berth.db'))
  const { specs, disks, leftOut } = await addMachines(contents, config.dataDir, withDisks)
  const manifest: Manifest = {
    format: 1,
    created_at: new Date().toISOString(),
    schema,
    data_dir: config.dataDir,
    disks,
    files: contents.files,
  }
  await writeFile(path.join(parts, 'manifest.json'), JSON.stringify(manifest, null, 2))
  await contents.append(parts, ['manifest.json'])
  return [
    `${file} has the database (schema ${schema}), the sealed secrets, the catalogue, specifications of machines (${specs}) and disks (${withDisks ? disks.length : 'none'}).`,
    ...(withDisks || specs === 0
      ? []
      : ['It has no disks: include the disks of stopped servers with --disks.']),
    ...leftOut.map(
      (id) =>
        `It does not include the disk of ${id}: the server is on, was changed meanwhile, or its image is missing.`,
    ),
  ]
}

/** A tar archive that grows, with a list of its files. */
class Contents {
  readonly files: Manifest['files'] = {}
  readonly #archive: string

  constructor(archive: string) {
    this.#archive = archive
  }

  async append(folder: string, names: readonly string[]): Promise<void> {
    const how = ['--owner=0', '--group=0', '--ignore-failed-read', '-C', folder]
    await tar(['--append', '--file', this.#archive, ...how], names)
  }

  /**
   * @returns the files that changed while they were read: the archive may contain them, but they do not count
   */
  async add(folder: string, names: readonly string[]): Promise<string[]> {
    const before = await this.#facts(folder, names)
    const sums = new Map<string, string>()
    for (const name of before.keys()) sums.set(name, await sha256Of(path.join(folder, name)))
    await this.append(folder, [...before.keys()])
    const after = await this.#facts(folder, names)
    const changed: string[] = []
    for (const name of names) {
      const [was, is, sha256] = [before.get(name), after.get(name), sums.get(name)]
      if (!sha256 || !was || was.size !== is?.size || was.mtimeMs !== is.mtimeMs) changed.push(name)
      else this.files[name] = { sha256, bytes: was.size }
    }
    return changed
  }

  async #facts(folder: string, names: readonly string[]) {
    const facts = new Map<string, { size: number; mtimeMs: number }>()
    for (const name of names) {
      const found = await lstat(path.join(folder, name)).catch(() => null)
      if (found) facts.set(name, found)
    }
    return facts
  }
}

/** Adds the files of all drivers' machines in the data folder. */
async function addMachines(
  contents: Contents,
  dataDir: string,
  withDisks: boolean,
): Promise<ArchivedMachines> {
  const found: ArchivedMachines = { specs: 0, disks: [], leftOut: [] }
  for (const { archive } of modules) {
    const added = await archive?.(contents, dataDir, withDisks)
    if (!added) continue
    found.specs += added.specs
    found.disks.push(...added.disks)
    found.leftOut.push(...added.leftOut)
  }
  return found
}

async function schemaOf(file: string): Promise<string> {
  const db = openSqlite(file)
  try {
    await refuseMoved(db, 'The database')
    return (await appliedMigrations(db)).at(-1) ?? ''
  } finally {
    await db.destroy()
  }
}

/** The catalogue in force; before the first start, the file. */
function catalogText(config: Config): string {
  const lastGood = lastGoodCatalog(config)
  const file = existsSync(lastGood) ? lastGood : catalogFileOf(config)
  return withAbsolutePaths(readCatalogText(file), path.dirname(file))
}

async function sealSecrets({ dataDir }: Config, passphrase: string): Promise<string> {
  const texts: Record<string, string> = {}
  for (const name of SECRET_FILES) {
    const file = path.join(dataDir, name)
    if (await exists(file)) texts[name] = await readFile(file, 'utf8')
  }
  const salt = randomBytes(16).toString('hex')
  const sealed = (await secretsUnder(passphrase, salt)).seal(JSON.stringify(texts))
  return JSON.stringify({ salt, sealed } satisfies SealedSecrets)
}

/** Derives the key from the passphrase, so slowly that each guess takes 128 MB and about half a second. */
export async function secretsUnder(passphrase: string, salt: string): Promise<Secrets> {
  const cost = { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 }
  return new Secrets(
    await new Promise<Buffer>((resolve, reject) =>
      scrypt(passphrase.normalize(), salt, 32, cost, (error, key) => (error ? reject(error) : resolve(key))),
    ),
  )
}

/**
 * Runs tar on the files of these names.
 * @throws CommandError with the message of tar
 */
export async function tar(args: readonly string[], names: readonly string[]): Promise<Buffer> {
  const options = { encoding: 'buffer', maxBuffer: 2 ** 26, env: { ...process.env, LC_ALL: 'C' } } as const
  const list = ['--null', '--verbatim-files-from', '--files-from=-']
  try {
    const running = promisify(execFile)('tar', [...args, ...list], options)
    running.child.stdin?.on('error', () => {}).end(names.join('\0'))
    return (await running).stdout
  } catch (error) {
    // Exit code 1 means that a file changed while it was read, which callers notice themselves.
    if (error instanceof Error && 'code' in error && error.code === 1) return Buffer.alloc(0)
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n')[0] : ''
    throw new CommandError(`tar failed: ${said || messageOf(error)}`)
  }
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}

export async function sync(file: string): Promise<void> {
  await using handle = await open(file)
  await handle.sync()
}
