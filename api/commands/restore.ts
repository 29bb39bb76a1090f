import { chmod, copyFile, lstat, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Command } from 'commander'
import Type from 'typebox'
import { CommandError, type Config, ConfigError } from '../config.ts'
import { refuseNewer, SchemaTooNew } from '../database/migrate.ts'
import { exists, isMissing, syncFolder } from '../files.ts'
import { compileCheck } from '../http/contract/validation.ts'
import { messageOf } from '../message-of.ts'
import {
  type Manifest,
  SECRET_FILES,
  type SealedSecrets,
  secretsUnder,
  sha256Of,
  sync,
  tar,
} from './backup.ts'
import { lastGoodCatalog } from './catalog.ts'
import { askPassphrase } from './passphrase.ts'

/** The folder for machines whose disks the backup lacks, so that no driver takes them for complete machines. */
const WITHOUT_DISK = 'machines-without-disk'

interface RestoreOptions {
  file: string
  passphrase: string
  say: (line: string) => void
}

export function restoreCommand(config: () => Config): Command {
  return new Command('restore')
    .description('restore an installation from a backup, into an empty BERTH_DATA')
    .argument('<file>', 'a file that berthd backup wrote')
    .action(async (given: string) => {
      const parsed = config()
      await refuseFolder(parsed)
      const file = path.resolve(given)
      if (!(await exists(file))) throw new ConfigError(`No such file: ${file}.`)
      const passphrase = await askPassphrase({ isNew: false })
      await restore(parsed, { file, passphrase, say: console.log })
    })
}

/** @throws ConfigError */
async function refuseFolder({ dataDir, databaseUrl }: Config): Promise<void> {
  if (databaseUrl !== null)
    throw new ConfigError(
      'berthd restore is for an installation in a data folder: unset DATABASE_URL (--database-url). On PostgreSQL use pg_restore.',
    )
  try {
    if ((await readdir(dataDir)).length > 0)
      throw new ConfigError(
        `${dataDir} is not empty. A backup is restored into an empty folder: set BERTH_DATA (--data) to another one.`,
      )
    if ((await stat(dataDir)).dev !== (await stat(path.dirname(dataDir))).dev)
      throw new ConfigError(
        `${dataDir} is a mount point, which can't be replaced. Set BERTH_DATA (--data) to a folder in it.`,
      )
  } catch (error) {
    if (error instanceof ConfigError) throw error
    if (!isMissing(error)) throw new ConfigError(`${dataDir} can't be used: ${messageOf(error)}.`)
  }
}

/**
 * Fills the data folder from a backup completely, or not at all. A killed attempt leaves a folder beside it,
 * which the next attempt removes.
 * @throws CommandError if the backup is incomplete, newer than this program, or has another passphrase
 */
async function restore(config: Config, { file, passphrase, say }: RestoreOptions): Promise<void> {
  const manifest = await readManifest(file)
  const secrets = await openSealed(file, passphrase)
  const { dataDir } = config
  const draft = `${dataDir}.restoring`
  try {
    await rm(draft, { recursive: true, force: true })
    await mkdir(draft, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
    await unpack(file, draft, manifest)
    for (const [name, text] of Object.entries(secrets)) {
      await writeFile(path.join(draft, name), text, { mode: 0o600, flush: true })
    }
    const machines = await settleMachines(draft, manifest)
    await rm(path.join(draft, 'secrets.sealed'))
    // A catalogue from elsewhere is checked against this one for entries that the restored servers use.
    await copyFile(path.join(draft, 'catalog.yaml'), lastGoodCatalog({ dataDir: draft }))
    await syncFolder(draft)
    await rename(draft, dataDir)
    await syncFolder(path.dirname(dataDir))
    say(`${dataDir} contains the installation as of ${manifest.created_at}. Disks: ${manifest.disks.length}.`)
    say(`Its catalogue is ${path.join(dataDir, 'catalog.yaml')}.`)
    if (machines > 0)
      say(
        `Servers without a disk in the backup: ${machines}. Their specifications are in ${path.join(dataDir, WITHOUT_DISK)}.`,
      )
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (error instanceof CommandError) throw error
    throw new CommandError(`The backup could not be restored into ${dataDir}: ${messageOf(error)}`)
  }
}

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const MachineId = String.raw`[\w-]{1,64}`
const checkManifest = compileCheck(
  'body',
  Type.Object({
    format: Type.Literal(1),
    created_at: Type.String(),
    schema: Type.String(),
    data_dir: Type.String(),
    disks: Type.Array(Type.String({ pattern: `^${MachineId}$` })),
    files: Type.Record(Type.String(), Type.Object({ sha256: Sha256, bytes: Type.Integer() })),
  }),
)
/** Names become paths, so only these are allowed. */
const MEMBER = new RegExp(
  String.raw`^(berth\.db|secrets\.sealed|catalog\.yaml|vms/${MachineId}/(spec\.json|seed\.img|disk\.qcow2)|(images/[0-9a-f]{64}|snapshots/${MachineId})/\w[\w.-]*)$`,
)

/** @throws CommandError */
async function readManifest(file: string): Promise<Manifest> {
  const notWhole = new CommandError(
    `${file} is not a complete backup of Berth: it was truncated, or is another kind of file.`,
  )
  const text = await member(file, 'manifest.json').catch(() => 'null')
  const value: unknown = JSON.parse(text)
  if (checkManifest(value).length > 0) throw notWhole
  const manifest = value as Manifest // by the check above
  const names = Object.keys(manifest.files)
  if (!names.every((name) => MEMBER.test(name)) || !names.includes('berth.db')) throw notWhole
  try {
    refuseNewer([manifest.schema])
  } catch (error) {
    if (!(error instanceof SchemaTooNew)) throw error
    throw new CommandError(`${error.message} Restore it with that version.`)
  }
  return manifest
}

/** @returns the texts of files by name. @throws CommandError */
async function openSealed(file: string, passphrase: string): Promise<Record<string, string>> {
  try {
    // backup.ts sealed it.
    const { salt, sealed } = JSON.parse(await member(file, 'secrets.sealed')) as SealedSecrets
    const secrets: Record<string, string> = JSON.parse((await secretsUnder(passphrase, salt)).open(sealed))
    // Names become paths. They are sealed too, so only the author of the whole backup could forge them.
    if (!Object.keys(secrets).every((name) => SECRET_FILES.includes(name))) throw new Error('other files')
    return secrets
  } catch {
    throw new CommandError(
      `The passphrase is not the one that ${file} was written with, or its secrets are damaged.`,
    )
  }
}

async function member(file: string, name: string): Promise<string> {
  return (await tar(['--extract', '--to-stdout', '--file', file, '--occurrence=1'], [name])).toString()
}

/** @throws CommandError if a file differs from its description in the manifest */
async function unpack(file: string, folder: string, { files }: Manifest): Promise<void> {
  const names = Object.keys(files)
  await tar(['--extract', '--file', file, '--no-same-owner', '-C', folder], names)
  for (const [name, { sha256, bytes }] of Object.entries(files)) {
    const unpacked = path.join(folder, name)
    const facts = await lstat(unpacked)
    if (!facts.isFile() || facts.size !== bytes || (await sha256Of(unpacked)) !== sha256)
      throw new CommandError(`${name} in ${file} is damaged. Take another backup.`)
    if (!/^(images|snapshots)\//.test(name)) await chmod(unpacked, 0o600)
    await sync(unpacked)
  }
}

/** @returns the number of machines without a disk */
async function settleMachines(folder: string, manifest: Manifest): Promise<number> {
  const ids = await readdir(path.join(folder, 'vms')).catch(() => [])
  const lost = ids.filter((id) => !manifest.disks.includes(id))
  // The driver sets the same mode: each machine's QEMU may run as a user of its own.
  if (ids.length > 0) await chmod(path.join(folder, 'vms'), 0o711)
  if (lost.length > 0) await mkdir(path.join(folder, WITHOUT_DISK), { mode: 0o700 })
  for (const id of ids) {
    const machine = path.join(folder, 'vms', id)
    await chmod(machine, 0o711)
    if (lost.includes(id)) await rename(machine, path.join(folder, WITHOUT_DISK, id))
  }
  return lost.length
}
