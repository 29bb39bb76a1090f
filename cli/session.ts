import { Berth } from '@berth/sdk'
import { Command, Option } from 'commander'
import { type Asked, chooseContext } from './contexts.ts'
import { Refusal } from './errors.ts'
import { type Columns, type Format, formats, printable, showList, showOne } from './output.ts'
import type { Terminal } from './terminal.ts'

/** The program in its terminal: what its commands find by going up to it. */
export class Program extends Command {
  readonly terminal: Terminal

  constructor(name: string, terminal: Terminal) {
    super(name)
    this.terminal = terminal
  }
}

/** @throws Error for a command that was not added to the program: a mistake of ours */
export function terminalOf(command: Command): Terminal {
  if (command instanceof Program) return command.terminal
  if (command.parent) return terminalOf(command.parent)
  throw new Error(`${command.name()} is no part of a program.`)
}

/** What is asked for before and after any command. */
export interface GlobalOptions extends Asked {
  output: Format
}

export function addGlobalOptions(program: Program): Program {
  program
    .addOption(new Option('-o, --output <format>', 'how replies are shown').choices(formats).default('table'))
    .option('--context <context>', 'a place by the name that you logged in under')
    .option('--url <url>', 'address of the API; BERTH_URL without it')
    .option('--token <secret>', 'token to ask with, which others on this machine see; better BERTH_TOKEN')
  return program
}

/** What a command works with. */
export interface Session {
  berth: Berth
  terminal: Terminal
  format: Format
  /** One thing: a line for each part. */
  show<Item extends object>(item: Item, parts: Columns<Item>): Promise<void>
  /** Something for people, beside what the command is asked for. */
  note(text: string): void
}

/** What a command's action takes: its arguments, then its options. */
type Action<Args extends unknown[]> = (session: Session, ...args: Args) => Promise<void>

/** The action of a command as commander calls it: with the command itself as the last argument. */
export function action<Args extends unknown[]>(run: Action<Args>) {
  return async (...all: unknown[]): Promise<void> => {
    // Commander gives the command last,
    const command = all.at(-1) as Command
    // and before it what it was told to parse.
    await run(sessionOf(command), ...(all.slice(0, -1) as Args))
  }
}

/** @throws Refusal where it is not known which Berth is meant */
export function sessionOf(command: Command): Session {
  const terminal = terminalOf(command)
  const { output: format, ...asked } = command.optsWithGlobals<GlobalOptions>()
  const { url, token } = chooseContext(terminal.env, asked)
  return {
    berth: new Berth({ baseUrl: url, token }),
    terminal,
    format,
    show: (item, parts) => showOne(terminal.stdout, format, item, parts),
    note: (text) => void terminal.stderr.write(`${printable(text)}\n`),
  }
}

/** For what is shown only once: a name in place of it would lose it. @throws Refusal before anything is made */
export function mustShow({ format }: Session, what: string): void {
  if (format === 'name')
    throw new Refusal(
      `-o name would not print the ${what}, which is shown only once.`,
      'Leave it out, or say -o json. Nothing was made.',
    )
}

interface List<Item, Options> {
  /** What the command is called; `list` without it. */
  name?: string
  description: string
  columns: Columns<Item>
  /** The columns that are shown unless others are asked for. */
  shown: string[]
  /** @param args what was given for the arguments that the command gets */
  items(
    session: Session,
    options: Options,
    ...args: string[]
  ): AsyncIterable<Item> | Promise<Item[] | AsyncIterable<Item>>
  /** Does something else than to list, where an option asks for it. */
  instead?(session: Session, options: Options): Promise<void> | undefined
}

/** The command that lists; arguments and filters of its own are added to what it returns. */
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
    .option('--columns <names>', `which to show, of ${Object.keys(columns).join(',')}`, shown.join(','))
    .option('--sort <column>', 'by which to sort; with :desc the other way round')
    .option('--no-header', 'leave the titles out')
    .action(
      action(async (session, ...all) => {
        // Commander gives the arguments first,
        const args = all.slice(0, -1) as string[]
        // and the options last: these, and those that were added.
        const options = all.at(-1) as Options & { columns: string; sort?: string; header: boolean }
        const other = instead?.(session, options)
        if (other) return other
        const found = await Array.fromAsync(await items(session, options, ...args))
        const table = { ...options, columns: options.columns.split(',') }
        await showList(session.terminal.stdout, session.format, found, columns, table)
      }),
    )
}
