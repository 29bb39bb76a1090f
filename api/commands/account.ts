import { Command } from 'commander'
import { createAccount, listAccounts } from '../accounts/accounts.ts'
import { defaultQuotas, quotasOf } from '../accounts/quotas.ts'
import { everyToken } from '../accounts/tokens.ts'
import { balanceOf, post, ReferenceTaken } from '../billing/ledger.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError, ConfigError } from '../config.ts'
import { formatMoney, parseMoney } from '../money.ts'
import {
  accountByNameOrId,
  printFields,
  printTable,
  type ReadConfig,
  shortTime,
  withDatabase,
} from './operator.ts'

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
  addShowCommand(account, config)
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

function addShowCommand(account: Command, config: ReadConfig): void {
  account
    .command('show')
    .description('show an account: its status, balance, quotas and tokens')
    .argument('<account>', 'e-mail address or id')
    .action(async (given: string) => {
      await withDatabase(config(), 'account show', async (db) => {
        const row = await accountByNameOrId(db, given)
        const tokens = (await everyToken(db)).filter(({ account_id }) => account_id === row.account_id)
        const limits = quotasOf(row.quotas)
        const quota = (name: 'servers' | 'cpu' | 'ram_mb' | 'disk_gb') => {
          const own = limits[name] === defaultQuotas[name] ? '' : ' (its own limit)'
          return [name, `${row[`${name}_used`]} of ${limits[name]}${own}`] as const
        }
        printFields([
          ['account', row.account_id],
          ['e-mail', row.email],
          ['name', row.name],
          ['status', row.status],
          ['created', shortTime(row.created_at)],
          ['balance', `${formatMoney(await balanceOf(db, row.account_id))} RUB`],
          quota('servers'),
          quota('cpu'),
          quota('ram_mb'),
          quota('disk_gb'),
          ['tokens', String(tokens.length)],
        ])
      })
    })
}
