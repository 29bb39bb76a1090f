import { isIP } from 'node:net'
import { Command } from 'commander'
import { listAccounts } from '../accounts/accounts.ts'
import { addressesAt } from '../addresses/queries.ts'
import { ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { portsAt } from '../ports/ended.ts'
import { allServers } from '../servers/queries.ts'
import { type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printTable } from './print.ts'

export function traceCommand(config: ReadConfig): Command {
  return new Command('trace')
    .description(
      'find whose a public address, or a published port of this host, was at a time, up to 90 days back; connections of guests that went out by the address of this host are not recorded',
    )
    .argument('<address>', 'public IPv4 or IPv6 address that was seen')
    .argument('<port>', 'port that was seen at that address')
    .argument('<time>', 'time with its zone, such as 2026-11-24T12:00:00Z')
    .action(async (address: string, given: string, time: string) => {
      if (isIP(address) === 0) throw new ConfigError(`"${address}" is not an IP address.`)
      const port = /^\d{1,5}$/.test(given) ? Number(given) : 0
      if (port < 1 || port > 65_535)
        throw new ConfigError(`"${given}" is not a port: it must be from 1 to 65535.`)
      const at = /(Z|[+-]\d\d:\d\d)$/.test(time) ? Date.parse(time) : Number.NaN
      if (Number.isNaN(at))
        throw new ConfigError(`"${time}" is not a time with its zone, such as 2026-11-24T12:00:00Z.`)
      await withDatabase(config(), 'trace', async (db) => {
        const found = await traced(db, { address, port, at })
        if (found.length > 0)
          printTable(['WHAT', 'ACCOUNT', 'SERVER', 'NAME', 'SINCE', 'UNTIL'], found.map(lineOf))
        else
          console.log(
            'No server had this address or port at that time. If a guest connected from there by the address of this host, it was not recorded: ask for the address that it connected to, and compare the traffic of the servers.',
          )
      })
    })
}

type Traced = Awaited<ReturnType<typeof traced>>[number]

const lineOf = ({ what, account, server_id, name, since, until }: Traced) => [
  ...[what, account, server_id ?? '', name ?? ''],
  ...[shortTime(since), shortTime(until)],
]

/** Finds the accounts that had an address at a moment or, if it was nobody's own, the port of this host. */
export async function traced(
  db: Database,
  { address, port, at }: { address: string; port: number; at: number },
) {
  const own = (await addressesAt(db, address, at)).map((row) => ({
    ...{ what: row.address, account_id: row.account_id, server_id: row.server_id },
    ...{ since: row.created_at, until: row.released_at },
  }))
  const ports = own.length > 0 ? [] : await portsAt(db, port, at)
  const found = [
    ...own,
    ...ports.map(({ account_id, server_id, protocol, created_at, ended_at }) => {
      return { what: `${port}/${protocol}`, account_id, server_id, since: created_at, until: ended_at }
    }),
  ]
  const emails = new Map((await listAccounts(db)).map((row) => [row.account_id, row.email]))
  const ids = found.flatMap(({ server_id }) => server_id ?? [])
  const servers = ids.length === 0 ? [] : await allServers(db).where('server_id', 'in', ids).execute()
  return found.map(({ account_id, ...row }) => ({
    ...row,
    account: emails.get(account_id) ?? account_id,
    name: servers.find(({ server_id }) => server_id === row.server_id)?.name ?? null,
  }))
}
