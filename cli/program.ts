import { type Command, CommanderError } from 'commander'
import { commands, kinds } from './commands.ts'
import { completeCommand } from './completion.ts'
import { Ended, exitCodes, reportOf } from './errors.ts'
import { addAliases, help, suggestionFor } from './foreign.ts'
import { jsonLine, printable, styled } from './output.ts'
import { addGlobalOptions, Program } from './session.ts'
import type { Terminal } from './terminal.ts'
import { version } from './version.ts'

/** Runs the program and prints errors in two lines; @returns the exit code */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  try {
    await programOf(terminal, wantsJson(args)).parseAsync(args, { from: 'user' })
    return exitCodes.ok
  } catch (error) {
    // Commander has printed it already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    if (error instanceof Ended) return error.exitCode
    const report = reportOf(error)
    if (!report) throw error
    if (wantsJson(args)) {
      const { message, advice, exitCode: exit_code, problem = null } = report
      terminal.stderr.write(jsonLine({ error: { message, advice, exit_code, problem } }))
      return report.exitCode
    }
    const start = report.exitCode === exitCodes.interrupted ? ownLine(terminal) : `${errorWord(terminal)} `
    terminal.stderr.write(`${start}${printable(report.message)}\n${printable(report.advice)}\n`)
    return report.exitCode
  }
}

/** True if the output format is JSON, even if the arguments can't be parsed; those after -- are another program's. */
function wantsJson(args: string[]): boolean {
  const own = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length)
  return /(^|\s)(-o[\s=]?|--output[\s=])json(\s|$)/.test(own.join(' '))
}

const errorWord = ({ stderr }: Terminal) => styled('Error:', ['bold', 'red'], stderr)

/** Ctrl-C is not an error: the line with the ^C that a terminal shows is erased. */
const ownLine = ({ stderr }: Terminal) => (stderr.isTTY ? '\r\x1b[K' : '')

/** For scripts, which rely on `exitCodes`. */
const FOR_SCRIPTS = `
Exit codes:
  0    success
  1    other error, such as no connection or an insufficient balance
  2    usage: no command, an invalid option or value, a name that is not unique
  3    not found
  4    conflict with the current state
  5    not logged in, or not allowed
  6    rate limited; the error says how long to wait
  7    the operation that the command waited for failed
  130  Ctrl-C

Output formats (-o): table, json and yaml (the reply of the API), name (one name or id per line).
Words of other clouds' tools, such as ls, describe, rm or poweroff, work where they mean the same.
`

/** The whole command tree, for parsing, help and completion. */
export function programOf(terminal: Terminal, isJson = false): Program {
  const program = addGlobalOptions(new Program('berth', terminal))
    .description('Create and manage servers on a Berth cloud.')
    .version(version, '-V, --version')
    .configureHelp({ showGlobalOptions: true, ...help })
    .addHelpText('after', FOR_SCRIPTS)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      getOutHelpWidth: () => terminal.stdout.columns ?? 100,
      getErrHelpWidth: () => terminal.stderr.columns ?? 100,
      outputError: (text, write) =>
        write(isJson ? usageError(text) : mistakeIn(text).replace(/^error:/, errorWord(terminal))),
    })
  for (const command of commands) program.addCommand(command())
  program.addCommand(completeCommand(kinds), { hidden: true })
  addAliases(program)
  inherit(program)
  return program
}

/** A usage error from commander, in two lines like all errors; without a suggestion the second points to --help. */
function mistakeIn(text: string): string {
  const [what = '', suggestion] = text.trimEnd().split(/\n(?=\(Did you mean .*\)$)/)
  return `${printable(what)}\n${suggestionFor(what, suggestion) ?? 'See --help for usage.'}\n`
}

/** The same as a line of JSON. */
function usageError(text: string): string {
  const [message = '', advice = ''] = mistakeIn(text)
    .replace(/^error: /, '')
    .split('\n')
  return jsonLine({ error: { message, advice, exit_code: exitCodes.usage, problem: null } })
}

/** Commands that were created apart from their parent take over its error handling. */
function inherit(command: Command): void {
  for (const part of command.commands) inherit(part.copyInheritedSettings(command))
}
