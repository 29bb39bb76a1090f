import { Command } from 'commander'
import { revokeToken } from '../accounts/revocation.ts'
import { readCidrs } from '../accounts/token-input.ts'
import { hashToken } from '../accounts/token-value.ts'
import { createToken, everyToken } from '../accounts/tokens.ts'
import { cidrsOf } from '../accounts/view.ts'
import { systemClock as clock } from '../clock.ts'
import { ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { contains, type Page, pageOf } from '../database/page.ts'
import { scopeNames } from '../http/contract/auth.ts'
import { ApiError } from '../http/contract/problem.ts'
import { NAMED, paged, printMore } from './listing.ts'
import { accountByNameOrId, type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printTable } from './print.ts'

export function tokenCommands(config: ReadConfig): Command {
  const token = new Command('token').description('manage API tokens')
  token
    .command('create')
    .description('create a token; it is shown only once')
    .argument('<account>', 'e-mail address or id')
    .option('--name <name>', 'name of the token, such as its purpose', 'operator')
    .option('--scopes <list>', `comma-separated list of ${scopeNames.join(', ')}`, 'read,write')
    .option('--days <number>', 'days until it expires')
    .option(
      '--cidr <range>',
      'address or range that it may be used from (repeatable; default: from anywhere)',
      repeated,
      [],
    )
    .action(async (given: string, options: CreateOptions) => {
      const wanted = options.scopes.split(',').map((name) => name.trim())
      const scopes = scopeNames.filter((name) => wanted.includes(name))
      const unknown = wanted.filter((name) => !scopes.some((scope) => scope === name))
      if (unknown.length > 0)
        throw new ConfigError(`No such scope: ${unknown.join(', ')}. Scopes are ${scopeNames.join(', ')}.`)
      if (options.days !== undefined && !/^[1-9]\d{0,4}$/.test(options.days))
        throw new ConfigError('--days must be a whole number, at least 1.')
      const expiresAt = options.days === undefined ? null : clock.now() + Number(options.days) * 24 * 3600_000
      const cidrs = readRanges(options.cidr)
      await withDatabase(config(), 'token create', async (db) => {
        const { account_id } = await accountByNameOrId(db, given)
        const { tokenId, value } = await createToken(db, clock, {
          accountId: account_id,
          name: options.name,
          scopes,
          cidrs,
          expiresAt,
        })
        console.error(`Token ${tokenId}, with ${scopes.join(', ')}. It is shown only once:`)
        console.log(value)
      })
    })
  token
    .command('revoke')
    .description('revoke a token immediately, and those created with it')
    .argument('<token>', 'id, name, or the token itself')
    .option('--account <account>', 'search only the tokens of this account')
    .action(async (given: string, { account }: { account?: string }) => {
      await withDatabase(config(), 'token revoke', async (db) => {
        const token = await tokenByAnything(db, given, account)
        await revokeToken(db, clock, { accountId: token.account_id, tokenId: token.token_id })
        console.log('Revoked.')
      })
    })
  addListCommand(token, config)
  return token
}

interface CreateOptions {
  name: string
  scopes: string
  days?: string
  cidr: string[]
}

/** Collects the values of an option that can be given several times. */
export const repeated = (value: string, before: readonly string[] = []) => [...before, value]

/** Reads the values of --cidr. @throws ConfigError */
export function readRanges(given: readonly string[]): string[] {
  try {
    return readCidrs(given)
  } catch (error) {
    throw error instanceof ApiError ? new ConfigError(error.message) : error
  }
}

function addListCommand(token: Command, config: ReadConfig): void {
  const list = token
    .command('list')
    .description('list the tokens that are not revoked, newest first')
    .option('--search <text>', 'only those with this in their name')
    .option('--account <account>', 'only the ones of this account')
  paged(list, 'tokens').action(async (options: Page & { search?: string; account?: string }) => {
    await withDatabase(config(), 'token list', async (db) => {
      const tokens = await tokensOf(db, options.account)
      const { search } = options
      const wanted = search === undefined ? tokens : tokens.where(contains(search, 'tokens.name'))
      const { items, total } = await pageOf(wanted.orderBy('token_id', 'desc'), options)
      const rows = items.map((row) => [
        row.token_id,
        row.email,
        row.name,
        row.scopes,
        cidrsOf(row).join(' ') || 'any',
        shortTime(row.expires_at) || 'never',
        shortTime(row.last_used_at) || 'never',
      ])
      printTable(['TOKEN', 'ACCOUNT', 'NAME', 'SCOPES', 'ADDRESSES', 'EXPIRES', 'LAST USED'], rows)
      printMore(options, items.length, total, 'tokens')
    })
  })
}

async function tokensOf(db: Database, account: string | undefined) {
  if (account === undefined) return everyToken(db)
  const { account_id } = await accountByNameOrId(db, account)
  return everyToken(db).where('tokens.account_id', '=', account_id)
}

/** @throws ConfigError if no token matches, or several do */
async function tokenByAnything(db: Database, given: string, account: string | undefined) {
  const hash = hashToken(given)
  const tokens = (await tokensOf(db, account)).orderBy('token_id')
  const isMeant = tokens.where((eb) =>
    eb.or([eb('token_id', '=', given.toLowerCase()), eb('hash', '=', hash)]),
  )
  const found = await isMeant.execute()
  if (found.length === 0)
    found.push(...(await tokens.where('tokens.name', '=', given).limit(NAMED).execute()))
  const [only, ...more] = found
  // A message must not contain a token, since people copy messages.
  const shown = given.startsWith('berth_') ? 'the given token' : given
  if (!only) throw new ConfigError(`No such valid token: ${shown}. List them with: berthd token list`)
  if (more.length === 0) return only
  const ids = found.map(({ token_id, email }) => `${token_id} of ${email}`).join(', ')
  throw new ConfigError(`Several tokens have the name ${given}. Give the id of one: ${ids}.`)
}
