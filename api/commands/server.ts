import { Command } from 'commander'
import { sql } from 'kysely'
import pino from 'pino'
import { listAccounts } from '../accounts/accounts.ts'
import { refuseFrozen } from '../accounts/status.ts'
import { type App, buildApp } from '../app.ts'
import { hostOf as hostOfZone } from '../catalog/file.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { contains, type Page, pageOf } from '../database/page.ts'
import { Drivers } from '../drivers/drivers.ts'
import { defaultModule, poolsPerZone } from '../drivers/modules/modules.ts'
import { moveNumbers } from '../hcloud/numbers.ts'
import { ApiError } from '../http/contract/problem.ts'
import { ownerOf } from '../operator/servers.ts'
import { moveServer } from '../servers/moving.ts'
import { billedItems, operatedServers } from '../servers/queries.ts'
import { serverProblems } from '../servers/schema.ts'
import { hold } from '../servers/suspension.ts'
import { catalogInForce } from './catalog.ts'
import { isServed, openSecrets } from './installation.ts'
import { NAMED, paged, printMore, wholeNumber } from './listing.ts'
import { openVault } from './offsite.ts'
import { accountByNameOrId, type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printFields, printTable } from './print.ts'
import { publicHost } from './public-name.ts'
import { addImport } from './server-import.ts'

type Order = 'start' | 'stop' | 'delete'

export function serverCommands(config: ReadConfig): Command {
  const server = new Command('server').description('list and operate the servers of all accounts')
  addListCommand(server, config)
  server
    .command('show')
    .description('show a server of any account')
    .argument('<server>', 'id, or a name that only one server has')
    .action(async (given: string) => {
      const parsed = config()
      await withDatabase(parsed, 'server show', async (db) => {
        const row = await serverByNameOrId(db, parsed, given)
        printFields([
          ['server', row.server_id],
          ['name', row.name],
          ['account', `${row.account} (${row.account_id})`],
          ['status', row.status_reason === null ? row.status : `${row.status} (${row.status_reason})`],
          ['zone', row.zone_slug],
          ['size', `${row.cpu} cores, ${row.ram_mb} MB of RAM, ${row.disk_gb} GB of disk`],
          ['ssh', row.address],
          ['created', shortTime(row.created_at)],
        ])
      })
    })
  addOrder(server, config, 'start', 'start a server')
  addOrder(
    server,
    config,
    'stop',
    'stop a server',
    'turn it off immediately instead of asking the guest to shut down',
  )
  addHold(server, config, 'suspend', 'suspend one server; its owner sees the reason, and can only delete it')
  addHold(server, config, 'resume', 'resume a server that was suspended by itself')
  addMove(server, config)
  addOrder(server, config, 'delete', 'delete a server and its disk', 'even if it has delete protection')
  addImport(server, config)
  return server
}

interface ListOptions extends Page {
  search?: string
  account?: string
  sshPort?: number
  status?: string
}

function addListCommand(server: Command, config: ReadConfig): void {
  const list = server
    .command('list')
    .description('list the servers of all accounts with their SSH ports, newest first')
    .option('--search <text>', 'only those with this in their name')
    .option('--account <account>', 'only the ones of this account')
    .addOption(wholeNumber('--ssh-port <port>', 'only the server with this SSH port', 1))
    .option('--status <status>', 'only those, such as error')
  paged(list, 'servers').action(async (options: ListOptions) => {
    const { search, account, sshPort, status } = options
    const parsed = config()
    await withDatabase(parsed, 'server list', async (db) => {
      let wanted = operatedServers(db).orderBy('server_id', 'desc')
      if (search !== undefined) wanted = wanted.where(contains(search, 'name'))
      if (account !== undefined)
        wanted = wanted.where('account_id', '=', (await accountByNameOrId(db, account)).account_id)
      if (sshPort !== undefined) wanted = wanted.where('ssh_port', '=', sshPort)
      if (status !== undefined) wanted = wanted.where(sql<boolean>`status = ${status}`)
      const { items, total } = await pageOf(wanted, options)
      const rows = (await described(db, parsed, items)).map((row) => [
        ...[row.server_id, row.name, row.account, row.status, row.zone_slug, row.address],
      ])
      printTable(['SERVER', 'NAME', 'ACCOUNT', 'STATUS', 'ZONE', 'SSH'], rows)
      printMore(options, items.length, total, 'servers')
    })
  })
}

/** Adds a command that writes an operation like any other, which the service carries out. */
function addOrder(server: Command, config: ReadConfig, order: Order, summary: string, forced?: string): void {
  const command = server
    .command(order)
    .description(`${summary} of any account, also while the service is running`)
    .argument('<server>', 'id, or a name that only one server has')
  if (forced !== undefined) command.option('--force', forced)
  command.action(async (given: string, { force = false }: { force?: boolean }) => {
    const parsed = config()
    const isRunning = await isServed(parsed)
    await withDatabase(parsed, `server ${order}`, async (db) => {
      const row = await serverByNameOrId(db, parsed, given)
      const app = await operatorsApp(db, parsed)
      const operation = await ordered(app, db, { order, force, server: row })
      console.log(`Operation ${operation.operation_id}: ${order} of ${row.name}, a server of ${row.account}.`)
      console.log(
        isRunning
          ? 'The running service starts it within 5 seconds.'
          : 'The service is not running; it will run the operation after its next start.',
      )
    })
  })
}

function addHold(server: Command, config: ReadConfig, name: 'suspend' | 'resume', summary: string): void {
  server
    .command(name)
    .description(`${summary}; also while the service is running`)
    .argument('<server>', 'id, or a name that only one server has')
    .requiredOption('--reason <text>', 'reason, which the customer sees')
    .action(async (given: string, { reason }: { reason: string }) => {
      const parsed = config()
      await withDatabase(parsed, `server ${name}: ${reason}`, async (db) => {
        const row = await serverByNameOrId(db, parsed, given)
        const { engine } = await operatorsApp(db, parsed)
        await hold({ db, clock, engine }, row.server_id, name === 'suspend' ? reason : null)
        console.log(`${row.name}, a server of ${row.account}: ${name} takes effect within 5 seconds.`)
      })
    })
}

function addMove(server: Command, config: ReadConfig): void {
  server
    .command('move')
    .description(
      'move a stopped server, with its ports, addresses, snapshots and backups, to another account; also while the service is running',
    )
    .argument('<server>', 'id, or a name that only one server has')
    .requiredOption('--account <account>', 'the account that gets it, and pays for it from then on')
    .option('--project <id>', "a project of that account (default: the account's default project)")
    .requiredOption('--reason <text>', 'reason, which both customers see in their audits')
    .action(async (given: string, options: { account: string; project?: string; reason: string }) => {
      const { project: project_id, reason } = options
      const parsed = config()
      await withDatabase(parsed, `server move: ${reason}`, async (db) => {
        const row = await serverByNameOrId(db, parsed, given)
        const { account_id, email } = await accountByNameOrId(db, options.account)
        const { catalog } = await catalogInForce(parsed)
        const place = { db, clock, catalog, billedItems, moveNumbers, changed: () => {} }
        const hostOf = (zone: string) => hostOfZone(catalog, zone, publicHost(parsed))
        await moveServer({ ...place, hostOf }, row.server_id, { account_id, project_id })
        console.log(`${row.name} has moved from ${row.account} to ${email}, which pays for it from now on.`)
      })
    })
}

/** @throws CommandError if the state of the server, or of its account, does not allow it */
async function ordered(
  { servers }: App,
  db: Database,
  {
    order,
    force,
    server,
  }: { order: Order; force: boolean; server: { server_id: string; account_id: string; name: string } },
) {
  const { server_id: serverId, account_id: accountId } = server
  const actor = await ownerOf(db, accountId)
  try {
    if (order !== 'delete')
      return (await servers.power(actor, serverId, { type: order, force }, async () => {})).operation
    refuseFrozen(actor)
    return (await servers.remove(serverId, { isForced: force })).operation
  } catch (error) {
    // The API's message names a field, but operators have an option.
    if (error instanceof ApiError && error.type === serverProblems.delete_protected)
      throw new CommandError(`${server.name} is protected from deletion. Give --force to delete it.`)
    if (error instanceof ApiError) throw new CommandError(`${error.type.title}. ${error.message}`)
    throw error
  }
}

/** Opens the program without drivers and workers, since only the service may touch machines. */
export async function operatorsApp(db: Database, config: Config): Promise<App> {
  const { catalog } = await catalogInForce(config)
  const secrets = await openSecrets(config, db)
  return buildApp({
    db,
    clock,
    drivers: new Drivers(defaultModule.name, {}, poolsPerZone),
    catalog,
    secrets,
    vault: await openVault(config, db, secrets),
    log: pino({ level: 'silent' }),
    ...config,
    sshHost: publicHost(config),
  })
}

/** Adds the e-mail address of the account, and the address for SSH. */
async function described<Row extends { account_id: string; ssh_port: number | null }>(
  db: Database,
  config: Config,
  rows: readonly Row[],
) {
  const accounts = new Map((await listAccounts(db)).map((account) => [account.account_id, account.email]))
  const host = publicHost(config)
  return rows.map((row) => ({
    ...row,
    account: accounts.get(row.account_id) ?? row.account_id,
    address: row.ssh_port === null ? '' : `${host}:${row.ssh_port}`,
  }))
}

/** @throws ConfigError if no server matches, or several do */
async function serverByNameOrId(db: Database, config: Config, given: string) {
  const byId = operatedServers(db).where('server_id', '=', given.toLowerCase()).execute()
  const byName = () =>
    operatedServers(db).where('name', '=', given).orderBy('server_id').limit(NAMED).execute()
  const rows = await byId
  const found = await described(db, config, rows.length > 0 ? rows : await byName())
  const [only, ...more] = found
  if (!only) throw new ConfigError(`No such server: ${given}. List them with: berthd server list`)
  if (more.length === 0) return only
  const ids = found.map(({ server_id, account }) => `${server_id} of ${account}`).join(', ')
  throw new ConfigError(`Several servers have the name ${given}. Give the id of one: ${ids}.`)
}
