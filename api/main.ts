#!/usr/bin/env node
import { Command, Option } from 'commander'
import pino from 'pino'
import { CatalogError } from './catalog/file.ts'
import { systemClock } from './clock.ts'
import { accountCommands } from './commands/account.ts'
import { addressCommands } from './commands/address.ts'
import { backupCommand } from './commands/backup.ts'
import { catalogCommands } from './commands/catalog.ts'
import { logCommand } from './commands/command-log.ts'
import { diskCommands } from './commands/disk.ts'
import { doctorCommand } from './commands/doctor.ts'
import { hostCommands } from './commands/host.ts'
import { exportCommand, importCommand } from './commands/move.ts'
import { imageCommands, migrateCommand } from './commands/operator.ts'
import { operatorCommands } from './commands/operator-token.ts'
import { personCommands } from './commands/person.ts'
import { printError, printJson } from './commands/print.ts'
import { restoreCommand } from './commands/restore.ts'
import { serve } from './commands/serve.ts'
import { serverCommands } from './commands/server.ts'
import { hooks, readable } from './commands/terminal-log.ts'
import { tokenCommands } from './commands/token.ts'
import { traceCommand } from './commands/trace.ts'
import { upgradeNotesCommand } from './commands/upgrade-notes.ts'
import { checkCommand } from './commands/walls.ts'
import { CommandError, ConfigError, readConfig } from './config.ts'
import { FullDisk } from './database/full-disk.ts'
import manifest from './package.json' with { type: 'json' }
import { type SettingName, settings } from './settings.ts'

// node:sqlite is a release candidate in Node 24 and warns at every start; operators can't act on it.
process.removeAllListeners('warning')

// Secret files are created with a mode of their own. A stricter umask would lock out the users of the machines.
process.umask(0o022)

// An ordinary user's PATH on Debian lacks the folders with chroot and nft.
process.env.PATH = `${process.env.PATH || '/usr/bin:/bin'}:/usr/sbin:/sbin`

/** Prints a user error without a stack. Exit code 2 is for usage and settings, 1 for the rest. */
function refuse(error: unknown): never {
  if (error instanceof ConfigError || error instanceof CatalogError || error instanceof CommandError) {
    const code = error instanceof ConfigError ? 2 : 1
    if (wantsJson) printError(error.message.trim(), code)
    else console.error(error.message)
    process.exit(code)
  }
  throw error
}

// Tools such as ps and ss name the process by it. Arguments are left out, because they may have secrets.
process.title = `berthd ${process.argv[2] ?? ''}`.trim()

const HINT = '(see --help'
/** True even if the arguments can't be parsed. */
const wantsJson = process.argv.includes('--json')

const program = new Command('berthd')
  .version(manifest.version, '-V, --version')
  .option('--json', 'print tables, fields and errors as JSON')
  .description('Run the Berth service and manage its accounts, tokens and images.')
  .showHelpAfterError(`${HINT} for usage)`)
  .configureOutput({
    // Programs read one object: the hint at --help would follow it.
    writeErr: (text) => (wantsJson && text.startsWith(HINT)) || process.stderr.write(text),
    outputError: (text, write) => {
      if (wantsJson) printError(text.replace(/^error: /, '').trim(), 2)
      else write(text)
    },
  })
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))

for (const [name, setting] of Object.entries(settings))
  program.addOption(
    new Option(
      `${setting.flag} <value>`,
      `${setting.help} [${setting.env}] (default: ${setting.fallback})`,
    ).argParser((value: string) => {
      flags[name as SettingName] = value // a key of settings
      return value
    }),
  )
const flags: Partial<Record<SettingName, string>> = {}
const config = () => readConfig(process.env, flags)

const serving = program
  .command('serve')
  .description('run the service until Ctrl-C')
  .action(async () => {
    const parsed = config()
    const stderr = pino.destination({ dest: 2, sync: true })
    const terminal = { write: (line: string) => void stderr.write(readable(line)) }
    const disk = new FullDisk(systemClock)
    const log = pino({ level: parsed.logLevel, hooks: hooks(disk) }, process.stderr.isTTY ? terminal : stderr)
    // Notices reach operators at any level of the log. Journals get JSON only.
    const notices = process.stdout.isTTY ? null : pino(pino.destination({ dest: 1, sync: true }))
    await serve(parsed, { log, notices, disk })
  })
program.addCommand(checkCommand(config))
program.addCommand(doctorCommand(config))
program.addCommand(migrateCommand(config))
program.addCommand(backupCommand(config))
program.addCommand(restoreCommand(config))
program.addCommand(exportCommand(config))
program.addCommand(importCommand(config))
program.addCommand(accountCommands(config))
program.addCommand(personCommands(config))
program.addCommand(serverCommands(config))
program.addCommand(addressCommands(config))
program.addCommand(traceCommand(config))
program.addCommand(tokenCommands(config))
program.addCommand(operatorCommands(config))
program.addCommand(imageCommands(config))
program.addCommand(catalogCommands(config))
program.addCommand(diskCommands(config))
program.addCommand(hostCommands(config))
program.addCommand(upgradeNotesCommand())

/** Commands that were created elsewhere take over this program's error handling. */
function inherit(command: Command): void {
  for (const part of command.commands) inherit(part.copyInheritedSettings(command))
}

inherit(program)
// npm keeps the flags before two dashes for itself, and passes on their values.
serving.showHelpAfterError(
  `${HINT} for usage; npm start takes flags after two dashes: npm start -- --port 9000)`,
)
let started: Command | null = null
program.hook('preAction', (_, command) => {
  if (wantsJson) printJson()
  started = command.name() === 'serve' ? null : command
})
const log = (outcome: 'succeeded' | 'failed') => void (started && logCommand(started, outcome))
await program.parseAsync().then(
  () => log('succeeded'),
  (error: unknown) => {
    log('failed')
    refuse(error)
  },
)
