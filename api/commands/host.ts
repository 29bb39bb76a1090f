import { Command } from 'commander'
import { listAccounts } from '../accounts/accounts.ts'
import { systemClock as clock } from '../clock.ts'
import { CommandError } from '../config.ts'
import { hostModules } from '../drivers/modules/modules.ts'
import { bringBack, type Lost } from '../servers/rebuild/lost.ts'
import { isServed } from './installation.ts'
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
      if (parsed.databaseUrl !== null)
        throw new CommandError(
          'On PostgreSQL, berthd host rebuild can not know whether this machine has lost the disks. Restore each server by the API.',
        )
      await withDatabase(parsed, 'host rebuild', async (db) => {
        const { offsite } = await operatorsApp(db, parsed)
        const emails = new Map((await listAccounts(db)).map((account) => [account.account_id, account.email]))
        const lost: Lost[] = []
        for (const { name, stock } of hostModules)
          if (stock)
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
