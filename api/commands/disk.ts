import { identityToRecipient } from 'age-encryption'
import { Command } from 'commander'
import { openSecrets } from './installation.ts'
import { offsiteKey } from './offsite.ts'
import { type ReadConfig, withDatabase } from './operator.ts'
import { printFields } from './print.ts'

export function diskCommands(config: ReadConfig): Command {
  const disk = new Command('disk').description('look after the copies of disks')
  disk
    .command('key')
    .description('print the key that opens the copies off site, by age alone; keep it apart from them')
    .action(async () => {
      const parsed = config()
      await withDatabase(parsed, 'disk key', async (db) => {
        const key = await offsiteKey(db, await openSecrets(parsed, db))
        printFields([
          ['secret key', key],
          ['public key', await identityToRecipient(key)],
        ])
      })
    })
  return disk
}
