import { randomUUID } from 'node:crypto'
import { Command } from 'commander'
import { createAccount, findAccount, findAccountByEmail, listAccounts } from '../accounts/accounts.ts'
import { createToken, findTokenById, revokeToken } from '../accounts/tokens.ts'
import { balanceOf, post, ReferenceTaken } from '../billing/ledger.ts'
import { readCatalog } from '../catalog/file.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { scopeNames } from '../http/auth.ts'
import { onBehalfOf } from '../http/origin.ts'
import { messageOf } from '../message-of.ts'
import { formatMoney, parseMoney } from '../money.ts'
import { openImages } from './compute.ts'
import { openDatabase } from './installation.ts'

type ReadConfig = () => Config

/** @param action what the operator did, as the audit of the accounts in question will say it */
async function withDatabase<T>(
  config: Config,
  action: string,
  run: (db: Database) => Promise<T>,
): Promise<T> {
  const db = await openDatabase(config, { say: console.error, holdsLock: false })
  const origin = { action: `berthd ${action}`, tokenId: null, address: null, requestId: randomUUID() }
  try {
    return await onBehalfOf(origin, () => run(db))
  } finally {
    await db.destroy()
  }
}

/** @throws ConfigError */
async function accountByNameOrId(db: Database, given: string) {
  const isEmail = given.includes('@')
  const account = isEmail
    ? await findAccountByEmail(db, given)
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

export function accountCommands(config: ReadConfig): Command {
  const account = new Command('account').description('manage accounts and their balances')
  account
    .command('create')
    .description('create an account with a default project')
    .argument('<email>', 'unique e-mail address')
    .option('--name <name>', 'display name', '')
    .action(async (email: string, { name }: { name: string }) => {
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new ConfigError(`"${email}" is not an e-mail address.`)
      await withDatabase(config(), 'account create', async (db) => {
        const id = await createAccount(db, clock, { email, name: name || email })
        if (!id) throw new ConfigError(`The account ${email} already exists.`)
        console.log(id)
      })
    })
  account
    .command('list')
    .description('list accounts with their balances')
    .action(async () => {
      await withDatabase(config(), 'account list', async (db) => {
        const accounts = await listAccounts(db)
        const balances = await Promise.all(accounts.map((row) => balanceOf(db, row.account_id)))
        const rows = accounts.map((row, at) => [
          row.account_id,
          row.email,
          row.status,
          `${formatMoney(balances[at] ?? 0)} RUB`,
        ])
        printTable(['ACCOUNT', 'E-MAIL', 'STATUS', 'BALANCE'], rows)
      })
    })
  addCreditCommand(account, config)
  return account
}

function addCreditCommand(account: Command, config: ReadConfig): void {
  account
    .command('credit')
    .description("credit an account's balance, or debit it with a negative amount")
    .argument('<account>', 'e-mail address or id')
    .argument('<rubles>', 'such as 500 or 499.90')
    .requiredOption('--reason <text>', 'description that the customer sees')
    .option('--reference <text>', 'payment reference; a repeated one is booked only once')
    .action(
      async (
        given: string,
        rubles: string,
        { reason, reference }: { reason: string; reference?: string },
      ) => {
        const amount = amountOf(rubles)
        await withDatabase(config(), 'account credit', async (db) => {
          const { account_id } = await accountByNameOrId(db, given)
          const type = amount < 0 ? 'correction' : 'payment'
          const entry = { accountId: account_id, type, amount, description: reason, reference } as const
          const { isNew } = await post(db, clock, entry).catch((error: unknown) => {
            if (!(error instanceof ReferenceTaken)) throw error
            throw new CommandError(`Nothing changed: ${error.message}, not ${formatMoney(amount)}.`)
          })
          console.log(
            `${isNew ? 'Credited' : 'Nothing changed: this reference is already booked'}. Balance: ${formatMoney(await balanceOf(db, account_id))} RUB`,
          )
        })
      },
    )
}

/** @throws ConfigError */
function amountOf(rubles: string): number {
  if (/\.\d{3}/.test(rubles))
    throw new ConfigError(`"${rubles}" is not a valid amount: use at most two decimals.`)
  try {
    const amount = parseMoney(rubles)
    if (amount !== 0) return amount
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new ConfigError(`${error.message}.`)
  }
  throw new ConfigError('The amount must not be 0.')
}

export function tokenCommands(config: ReadConfig): Command {
  const token = new Command('token').description('manage API tokens')
  token
    .command('create')
    .description('create a token; it is shown only once')
    .argument('<account>', 'e-mail address or id')
    .option('--name <name>', 'what it is for', 'operator')
    .option('--scopes <list>', `comma-separated list of ${scopeNames.join(', ')}`, 'read,write')
    .option('--days <number>', 'days until it expires')
    .action(async (given: string, options: { name: string; scopes: string; days?: string }) => {
      const wanted = options.scopes.split(',').map((name) => name.trim())
      const scopes = scopeNames.filter((name) => wanted.includes(name))
      const unknown = wanted.filter((name) => !scopes.some((scope) => scope === name))
      if (unknown.length > 0)
        throw new ConfigError(`No such scope: ${unknown.join(', ')}. Scopes are ${scopeNames.join(', ')}.`)
      if (options.days !== undefined && !/^[1-9]\d{0,4}$/.test(options.days))
        throw new ConfigError('--days must be a whole number, at least 1.')
      const expiresAt = options.days === undefined ? null : clock.now() + Number(options.days) * 24 * 3600_000
      await withDatabase(config(), 'token create', async (db) => {
        const { account_id } = await accountByNameOrId(db, given)
        const { tokenId, value } = await createToken(db, clock, {
          accountId: account_id,
          name: options.name,
          scopes,
          expiresAt,
        })
        console.error(`Token ${tokenId}, with ${scopes.join(', ')}. It is shown only once:`)
        console.log(value)
      })
    })
  token
    .command('revoke')
    .description('revoke a token immediately, with those created with it')
    .argument('<token_id>')
    .action(async (tokenId: string) => {
      await withDatabase(config(), 'token revoke', async (db) => {
        const found = await findTokenById(db, tokenId)
        if (!found || !(await revokeToken(db, clock, { accountId: found.account_id, tokenId })))
          throw new ConfigError(`No such valid token: ${tokenId}.`)
        console.log('Revoked.')
      })
    })
  return token
}

export function catalogCommands(config: ReadConfig): Command {
  const catalog = new Command('catalog').description('manage the catalogue')
  catalog
    .command('check')
    .description('validate the catalogue file')
    .action(() => {
      const { catalogFile } = config()
      const { zones, templates, presets } = readCatalog(catalogFile, clock.now())
      console.log(
        `${catalogFile} is valid: ${zones.length} zones, ${templates.length} templates, ${presets.length} presets.`,
      )
    })
  return catalog
}

export function imageCommands(config: ReadConfig): Command {
  const image = new Command('image').description('manage template images')
  image
    .command('list')
    .description('list the images of all templates and their state')
    .action(async () => {
      const parsed = config()
      const images = openImages(parsed, () => {})
      const templates = readCatalog(parsed.catalogFile).templates
      const states = await Promise.all(templates.map((template) => images.state(template.image)))
      const rows = templates.map((template, at) => {
        const state = states[at]
        const size = state?.state === 'ready' ? `${Math.ceil(state.bytes / 2 ** 20)} MB` : ''
        return [
          template.slug,
          state?.state ?? '',
          size,
          template.image.sources.map((source) => source.type).join(', '),
        ]
      })
      printTable(['TEMPLATE', 'STATE', 'SIZE', 'SOURCES'], rows)
      await images.close()
    })
  const prepare = async (slug: string, onlyBuild: boolean) => {
    const parsed = config()
    const template = readCatalog(parsed.catalogFile).templates.find((candidate) => candidate.slug === slug)
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
    .description("prepare a template's image from its first source that works")
    .argument('<template>')
    .action((slug: string) => prepare(slug, false))
  image
    .command('build')
    .description("build a template's image from the distribution's packages")
    .argument('<template>')
    .action((slug: string) => prepare(slug, true))
  return image
}

function printTable(head: string[], rows: string[][]): void {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)))
  for (const row of [head, ...rows])
    console.log(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}
