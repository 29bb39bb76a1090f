import { Command, Option } from 'commander'
import { cidrsOf } from '../accounts/view.ts'
import { systemClock as clock } from '../clock.ts'
import { ConfigError } from '../config.ts'
import { operatorScopes } from '../http/contract/auth.ts'
import { createOperatorToken, listOperatorTokens, revokeOperatorToken } from '../operator/tokens.ts'
import { operatorName } from './command-log.ts'
import { type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printTable } from './print.ts'
import { readRanges, repeated } from './token.ts'

const DAY_MS = 24 * 3600_000

export function operatorCommands(config: ReadConfig): Command {
  const operator = new Command('operator').description('let programs of the operator use the API')
  const token = operator.command('token').description("manage tokens for the operator's routes of the API")
  addCreateCommand(token, config)
  token
    .command('list')
    .description('list the tokens that are not revoked')
    .action(async () => {
      await withDatabase(config(), 'operator token list', async (db) => {
        const rows = (await listOperatorTokens(db)).map((row) => [
          row.token_id,
          row.name,
          row.scopes,
          cidrsOf(row).join(' '),
          row.created_by,
          shortTime(row.expires_at),
          shortTime(row.last_used_at) || 'never',
        ])
        printTable(['TOKEN', 'NAME', 'SCOPES', 'ADDRESSES', 'CREATED BY', 'EXPIRES', 'LAST USED'], rows)
      })
    })
  token
    .command('revoke')
    .description('revoke a token immediately')
    .argument('<token>', 'id or name')
    .action(async (given: string) => {
      await withDatabase(config(), 'operator token revoke', async (db) => {
        const all = await listOperatorTokens(db)
        const found = all.filter(({ token_id, name }) => token_id === given.toLowerCase() || name === given)
        const [only, ...more] = found
        if (!only)
          throw new ConfigError(`No such valid token: ${given}. List them with: berthd operator token list`)
        if (more.length > 0)
          throw new ConfigError(
            `Several tokens have the name ${given}. Give the id of one: ${found.map(({ token_id }) => token_id).join(', ')}.`,
          )
        await revokeOperatorToken(db, clock, only.token_id)
        console.log('Revoked.')
      })
    })
  return operator
}

function addCreateCommand(token: Command, config: ReadConfig): void {
  token
    .command('create')
    .description('create a token; it is shown only once')
    .argument('<name>', 'name of the token, such as its purpose')
    .addOption(
      new Option('--scope <scope>', `${operatorScopes.join(', ')} (repeatable)`)
        .argParser(repeated)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--cidr <range>', 'address or range that it may be used from (repeatable)')
        .argParser(repeated)
        .makeOptionMandatory(),
    )
    .option('--days <number>', 'days until it expires, at most 3650', '365')
    .action(async (name: string, options: { scope: string[]; cidr: string[]; days: string }) => {
      const scopes = operatorScopes.filter((scope) => options.scope.includes(scope))
      const unknown = options.scope.filter((given) => !scopes.some((scope) => scope === given))
      if (unknown.length > 0)
        throw new ConfigError(
          `No such scope: ${unknown.join(', ')}. Scopes are ${operatorScopes.join(', ')}.`,
        )
      const days = /^[1-9]\d{0,3}$/.test(options.days) ? Number(options.days) : 0
      if (days === 0 || days > 3650) throw new ConfigError('--days must be a whole number from 1 to 3650.')
      if (!/^[\w.-]{1,60}$/.test(name))
        throw new ConfigError('The name must have 1 to 60 letters, digits, dots, hyphens and underscores.')
      const cidrs = readRanges(options.cidr)
      await withDatabase(config(), 'operator token create', async (db) => {
        const expiresAt = clock.now() + days * DAY_MS
        const createdBy = operatorName()
        const made = await createOperatorToken(db, clock, { name, scopes, cidrs, expiresAt, createdBy })
        console.error(
          `Token ${made.tokenId}, with ${scopes.join(', ')}, for ${days} days. It is shown only once:`,
        )
        console.log(made.value)
      })
    })
}
