import { Command } from 'commander'
import { listAccounts } from '../accounts/accounts.ts'
import { operatedAddresses } from '../addresses/queries.ts'
import { ipv6Of } from '../addresses/view.ts'
import { reverseName } from '../cidrs.ts'
import type { Database } from '../database/database.ts'
import type { Page } from '../database/page.ts'
import { allServers } from '../servers/queries.ts'
import { paged, printMore } from './listing.ts'
import { accountByNameOrId, type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printTable } from './print.ts'

interface ListOptions extends Page {
  account?: string
  address?: string
  dns?: boolean
}

export function addressCommands(config: ReadConfig): Command {
  const address = new Command('address').description('list the public addresses of all accounts')
  const list = address
    .command('list')
    .description('list public addresses, including recently released ones, newest first')
    .option('--account <account>', 'only the ones of this account')
    .option('--address <address>', 'only this address, with its current and earlier accounts')
    .option('--dns', 'print all reverse DNS names as PTR records, for zone files')
  paged(list, 'addresses').action(async (options: ListOptions) => {
    const { account, address: wanted, dns = false, limit, offset } = options
    await withDatabase(config(), 'address list', async (db) => {
      const owner = account === undefined ? undefined : (await accountByNameOrId(db, account)).account_id
      const found = (await addressesOf(db, owner)).filter(
        (row) => wanted === undefined || wanted === row.address || wanted === ipv6Of(row.address),
      )
      if (dns) return printRecords(found)
      const rows = found
        .slice(offset, offset + limit)
        .map((row) => [
          row.address,
          row.account,
          row.zone_slug,
          row.server ?? '',
          shortTime(row.created_at),
          shortTime(row.released_at),
          row.reverse_dns ?? '',
        ])
      printTable(['ADDRESS', 'ACCOUNT', 'ZONE', 'SERVER', 'SINCE', 'UNTIL', 'REVERSE DNS'], rows)
      printMore(options, rows.length, found.length, 'addresses')
    })
  })
  return address
}

/** Prints a line for each held address with a name; for a /64, the line shows the server's own address. */
function printRecords(rows: Awaited<ReturnType<typeof addressesOf>>): void {
  for (const { address, released_at, reverse_dns } of rows)
    if (released_at === null && reverse_dns !== null)
      console.log(`${reverseName(ipv6Of(address) ?? address)} 3600 IN PTR ${reverse_dns}.`)
}

async function addressesOf(db: Database, owner: string | undefined) {
  const accounts = new Map((await listAccounts(db)).map((account) => [account.account_id, account.email]))
  let wanted = operatedAddresses(db, allServers).orderBy('address_id', 'desc')
  if (owner !== undefined) wanted = wanted.where('addresses.account_id', '=', owner)
  const rows = await wanted.execute()
  return rows.map((row) => ({ ...row, account: accounts.get(row.account_id) ?? row.account_id }))
}
