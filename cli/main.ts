#!/usr/bin/env node
import { BerthError, ConnectionError, OperationFailed, TimeoutError } from '@berth/sdk'
import { Command, Option } from 'commander'
import { balanceCommand, contextCommand, loginCommand, whoamiCommand } from './account.ts'
import { Refusal } from './refusal.ts'
import { serverCommand } from './server.ts'

const told = [Refusal, BerthError, ConnectionError, OperationFailed, TimeoutError]

/** What a customer can act on is a sentence; what is our mistake is a stack. */
function refuse(error: unknown): never {
  if (!told.some((kind) => error instanceof kind)) throw error
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

/** A command that was made apart from its parent takes over how mistakes are told. */
function inherit(command: Command): void {
  for (const part of command.commands) inherit(part.copyInheritedSettings(command))
}

const program = new Command('berth')
  .description('Rent servers from a Berth: log in, then order, start, stop and delete them.')
  .addOption(
    new Option('-o, --output <format>', 'how replies are shown').choices(['table', 'json']).default('table'),
  )
  .option('--context <context>', 'where to: a name that you are logged in under')
  .showHelpAfterError('(add --help for how it is used)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))

for (const command of [loginCommand(), contextCommand(), whoamiCommand(), balanceCommand(), serverCommand()])
  program.addCommand(command)

inherit(program)
await program.parseAsync().catch(refuse)
