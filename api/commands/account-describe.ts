import { Command } from 'commander'
import { systemClock as clock } from '../clock.ts'
import { quotas } from '../features.ts'
import { updateAccount } from '../operator/accounts.ts'
import { AccountUpdate } from '../operator/schema.ts'
import { requireValid } from './checked.ts'
import { accountByNameOrId, type ReadConfig, withDatabase } from './operator.ts'
import { printFields } from './print.ts'

interface Given {
  name?: string
  externalId?: string
  tags?: string
  notes?: string
}

export function describeCommand(config: ReadConfig): Command {
  return new Command('describe')
    .description(
      'set what you keep of an account: its name, your own id of it, tags and notes; what is not given stays, and "" removes it',
    )
    .argument('<account>', 'e-mail address or id')
    .option('--name <name>', 'name of the customer, who sees it')
    .option('--external-id <id>', 'your own id of the account, unique in the installation')
    .option('--tags <words>', 'words of yours, divided by commas, in place of earlier ones')
    .option('--notes <text>', 'notes of yours')
    .action(async (given: string, { name, externalId, tags, notes }: Given) => {
      const change = requireValid<AccountUpdate>(AccountUpdate, {
        ...(name === undefined ? {} : { name }),
        ...(externalId === undefined ? {} : { external_id: externalId || null }),
        ...(tags === undefined ? {} : { tags: tags.split(',').filter((tag) => tag !== '') }),
        ...(notes === undefined ? {} : { notes: notes || null }),
      })
      await withDatabase(config(), 'account describe', async (db) => {
        const { account_id } = await accountByNameOrId(db, given)
        printFields(describedFields(await updateAccount({ db, clock, quotas }, account_id, change)))
      })
    })
}

/** Returns the operator's own tags and notes on an account, for a table. */
export function describedFields(account: {
  name: string
  external_id: string | null
  tags: readonly string[]
  notes: string | null
}): [title: string, value: string][] {
  const { name, external_id, tags, notes } = account
  return [
    ['name', name],
    ['external id', external_id ?? 'none'],
    ['tags', tags.join(', ') || 'none'],
    ['notes', notes ?? 'none'],
  ]
}
