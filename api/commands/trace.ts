import { isIP } from 'node:net'
import { Command } from 'commander'
import { listAccounts } from '../accounts/accounts.ts'
import { addressesAt } from '../addresses/queries.ts'
import { ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { findOutgoing } from '../drivers/outgoing.ts'
import { portsAt } from '../ports/ended.ts'
import { allServers } from '../servers/queries.ts'
import { type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printTable } from './print.ts'

const NOT_FOUND =
  'No server had this address or port at that time, and no connection to or from it is recorded. If a guest connected from this address, run trace with the address and port that it connected to.'
const NO_RECORD =
  'This data folder has no record of connections out: run trace on the machine that the servers are on. Servers on Incus, and those whose network has no firewalls (the banner says so), are not recorded.'

export function traceCommand(config: ReadConfig): Command {
  return new Command('trace')
    .description(
      'find whose a public address, or a published port of this host, was at a time, up to 90 days back; or which servers had connected by the address of this host: from a port of it, or to an address elsewhere. For a service that is not root, source ports are known of UDP only',
    )
    .argument(
      '<address>',
      'public IPv4 or IPv6 address of a server or of this host, or the one that was connected to',
    )
    .argument('<port>', 'port at that address')
    .argument('<time>', 'time with its zone, such as 2026-11-24T12:00:00Z')
    .option('--source-port <port>', 'port of this host that the connection came from')
    .action(async (given: string, port: string, time: string, options: { sourcePort?: string }) => {
      if (isIP(given) === 0) throw new ConfigError(`"${given}" is not an IP address.`)
      const sourcePort = options.sourcePort === undefined ? null : portOf(options.sourcePort)
      const at = /(Z|[+-]\d\d:\d\d)$/.test(time) ? Date.parse(time) : Number.NaN
      if (Number.isNaN(at))
        throw new ConfigError(`"${time}" is not a time with its zone, such as 2026-11-24T12:00:00Z.`)
      const question = { address: given, port: portOf(port), sourcePort, at, dataDir: config().dataDir }
      await withDatabase(config(), 'trace', async (db) => {
        const { found, isRecorded } = await traced(db, question)
        if (found.length > 0)
          printTable(['WHAT', 'ACCOUNT', 'SERVER', 'NAME', 'SINCE', 'UNTIL'], found.map(lineOf))
        else console.log(NOT_FOUND)
        if (!isRecorded) console.log(NO_RECORD)
      })
    })
}

function portOf(given: string): number {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : 0
  if (port < 1 || port > 65_535)
    throw new ConfigError(`"${given}" is not a port: it must be from 1 to 65535.`)
  return port
}

type Traced = Awaited<ReturnType<typeof traced>>['found'][number]

const lineOf = ({ what, account, server_id, name, since, until }: Traced) => [
  ...[what, account, server_id ?? '', name ?? ''],
  ...[shortTime(since), shortTime(until)],
]

interface Question {
  address: string
  port: number
  /** The port of this host that a connection came from; null: any. */
  sourcePort: number | null
  at: number
  dataDir: string
}

/**
 * Finds the accounts that had an address at a moment, or its port if the address was shared, and the accounts
 * that connected to it.
 */
export async function traced(db: Database, { address, port, sourcePort, at, dataDir }: Question) {
  const own = (await addressesAt(db, address, at)).map((row) => ({
    ...{ what: row.address, account_id: row.account_id, server_id: row.server_id },
    ...{ since: row.created_at, until: row.released_at },
  }))
  const isOwn = own.length > 0
  const ports = isOwn || sourcePort !== null ? [] : await portsAt(db, port, at)
  const sent = isOwn ? [] : await findOutgoing(dataDir, { address, port, sourcePort, at })
  const found = [
    ...own,
    ...ports.map(({ account_id, server_id, protocol, created_at, ended_at }) => {
      return { what: `${port}/${protocol}`, account_id, server_id, since: created_at, until: ended_at }
    }),
    ...(sent ?? []).map(({ serverId, what, since, until }) => {
      return { what, account_id: null, server_id: serverId, since, until }
    }),
  ]
  const emails = new Map((await listAccounts(db)).map((row) => [row.account_id, row.email]))
  const ids = found.flatMap(({ server_id }) => server_id ?? [])
  const servers =
    ids.length === 0
      ? []
      : await allServers(db)
          .select('account_id')
          .where('server_id', 'in', [...new Set(ids)])
          .execute()
  const rows = found.map(({ account_id, ...row }) => {
    const server = servers.find(({ server_id }) => server_id === row.server_id)
    const id = account_id ?? server?.account_id ?? ''
    return { ...row, account: emails.get(id) ?? id, name: server?.name ?? null }
  })
  return { found: rows, isRecorded: sent !== null }
}
