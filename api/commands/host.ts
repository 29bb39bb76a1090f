import { Command } from 'commander'
import { listAccounts } from '../accounts/accounts.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError, type Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { DriverError } from '../drivers/driver.ts'
import { Drivers } from '../drivers/drivers.ts'
import { defaultModule, hostModules, moduleOf, poolsPerZone } from '../drivers/modules/modules.ts'
import { bringBack, type Lost } from '../servers/rebuild/lost.ts'
import type { Offsite } from '../snapshots/offsite.ts'
import { catalogInForce } from './catalog.ts'
import { isHostOf, isServed } from './installation.ts'
import { type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printTable } from './print.ts'
import { operatorsApp } from './server.ts'

const OUTCOMES: Record<Lost['outcome'], string> = {
  begun: 'restoring',
  no_copy: 'lost: it has no copy',
  busy: 'busy: try again later',
  away: 'left as it is: its member does not answer',
}

export function hostCommands(config: ReadConfig): Command {
  const host = new Command('host').description('look after hosts and clusters')
  host
    .command('rebuild')
    .description(
      'restore all servers whose disk is lost, on this host or in a cluster, from their newest copies, which may lie off site',
    )
    .action(async () => {
      const parsed = config()
      const isHost = await isHostOf(parsed)
      const zones = await zonesWithStock(parsed)
      if (!isHost && zones.length === 0)
        throw new CommandError(
          `No service that runs servers on this machine serves from ${parsed.dataDir}, so their disks may lie on another one. Start it here first; on PostgreSQL the command works only beside it.`,
        )
      await withDatabase(parsed, 'host rebuild', async (db) => {
        const { offsite } = await operatorsApp(db, parsed)
        const lost = isHost ? await lostOfHost(db, parsed, offsite) : []
        const silent: string[] = []
        for (const zone of zones)
          try {
            lost.push(...(await bringBack({ db, clock, offsite }, zone.pool, zone.look)))
          } catch (error) {
            if (!(error instanceof DriverError)) throw error
            silent.push(`Zone ${zone.slug} was left out: ${error.message}`)
          }
        await report(db, lost)
        if (!isHost) console.log('Servers of this machine itself were left out: they are served elsewhere.')
        if (lost.some(({ outcome }) => outcome === 'begun') && !(await isServed(parsed)))
          console.log('Start the service: it restores them.')
        if (silent.length > 0) throw new CommandError(silent.join('\n'))
      })
    })
  return host
}

async function lostOfHost(db: Database, { databaseUrl, dataDir }: Config, offsite: Offsite): Promise<Lost[]> {
  const lost: Lost[] = []
  // A shared database contains the machines of drivers that are not bound to a host.
  for (const { name, stock, isBoundToProcess } of hostModules)
    if (stock && (databaseUrl === null || isBoundToProcess))
      lost.push(...(await bringBack({ db, clock, offsite }, name, () => stock(dataDir))))
  return lost
}

/** The zones with a cluster of their own. */
async function zonesWithStock(config: Config) {
  const { catalog } = await catalogInForce(config)
  const drivers = new Drivers(defaultModule.name, {}, poolsPerZone)
  return catalog.zones.flatMap((zone) => {
    const { zoneStock } = moduleOf(zone)
    const place = { slug: zone.zone_slug, pool: drivers.poolOf(zone) }
    return zoneStock ? [{ ...place, look: () => zoneStock(zone) }] : []
  })
}

async function report(db: Database, lost: readonly Lost[]): Promise<void> {
  if (lost.length === 0) return console.log('No server has lost its disk.')
  const emails = new Map((await listAccounts(db)).map((account) => [account.account_id, account.email]))
  const rows = lost.map(({ server_id, name, account_id, copied_at, outcome }) => [
    ...[server_id, name, emails.get(account_id) ?? account_id],
    ...[shortTime(copied_at), OUTCOMES[outcome]],
  ])
  printTable(['SERVER', 'NAME', 'ACCOUNT', 'COPY FROM', 'NEXT'], rows)
}
