import { Command } from 'commander'
import { listAccounts } from '../accounts/accounts.ts'
import { operatedAddresses } from '../addresses/queries.ts'
import { ipv6Of } from '../addresses/view.ts'
import { reverseName } from '../cidrs.ts'
import type { Database } from '../database/database.ts'
import { allServers } from '../servers/queries.ts'
import { accountByNameOrId, type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printTable } from './print.ts'

interface ListOptions {
  account?: string
  address?: string
  dns?: boolean
}

export function addressCommands(config: ReadConfig): Command {
  const address = new Command('address').description('list the public addresses of all accounts')
  address
    .command('list')
    .description('list public addresses, including recently released ones')
    .option('--account <account>', 'only the ones of this account')
    .option('--address <address>', 'only this address, with its current and earlier accounts')
    .option('--dns', 'print the reverse DNS names as PTR records, for zone files')
    .action(async ({ account, address: wanted, dns = false }: ListOptions) => {
      await withDatabase(config(), 'address list', async (db) => {
        const owner = account === undefined ? undefined : (await accountByNameOrId(db, account)).account_id
        const rows = (await addressesOf(db))
          .filter((row) => owner === undefined || row.account_id === owner)
          .filter((row) => wanted === undefined || wanted === row.address || wanted === ipv6Of(row.address))
        if (dns) printRecords(rows)
        else
          printTable(
            ['ADDRESS', 'ACCOUNT', 'ZONE', 'SERVER', 'SINCE', 'UNTIL', 'REVERSE DNS'],
            rows.map((row) => [
              row.address,
              row.account,
              row.zone_slug,
              row.server ?? '',
              shortTime(row.created_at),
              shortTime(row.released_at),
              row.reverse_dns ?? '',
            ]),
          )
      })
    })
  return address
}

/** Prints a line for each held address with a name; for a /64 it has the address of its server. */
function printRecords(rows: Awaited<ReturnType<typeof addressesOf>>): void {
  for (const { address, released_at, reverse_dns } of rows)
    if (released_at === null && reverse_dns !== null)
      console.log(`${reverseName(ipv6Of(address) ?? address)} 3600 IN PTR ${reverse_dns}.`)
}

async function addressesOf(db: Database) {
  const accounts = new Map((await listAccounts(db)).map((account) => [account.account_id, account.email]))
  const rows = await operatedAddresses(db, allServers).orderBy('address_id').execute()
  return rows.map((row) => ({ ...row, account: accounts.get(row.account_id) ?? row.account_id }))
}
