import { randomUUID } from 'node:crypto'
import { Command } from 'commander'
import { accountsInAnyCase, findAccount } from '../accounts/accounts.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { ApiError } from '../http/contract/problem.ts'
import { onBehalfOf } from '../http/limits/origin.ts'
import { messageOf } from '../message-of.ts'
import { canonicalEmail } from '../people/person/people.ts'
import { catalogInForce } from './catalog.ts'
import { operatorName } from './command-log.ts'
import { openImages } from './compute.ts'
import { openDatabase, requireInstallation } from './installation.ts'
import { printTable } from './print.ts'

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

async function listImages(config: Config): Promise<void> {
  requireInstallation(config)
  const images = openImages(config, () => {})
  const { catalog, fault } = await catalogInForce(config)
  const listed = await Promise.all(
    catalog.templates.map(async ({ slug, image }) => ({ slug, image, state: await images.state(image) })),
  )
  const rows = listed.map(({ slug, image, state }) => [
    slug,
    state.state,
    state.state === 'ready' ? `${Math.ceil(state.bytes / 2 ** 20)} MB` : '',
    image.sources.map((source) => source.type).join(', '),
  ])
  printTable(['TEMPLATE', 'STATE', 'SIZE', 'SOURCES'], rows)
  for (const { slug, state } of listed)
    if (state.state === 'failed') console.log(`\n${slug}: ${state.message}`)
  await images.close()
  if (fault)
    throw new CommandError(`\nThis is the last good catalogue, because the file is invalid:\n${fault}`)
}

export function imageCommands(config: ReadConfig): Command {
  const image = new Command('image').description('manage template images')
  image
    .command('list')
    .description('list the images of all templates and their state')
    .action(() => listImages(config()))
  const prepare = async (slug: string, onlyBuild: boolean) => {
    const parsed = config()
    requireInstallation(parsed)
    const { catalog } = await catalogInForce(parsed)
    const template = catalog.templates.find((candidate) => candidate.slug === slug)
    if (!template) throw new ConfigError(`No such template: ${slug}. List them with: berthd image list`)
    const sources = onlyBuild
      ? template.image.sources.filter((source) => source.type === 'build')
      : template.image.sources
    if (sources.length === 0)
      throw new ConfigError(`The template ${slug} has no build source in ${parsed.catalogFile}.`)
    const images = openImages(parsed, (line) => console.error(line))
    let last = ''
    const stored = await images
      .wait({ slug, sources }, ({ detail }) => {
        if (detail !== last) console.error(detail)
        last = detail
      })
      .catch((error: unknown) => {
        throw new CommandError(messageOf(error))
      })
      .finally(() => images.close())
    console.log(`${slug} is ready: ${stored.id}`)
  }
  image
    .command('pull')
    .description("prepare a template's image from the first source that works")
    .argument('<template>')
    .action((slug: string) => prepare(slug, false))
  image
    .command('build')
    .description("build a template's image from the distribution's packages")
    .argument('<template>')
    .action((slug: string) => prepare(slug, true))
  return image
}

/** Times of the operator's tables: to the second, in UTC. */
export function shortTime(ms: number | null): string {
  return ms === null ? '' : `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')}Z`
}
