import { createInterface } from 'node:readline/promises'
import { Command } from 'commander'
import { changeStatus } from '../accounts/accounts.ts'
import { balanceOf } from '../billing/ledger.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError, ConfigError } from '../config.ts'
import { quotas } from '../features.ts'
import { formatMoney } from '../money.ts'
import { operatedServers } from '../servers/queries.ts'
import { CLOSED_DAYS } from '../servers/suspension.ts'
import { exportAccount } from './account-export.ts'
import { accountByNameOrId, type ReadConfig, withDatabase } from './operator.ts'

interface CloseOptions {
  reason: string
  deleteServers: boolean
  force: boolean
  yes: boolean
  export?: string
}

/** The number of servers that are named in a message. */
const NAMED = 20

export function closeCommand(config: ReadConfig): Command {
  return new Command('close')
    .description(
      `close an account: it can only read, and its servers stop within 5 seconds and are deleted after ${CLOSED_DAYS} days; until then berthd account resume undoes this`,
    )
    .argument('<account>', 'e-mail address or id')
    .requiredOption('--reason <text>', 'reason, which the customer sees in the events of the account')
    .option('--delete-servers', 'required if it has servers: they are deleted with their disks', false)
    .option('--force', 'delete servers with delete protection, too', false)
    .option(
      '--export <file>',
      'write what is kept of it into a new file first, as berthd account export does',
    )
    .option('-y, --yes', 'do not prompt for the address', false)
    .action(async (given: string, options: CloseOptions) => {
      const { reason, deleteServers, force, yes, export: file } = options
      await withDatabase(config(), 'account close', async (db) => {
        const { account_id: id, email, status, frozen_at } = await accountByNameOrId(db, given)
        if (status === 'closed') throw new CommandError(`Nothing changed: ${email} is closed.`)
        if (frozen_at !== null)
          throw new CommandError(`Nothing changed: ${email} is frozen. Resume it first.`)
        const servers = await operatedServers(db).where('account_id', '=', id).orderBy('name').execute()
        if (servers.length > 0 && !deleteServers)
          throw new CommandError(
            `${email} has servers: ${namesOf(servers)}. Delete them first, or give --delete-servers: they are deleted after ${CLOSED_DAYS} days, and their disks are lost.`,
          )
        const kept = servers.filter(({ delete_protection }) => delete_protection === 1)
        if (kept.length > 0 && !force)
          throw new CommandError(
            `These servers of ${email} have delete protection: ${namesOf(kept)}. Ask the customer, or give --force to delete them as well.`,
          )
        console.log(`Balance of ${email}: ${formatMoney(await balanceOf(db, id))} RUB.`)
        console.log(`Servers: ${servers.length === 0 ? 'none' : namesOf(servers)}.`)
        if (!yes) await confirm(email)
        if (file !== undefined)
          console.log(`${email} is in ${file}: ${await exportAccount(db, id, file)} lines.`)
        const change = { from: ['active', 'suspended'], to: 'closed', reason } as const
        if (!(await changeStatus({ db, clock, quotas }, id, change)))
          throw new CommandError(`Nothing changed: ${email} is closed.`)
        console.log(`${email} is closed.`)
        if (servers.length > 0)
          console.log(
            `Its servers stop within 5 seconds, and are deleted after ${CLOSED_DAYS} days. To undo this until then: berthd account resume ${email} --reason …`,
          )
      })
    })
}

/** Returns a text such as "db-1 (protected), web-1". */
function namesOf(servers: readonly { name: string; delete_protection: number }[]): string {
  const names = servers
    .slice(0, NAMED)
    .map(({ name, delete_protection }) => (delete_protection === 1 ? `${name} (protected)` : name))
  const more = servers.length - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** @throws ConfigError if the operator does not type the word */
async function confirm(word: string): Promise<void> {
  if (!process.stdin.isTTY)
    throw new ConfigError('Nothing changed: there is no terminal to confirm on. Give --yes.')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const interrupted = new Promise<string>((resolve) => terminal.once('SIGINT', () => resolve('')))
    const typed = await Promise.race([terminal.question(`Type ${word} to confirm: `), interrupted])
    if (typed.trim() !== word) throw new ConfigError('Canceled: nothing changed.')
  } finally {
    terminal.close()
  }
}
