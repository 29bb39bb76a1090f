import { type Command, CommanderError } from 'commander'
import { balanceCommand, whoamiCommand } from './account.ts'
import { auditCommand } from './audit.ts'
import { capacityCommand, limitsCommand, presetCommand, templateCommand, zoneCommand } from './catalogue.ts'
import { completeCommand, completionCommand } from './completion.ts'
import { Ended, exitCodes, tellingOf } from './errors.ts'
import { eventCommand } from './event.ts'
import { contextCommand, loginCommand, logoutCommand } from './login.ts'
import { operationCommand } from './operation.ts'
import { printable, styled } from './output.ts'
import { projectCommand } from './project.ts'
import { quoteCommand } from './quote.ts'
import { serverCommand } from './server/server.ts'
import { addGlobalOptions, Program } from './session.ts'
import { sshKeyCommand } from './ssh-key.ts'
import type { Terminal } from './terminal.ts'
import { tokenCommand } from './token.ts'
import { transactionCommand } from './transaction.ts'
import { usageCommand } from './usage.ts'
import { version } from './version.ts'
import { webhookCommand } from './webhook.ts'

/** Runs the program, and tells what can't be done in two lines; @returns what it ends with */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  try {
    await programOf(terminal).parseAsync(args, { from: 'user' })
    return exitCodes.ok
  } catch (error) {
    // Commander has told it already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    if (error instanceof Ended) return error.exitCode
    const told = tellingOf(error)
    if (!told) throw error
    const text = `${errorWord(terminal)} ${printable(told.message)}\n${printable(told.advice)}\n`
    terminal.stderr.write(text)
    return told.exitCode
  }
}

const errorWord = ({ stderr }: Terminal) => styled('Error:', ['bold', 'red'], stderr)

/** The whole tree of commands: what is parsed, helped with, completed and documented. */
export function programOf(terminal: Terminal): Program {
  const program = addGlobalOptions(new Program('berth', terminal))
    .description('Rent servers from a Berth: log in, then order, start, stop and delete them.')
    .version(version, '-V, --version')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      getOutHelpWidth: () => terminal.stdout.columns ?? 100,
      getErrHelpWidth: () => terminal.stderr.columns ?? 100,
      outputError: (text, write) => write(mistakeIn(text).replace(/^error:/, errorWord(terminal))),
    })
  for (const command of [
    loginCommand(),
    logoutCommand(),
    contextCommand(),
    whoamiCommand(),
    balanceCommand(),
    usageCommand(),
    transactionCommand(),
    serverCommand(),
    operationCommand(),
    quoteCommand(),
    zoneCommand(),
    templateCommand(),
    presetCommand(),
    limitsCommand(),
    capacityCommand(),
    projectCommand(),
    sshKeyCommand(),
    tokenCommand(),
    webhookCommand(),
    eventCommand(),
    auditCommand(),
    completionCommand(),
  ])
    program.addCommand(command)
  program.addCommand(completeCommand(), { hidden: true })
  inherit(program)
  return program
}

/** What commander says of a command line, in two lines as all errors are: where it knows no better, --help does. */
function mistakeIn(text: string): string {
  const [what = '', suggestion] = text.trimEnd().split(/\n(?=\(Did you mean .*\)$)/)
  return `${printable(what)}\n${suggestion ?? '(add --help for how it is used)'}\n`
}

/** A command that was made apart from its parent takes over how mistakes are told. */
function inherit(command: Command): void {
  for (const part of command.commands) inherit(part.copyInheritedSettings(command))
}
