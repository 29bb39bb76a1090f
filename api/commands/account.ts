import { Argument, Command, Option } from 'commander'
import { changeQuotas, changeSmtp, createAccount, searchAccounts } from '../accounts/accounts.ts'
import { countUse, explainedLimits, type Limit } from '../accounts/quotas.ts'
import type { AccountTable } from '../accounts/tables.ts'
import { tokenQuota } from '../accounts/tokens.ts'
import { ownPrices } from '../accounts/view.ts'
import { balanceOf, ledgersOf, paidBy, ReferenceTaken } from '../billing/ledger.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError, ConfigError } from '../config.ts'
import { listAudit } from '../events/audit.ts'
import { quotas } from '../features.ts'
import { formatMoney, parseMoney } from '../money.ts'
import { book, changeCreditLimit, FREEZE, moveStatus, tagsOf } from '../operator/accounts.ts'
import { CreditLimitChange } from '../operator/schema.ts'
import { canonicalEmail } from '../people/person/people.ts'
import { describeCommand, describedFields } from './account-describe.ts'
import { exportCommand } from './account-export.ts'
import { pricesCommand } from './account-prices.ts'
import { requireValid } from './checked.ts'
import { closeCommand } from './close.ts'
import { addDocumentCommands } from './document.ts'
import { paged, printMore, wholeNumber } from './listing.ts'
import { accountByEmail, accountByNameOrId, type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printFields, printTable } from './print.ts'

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
        const known = await accountByEmail(db, email)
        const account = { email: canonicalEmail(email), name: name || email }
        const id = known ? null : await createAccount(db, clock, account)
        if (!id) throw new ConfigError(`The account ${known?.email ?? email} already exists.`)
        console.log(id)
      })
    })
  addListCommand(account, config)
  addShowCommand(account, config)
  addAuditCommand(account, config)
  addCreditCommand(account, config)
  for (const change of statusChanges) addStatusCommand(account, config, change)
  account.addCommand(closeCommand(config))
  account.addCommand(exportCommand(config))
  addSmtpCommand(account, config)
  addQuotaCommand(account, config)
  account.addCommand(pricesCommand(config))
  account.addCommand(describeCommand(config))
  addCreditLimitCommand(account, config)
  addDocumentCommands(account, config)
  return account
}

function addListCommand(account: Command, config: ReadConfig): void {
  const list = account
    .command('list')
    .description('list accounts with their balances, newest first')
    .option('--search <text>', 'only those with this in their e-mail address or name, or with this id')
    .option('--external-id <id>', 'only the one with this id of your own')
    .option('--tag <word>', 'only those with this tag of yours')
    .addOption(
      new Option('--status <status>', 'only those').choices(['active', 'suspended', 'closed'] as const),
    )
  paged(list, 'accounts').action(
    async (options: {
      search?: string
      externalId?: string
      tag?: string
      status?: 'active' | 'suspended' | 'closed'
      limit: number
      offset: number
    }) => {
      await withDatabase(config(), 'account list', async (db) => {
        const wanted = { ...options, external_id: options.externalId }
        const { items, total } = await searchAccounts(db, wanted, options)
        const ledgers = await ledgersOf(
          db,
          items.map((row) => row.account_id),
        )
        const rows = items.map(({ account_id, email, status }) => [
          account_id,
          email,
          status,
          `${formatMoney(ledgers.get(account_id)?.balance ?? 0)} RUB`,
        ])
        printTable(['ACCOUNT', 'E-MAIL', 'STATUS', 'BALANCE'], rows)
        printMore(options, items.length, total, 'accounts')
      })
    },
  )
}

function addCreditCommand(account: Command, config: ReadConfig): void {
  account
    .command('credit')
    .description("credit an account's balance, or debit it with a negative amount")
    .argument('<account>', 'e-mail address or id')
    .argument('<rubles>', 'such as 500 or 499.90')
    .requiredOption('--reason <text>', 'description that the customer sees')
    .option(
      '--reference <text>',
      'payment reference, unique in the installation; a repeated one is booked only once',
    )
    .addOption(
      new Option(
        '--type <type>',
        'payment (default for credits; negative: a chargeback) or correction (default for debits; positive: a gift, which does not count as a payment)',
      ).choices(['payment', 'correction'] as const),
    )
    .action(
      async (
        given: string,
        rubles: string,
        options: { reason: string; reference?: string; type?: 'payment' | 'correction' },
      ) => {
        const amount = amountOf(rubles)
        const { reason, reference, type = amount < 0 ? 'correction' : 'payment' } = options
        await withDatabase(config(), 'account credit', async (db) => {
          const { account_id } = await accountByNameOrId(db, given)
          const entry = { accountId: account_id, type, amount, description: reason, reference }
          const { isNew } = await book({ db, clock }, entry).catch((error: unknown) => {
            if (!(error instanceof ReferenceTaken)) throw error
            throw new CommandError(`Nothing changed: ${error.message}.`)
          })
          const done = amount < 0 ? 'Debited' : 'Credited'
          console.log(
            `${isNew ? done : 'Nothing changed: this reference is already booked'}. Balance: ${formatMoney(await balanceOf(db, account_id))} RUB`,
          )
        })
      },
    )
}

function addCreditLimitCommand(account: Command, config: ReadConfig): void {
  account
    .command('credit-limit')
    .description('let an account owe an amount before its servers are suspended; 0: it pays in advance')
    .argument('<account>', 'e-mail address or id')
    .argument('<rubles>', 'such as 5000 or 0')
    .requiredOption('--reason <text>', 'reason, which the customer sees in the events of the account')
    .action(async (given: string, rubles: string, { reason }: { reason: string }) => {
      const body = requireValid(CreditLimitChange, { credit_limit_rub: rubles, reason })
      await withDatabase(config(), 'account credit-limit', async (db) => {
        const { account_id } = await accountByNameOrId(db, given)
        const { credit_limit, balance } = await changeCreditLimit({ db, clock, quotas }, account_id, body)
        printFields([
          ['credit limit', `${credit_limit} RUB`],
          ['balance', `${balance} RUB`],
        ])
      })
    })
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
    .description('show an account: its status, balance, payments, quotas and tokens')
    .argument('<account>', 'e-mail address or id')
    .action(async (given: string) => {
      await withDatabase(config(), 'account show', async (db) => {
        const row = await accountByNameOrId(db, given)
        const limits = await explainedLimits(db, row, quotas)
        const paid = await paidBy(db, row.account_id)
        const quota = (name: 'servers' | 'cpu' | 'ram_mb' | 'disk_gb') => {
          return [name, `${row[`${name}_used`]} of ${inWords(limits[name])}`] as const
        }
        printFields([
          ['account', row.account_id],
          ['e-mail', row.email],
          ...describedFields({ ...row, tags: tagsOf(row) }),
          ['status', statusOf(row)],
          ['created', shortTime(row.created_at)],
          ['balance', `${formatMoney(await balanceOf(db, row.account_id))} RUB`],
          ['paid', paid > 0 ? `${formatMoney(paid)} RUB` : 'none: smaller quotas, and no grace period'],
          quota('servers'),
          quota('cpu'),
          quota('ram_mb'),
          quota('disk_gb'),
          ['prices', pricesOf(row)],
          ['outgoing mail', row.is_smtp_open === 1 ? 'open' : 'closed'],
          ['tokens', String(await countUse(db, row.account_id, tokenQuota))],
        ])
      })
    })
}

/** Describes a limit with its reason, and the sum that raises it. */
function inWords(given: Limit | undefined): string {
  if (!given) return 'none'
  const { limit, reason, next } = given
  const own = reason === 'own' ? ['set for this account'] : []
  const raised = next ? [`${next.limit} once ${formatMoney(next.paid)} RUB is paid`] : []
  const notes = [...own, ...raised]
  return notes.length > 0 ? `${limit} (${notes.join(', ')})` : String(limit)
}

function stateOf({ status, frozen_at }: Pick<AccountTable, 'status' | 'frozen_at'>): string {
  return frozen_at === null ? status : 'frozen'
}

function statusOf(row: AccountTable): string {
  const { status_reason, status_since } = row
  const since = status_since === null ? '' : ` since ${shortTime(status_since)}`
  return `${stateOf(row)}${since}${status_reason === null ? '' : `: ${status_reason}`}`
}

/** Returns a text such as "-10%, nano 99.00 RUB". */
function pricesOf(row: AccountTable): string {
  const { price_percent: percent, preset_prices_rub: presets } = ownPrices(row)
  const own = Object.entries(presets).map(([slug, price]) => `${slug} ${price} RUB`)
  return [...(percent === 0 ? [] : [`${percent}%`]), ...own].join(', ') || 'those of the catalogue'
}

function addAuditCommand(account: Command, config: ReadConfig): void {
  account
    .command('audit')
    .description('list the changes in an account, newest first, with the actor and the process of each')
    .argument('<account>', 'e-mail address or id')
    .addOption(wholeNumber('--limit <number>', 'number of entries', 1).default(50))
    .action(async (given: string, { limit }: { limit: number }) => {
      await withDatabase(config(), 'account audit', async (db) => {
        const { account_id } = await accountByNameOrId(db, given)
        const { items } = await listAudit(db, account_id, { limit, offset: 0 })
        const rows = items.map((entry) => [
          shortTime(entry.created_at),
          entry.action,
          entry.object_id ?? '',
          entry.amount === null ? '' : formatMoney(entry.amount),
          entry.person_email ?? entry.token_id ?? '',
          entry.address ?? '',
          entry.process ?? '',
          entry.request_id,
        ])
        printTable(['TIME', 'ACTION', 'OBJECT', 'AMOUNT', 'BY', 'ADDRESS', 'PROCESS', 'REQUEST'], rows)
      })
    })
}

const statusChanges = [
  {
    name: 'suspend',
    summary:
      'suspend an account: its servers are stopped, and it can only read, stop, delete, pay and answer complaints',
    from: ['active'],
    to: 'suspended',
  },
  {
    name: 'freeze',
    summary:
      'freeze an account as evidence: its servers are powered off, its tokens and members are refused, nothing is deleted',
    ...FREEZE,
  },
  {
    name: 'resume',
    summary:
      'resume a suspended, frozen or closed account: start the servers that this stopped, and keep those that would be deleted',
    from: ['suspended', 'closed'],
    to: 'active',
  },
] as const

function addStatusCommand(
  account: Command,
  config: ReadConfig,
  change: (typeof statusChanges)[number],
): void {
  account
    .command(change.name)
    .description(`${change.summary}; takes effect within 5 seconds`)
    .argument('<account>', 'e-mail address or id')
    .requiredOption('--reason <text>', 'reason, which the customer sees in the events of the account')
    .action(async (given: string, { reason }: { reason: string }) => {
      await withDatabase(config(), `account ${change.name}`, async (db) => {
        const { account_id: id, email, ...before } = await accountByNameOrId(db, given)
        const isChanged = await db.transaction().execute(async (tx) => {
          return moveStatus({ db: tx, clock, quotas }, id, { ...change, reason })
        })
        if (!isChanged) throw new CommandError(`Nothing changed: ${email} is ${stateOf(before)}.`)
        console.log(`${email} is ${change.name === 'freeze' ? 'frozen' : change.to}.`)
      })
    })
}

function addSmtpCommand(account: Command, config: ReadConfig): void {
  account
    .command('smtp')
    .description('open or close outgoing mail (port 25) to the servers of an account; within 10 seconds')
    .argument('<account>', 'e-mail address or id')
    .addArgument(new Argument('<state>', 'the state to set').choices(['open', 'closed']))
    .requiredOption('--reason <text>', 'reason, which the customer sees in the events of the account')
    .action(async (given: string, state: string, { reason }: { reason: string }) => {
      await withDatabase(config(), 'account smtp', async (db) => {
        const { account_id, email } = await accountByNameOrId(db, given)
        const isChanged = await changeSmtp({ db, clock, quotas }, account_id, {
          isOpen: state === 'open',
          reason,
        })
        console.log(`Outgoing mail of ${email} is ${state}${isChanged ? '' : ' already'}.`)
      })
    })
}

function addQuotaCommand(account: Command, config: ReadConfig): void {
  account
    .command('quota')
    .description('set limits for one account, such as servers=5 cpu=16')
    .argument('<account>', 'e-mail address or id')
    .argument('<limits...>', `name=number, or name=default; names are ${quotaNames.join(', ')}`)
    .requiredOption('--reason <text>', 'reason, which the customer sees in the events of the account')
    .action(async (given: string, limits: string[], { reason }: { reason: string }) => {
      const change = Object.fromEntries(limits.map(limitOf))
      await withDatabase(config(), 'account quota', async (db) => {
        const { account_id } = await accountByNameOrId(db, given)
        const limits = await changeQuotas({ db, clock, quotas }, account_id, { change, reason })
        printFields(quotas.map(({ name }) => [name, String(limits[name])]))
      })
    })
}

const quotaNames = quotas.map(({ name }) => name)

/** @throws ConfigError */
function limitOf(text: string): [name: string, limit: number | null] {
  const [, given = '', limit = ''] = /^(\w+)=(\d{1,9}|default)$/.exec(text) ?? []
  const name = quotaNames.find((candidate) => candidate === given)
  if (!name)
    throw new ConfigError(
      `"${text}" is not a limit: give ${quotaNames.join(', ')} as in servers=5 or cpu=default.`,
    )
  return [name, limit === 'default' ? null : Number(limit)]
}
