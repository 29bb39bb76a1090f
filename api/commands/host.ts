import { Command } from 'commander'
import { listAccounts } from '../accounts/accounts.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError } from '../config.ts'
import { hostModules } from '../drivers/modules/modules.ts'
import { bringBack, type Lost } from '../servers/rebuild/lost.ts'
import { isHostOf, isServed } from './installation.ts'
import { type ReadConfig, shortTime, withDatabase } from './operator.ts'
import { printTable } from './print.ts'
import { operatorsApp } from './server.ts'

const OUTCOMES: Record<Lost['outcome'], string> = {
  begun: 'restoring',
  no_copy: 'lost: it has no copy',
  busy: 'busy: try again later',
}

export function hostCommands(config: ReadConfig): Command {
  const host = new Command('host').description('look after a host')
  host
    .command('rebuild')
    .description('restore all servers whose disk is lost from their newest copies, which may lie off site')
    .action(async () => {
      const parsed = config()
      if (!(await isHostOf(parsed)))
        throw new CommandError(
          `No service that runs servers on this machine serves from ${parsed.dataDir}, so their disks may lie on another one. Start it here first; on PostgreSQL the command works only beside it.`,
        )
      await withDatabase(parsed, 'host rebuild', async (db) => {
        const { offsite } = await operatorsApp(db, parsed)
        const emails = new Map((await listAccounts(db)).map((account) => [account.account_id, account.email]))
        const lost: Lost[] = []
        // A shared database has the machines of drivers that are bound to no host.
        for (const { name, stock, isBoundToProcess } of hostModules)
          if (stock && (parsed.databaseUrl === null || isBoundToProcess))
            lost.push(...(await bringBack({ db, clock, offsite }, name, () => stock(parsed.dataDir))))
        if (lost.length === 0) return console.log('No server has lost its disk.')
        const rows = lost.map(({ server_id, name, account_id, copied_at, outcome }) => [
          ...[server_id, name, emails.get(account_id) ?? account_id],
          ...[shortTime(copied_at), OUTCOMES[outcome]],
        ])
        printTable(['SERVER', 'NAME', 'ACCOUNT', 'COPY FROM', 'NEXT'], rows)
        if (!(await isServed(parsed))) console.log('Start the service: it restores them.')
      })
    })
  return host
}
