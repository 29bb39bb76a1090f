import { Berth } from '@berth/sdk'
import { Command, Option } from 'commander'
import { allOf } from './all.ts'
import { type ConnectionOptions, chooseContext } from './contexts.ts'
import { Refusal } from './errors.ts'
import { type Columns, type Format, formats, printable, showList, showOne } from './output.ts'
import type { Terminal } from './terminal.ts'

/** The root command. Its subcommands get the terminal from it. */
export class Program extends Command {
  readonly terminal: Terminal

  constructor(name: string, terminal: Terminal) {
    super(name)
    this.terminal = terminal
  }
}

/** @throws Error for a command that was not added to the program, which is a bug */
export function terminalOf(command: Command): Terminal {
  if (command instanceof Program) return command.terminal
  if (command.parent) return terminalOf(command.parent)
  throw new Error(`${command.name()} is not part of a program.`)
}

/** Options that any command takes. */
export interface GlobalOptions extends ConnectionOptions {
  output: Format
}

export function addGlobalOptions(program: Program): Program {
  program
    .addOption(new Option('-o, --output <format>', 'output format').choices(formats).default('table'))
    .option('--context <context>', 'context to use')
    .option('--url <url>', 'address of the API (default: BERTH_URL)')
    .option('--token <secret>', 'API token; other users of this machine can see it, so prefer BERTH_TOKEN')
  return program
}

/** The client, settings and terminal that a command works with. */
export interface Session {
  berth: Berth
  /** The address of the API. */
  url: string
  terminal: Terminal
  format: Format
  /** Prints one object, a line per part. */
  show<Item extends object>(item: Item, parts: Columns<Item>): Promise<void>
  /** Prints a note to stderr. */
  note(text: string): void
}

/** The arguments of the command, then its options. */
type Action<Args extends unknown[]> = (session: Session, ...args: Args) => Promise<void>

/** Adapts an action to commander, which passes the command itself as the last argument. */
export function action<Args extends unknown[]>(run: Action<Args>) {
  return async (...all: unknown[]): Promise<void> => {
    // The last argument is the command,
    const command = all.at(-1) as Command
    // and the ones before it are what it parsed.
    await run(sessionOf(command), ...(all.slice(0, -1) as Args))
  }
}

/** @throws Refusal if no API or token is selected */
export function sessionOf(command: Command): Session {
  const terminal = terminalOf(command)
  const { output: format, ...connection } = command.optsWithGlobals<GlobalOptions>()
  const { url, token } = chooseContext(terminal.env, connection)
  return {
    berth: new Berth({ baseUrl: url, token }),
    url,
    terminal,
    format,
    show: (item, parts) => showOne(terminal.stdout, format, item, parts),
    note: (text) => void terminal.stderr.write(`${printable(text)}\n`),
  }
}

/** For a secret that is shown only once: -o name would lose it. @throws Refusal before anything is created */
export function mustShow({ format }: Session, what: string): void {
  if (format === 'name')
    throw new Refusal(
      `-o name would not print the ${what}, which is shown only once.`,
      'Omit -o, or use -o json. Nothing was created.',
    )
}

interface List<Item, Options> {
  /** The command's name; `list` by default. */
  name?: string
  description: string
  columns: Columns<Item>
  /** Columns that are shown by default. */
  shown: string[]
  /** @param args values of the command's arguments */
  items(
    session: Session,
    options: Options,
    ...args: string[]
  ): AsyncIterable<Item> | Promise<Item[] | AsyncIterable<Item>>
  /** Replaces the listing if an option asks for it. */
  instead?(session: Session, options: Options): Promise<void> | undefined
}

/** A command that lists; the caller adds arguments and filters to it. */
export function listCommand<Item extends object, Options extends object = object>({
  name = 'list',
  description,
  columns,
  shown,
  items,
  instead,
}: List<Item, Options>): Command {
  return new Command(name)
    .description(description)
    .option('--columns <names>', `columns to show, of ${Object.keys(columns).join(',')}`, shown.join(','))
    .option('--sort <column>', 'column to sort by; append :desc for descending order')
    .option('--no-header', 'omit the header')
    .action(
      action(async (session, ...all) => {
        // The arguments come first,
        const args = all.slice(0, -1) as string[]
        // and the options last: these, and those the caller added.
        const options = all.at(-1) as Options & { columns: string; sort?: string; header: boolean }
        const other = instead?.(session, options)
        if (other) return other
        const found = await allOf(await items(session, options, ...args))
        const table = { ...options, columns: options.columns.split(',') }
        await showList(session.terminal.stdout, session.format, found, columns, table)
      }),
    )
}
