import { Command, Option } from 'commander'
import { kindNames, type SignKind } from '../abuse/kinds.ts'
import { listSigns } from '../abuse/signs.ts'
import { addComplaintCommands } from './complaint.ts'
import { paged, printMore } from './listing.ts'
import { accountByNameOrId, type ReadConfig, withDatabase } from './operator.ts'
import { printTable } from './print.ts'

interface Given {
  kind?: SignKind
  account?: string
  limit: number
  offset: number
}

export function abuseCommands(config: ReadConfig): Command {
  const abuse = new Command('abuse').description('show signs of abuse, and open and close complaints')
  const list = abuse
    .command('list')
    .description('list signs of abuse of all accounts, those seen last first')
    .addOption(new Option('--kind <kind>', 'only signs of this kind').choices(kindNames))
    .option('--account <account>', 'only signs about this account')
  paged(list, 'signs').action(async ({ kind, account, ...page }: Given) => {
    await withDatabase(config(), 'abuse list', async (db) => {
      const accountId = account === undefined ? undefined : (await accountByNameOrId(db, account)).account_id
      const { items, total } = await listSigns(db, { kind, account_id: accountId }, page)
      const rows = items.map((sign) => [
        sign.kind,
        sign.server_id ?? sign.network ?? '',
        sign.accounts.map(({ email, is_frozen }) => (is_frozen ? `${email} (frozen)` : email)).join(' '),
        ...[sign.since, sign.last_seen_at].map((time) => `${time.slice(0, 19).replace('T', ' ')}Z`),
        ...[String(sign.figure), String(sign.peak), sign.unit, sign.remedy],
      ])
      printTable(['KIND', 'ABOUT', 'ACCOUNTS', 'SINCE', 'SEEN', 'FIGURE', 'PEAK', 'UNIT', 'REMEDY'], rows)
      printMore(page, items.length, total, 'signs')
    })
  })
  addComplaintCommands(abuse, config)
  return abuse
}
