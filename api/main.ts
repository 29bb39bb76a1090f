#!/usr/bin/env node
import { Command, Option } from 'commander'
import { logCommand } from './commands/command-log.ts'
import { printError, printJson } from './commands/print.ts'
import { ConfigError, readConfig } from './config.ts'
import manifest from './package.json' with { type: 'json' }
import { type SettingName, settings } from './settings.ts'

// node:sqlite is a release candidate in Node 24 and warns at every start; operators can't act on it.
process.removeAllListeners('warning')

// Secret files are created with a mode of their own. A stricter umask would lock out the users of the machines.
process.umask(0o022)

// An ordinary user's PATH on Debian lacks the folders with chroot and nft.
process.env.PATH = `${process.env.PATH || '/usr/bin:/bin'}:/usr/sbin:/sbin`

/** The errors of users, by name: their classes would load what most commands do not need. */
const USER_ERRORS = ['ConfigError', 'CatalogError', 'CommandError']

/** Prints a user error without a stack. Exit code 2 is for usage and settings, 1 for the rest. */
function refuse(error: unknown): never {
  if (error instanceof Error && USER_ERRORS.includes(error.name)) {
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
    const { openLogs } = await import('./commands/terminal-log.ts')
    const { serve } = await import('./commands/serve.ts')
    await serve(parsed, openLogs(parsed))
  })

/** The others load what they need once they are given: all together take longer than most of them. */
const commands: Record<string, () => Promise<Command>> = {
  check: async () => (await import('./commands/walls.ts')).checkCommand(config),
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand(config),
  migrate: async () => (await import('./commands/operator.ts')).migrateCommand(config),
  backup: async () => (await import('./commands/backup.ts')).backupCommand(config),
  restore: async () => (await import('./commands/restore.ts')).restoreCommand(config),
  export: async () => (await import('./commands/move.ts')).exportCommand(config),
  import: async () => (await import('./commands/move.ts')).importCommand(config),
  account: async () => (await import('./commands/account.ts')).accountCommands(config),
  person: async () => (await import('./commands/person.ts')).personCommands(config),
  abuse: async () => (await import('./commands/abuse.ts')).abuseCommands(config),
  server: async () => (await import('./commands/server.ts')).serverCommands(config),
  address: async () => (await import('./commands/address.ts')).addressCommands(config),
  announcement: async () => (await import('./commands/announcement.ts')).announcementCommands(config),
  bank: async () => (await import('./commands/bank.ts')).bankCommands(config),
  promo: async () => (await import('./commands/promo.ts')).promoCommands(config),
  trace: async () => (await import('./commands/trace.ts')).traceCommand(config),
  token: async () => (await import('./commands/token.ts')).tokenCommands(config),
  operator: async () => (await import('./commands/operator-token.ts')).operatorCommands(config),
  image: async () => (await import('./commands/image.ts')).imageCommands(config),
  catalog: async () => (await import('./commands/catalog.ts')).catalogCommands(config),
  disk: async () => (await import('./commands/disk.ts')).diskCommands(config),
  host: async () => (await import('./commands/host.ts')).hostCommands(config),
  'upgrade-notes': async () => (await import('./commands/upgrade-notes.ts')).upgradeNotesCommand(),
}
const given = ['serve', ...Object.keys(commands)].filter((name) => process.argv.includes(name))
// Help, and suggestions after a mistyped word, have all of them.
for (const name of given.length > 0 ? given : Object.keys(commands)) {
  const command = await commands[name]?.()
  if (command) program.addCommand(command)
}

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
