import { Command } from 'commander'
import { CommandError } from '../config.ts'
import { hostModules } from '../drivers/modules/modules.ts'
import { openSecrets } from './installation.ts'
import { offsiteKey, openVault } from './offsite.ts'
import { type ReadConfig, withDatabase } from './operator.ts'
import { printFields, printTable } from './print.ts'
import { findOffsite, findOnHost } from './stock-check.ts'

export function diskCommands(config: ReadConfig): Command {
  const disk = new Command('disk').description('look after disks and the copies of disks')
  disk
    .command('check')
    .description('find disks and copies that are missing, orphaned or broken; deletes nothing')
    .action(async () => {
      const parsed = config()
      await withDatabase(parsed, 'disk check', async (db) => {
        const vault = await openVault(parsed, db, await openSecrets(parsed, db))
        const found = []
        for (const { name, stock } of parsed.databaseUrl === null ? hostModules : [])
          if (stock) {
            const look = () => stock(parsed.dataDir)
            const isOffsite = (copy: { offsite_at: number | null; offsite_place: string | null }) =>
              copy.offsite_at !== null && copy.offsite_place === vault?.place
            found.push(...(await findOnHost(db, name, look, isOffsite)))
          }
        if (vault) found.push(...(await findOffsite(db, vault)))
        if (found.length === 0) return console.log('Nothing is missing, orphaned or broken.')
        printTable(
          ['WHAT', 'ID', 'NAME', 'STATE'],
          found.map(({ kind, id, name, state }) => [kind, id, name, state]),
        )
        const bad = found.filter(({ state }) => state !== 'only off site').length
        if (bad > 0) throw new CommandError(`${bad} differ from the database. Nothing was changed.`)
      })
    })
  disk
    .command('key')
    .description('print the key that opens the copies off site, by age alone; keep it apart from them')
    .action(async () => {
      const parsed = config()
      await withDatabase(parsed, 'disk key', async (db) => {
        const { identityToRecipient } = await import('age-encryption')
        const key = await offsiteKey(db, await openSecrets(parsed, db))
        printFields([
          ['secret key', key],
          ['public key', await identityToRecipient(key)],
        ])
      })
    })
  return disk
}
