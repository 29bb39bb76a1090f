import { Berth } from '@berth/sdk'
import type { Argument, Command, Option } from 'commander'
import { type ConnectionOptions, chooseContext, readContexts } from './contexts.ts'
import type { Named } from './find.ts'
import { printable } from './output.ts'
import { type Program, terminalOf } from './session.ts'
import type { Terminal } from './terminal.ts'

/** The user waits for it at the prompt. */
const LIMIT_MS = 2_000

/** The position within an unfinished command line. */
interface Place {
  command: Command
  /** The number of arguments of the command that are given already. */
  args: number
  /** The option whose value is next. */
  option: Option | undefined
  /** After `--` nothing is an option. */
  isLiteral: boolean
  given: Map<string, string>
}

/**
 * Completions for the last word of a line.
 * @param line the words after `berth` as typed, with their quotes
 * @param kinds the resources that placeholders such as `<ssh-key>` stand for
 */
export async function candidates(
  program: Program,
  line: string[],
  kinds: readonly Named[],
): Promise<string[]> {
  const words = line.map(unquoted)
  const last = words.pop() ?? ''
  const place = follow(program, words)
  const isOption = last.startsWith('-') && !place.isLiteral
  const [flag = '', value] = isOption ? splitFlag(last) : []
  if (value !== undefined) {
    const option = optionOf(place.command, flag)
    const values = option ? await valuesOf(option, place, kinds) : []
    return fitting(values, value).map((known) => `${flag}=${known}`)
  }
  if (isOption)
    return optionsOf(place.command).flatMap(({ long, short }) => fitting([long ?? short ?? ''], last))
  if (place.option) return fitting(await valuesOf(place.option, place, kinds), last)
  const commands = place.args === 0 ? subcommandsOf(place.command).map((command) => command.name()) : []
  const argument = argumentAt(place)
  return fitting([...commands, ...(argument ? await valuesOf(argument, place, kinds) : [])], last)
}

function argumentAt({ command: { registeredArguments: all }, args }: Place): Argument | undefined {
  const last = all.at(-1)
  return all[args] ?? (last?.variadic ? last : undefined)
}

/** Removes quotes as a shell would; a quote may still be open, and nothing is expanded. */
const unquoted = (word: string) =>
  word.replace(
    /'([^']*)'?|"((?:\\.|[^"\\])*)"?|\\(.?)/gs,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
  )

function follow(program: Program, words: string[]): Place {
  const place: Place = { command: program, args: 0, option: undefined, isLiteral: false, given: new Map() }
  for (const word of words) {
    if (word.startsWith('-') && !place.isLiteral) {
      // The value of an option may begin with a dash, but none of ours does.
      const [flag, value] = splitFlag(word)
      const option = optionOf(place.command, flag)
      if (option && value !== undefined) place.given.set(option.attributeName(), value)
      place.option = value === undefined && (option?.required || option?.optional) ? option : undefined
      place.isLiteral = word === '--'
    } else if (place.option) {
      place.given.set(place.option.attributeName(), word)
      place.option = undefined
    } else {
      const command = place.args === 0 && subcommandsOf(place.command).find((known) => isNamed(known, word))
      if (command) place.command = command
      else place.args += 1
    }
  }
  return place
}

function splitFlag(word: string): [flag: string, value?: string] {
  const at = word.indexOf('=')
  return at === -1 ? [word] : [word.slice(0, at), word.slice(at + 1)]
}

const isNamed = (command: Command, word: string) =>
  command.name() === word || command.aliases().includes(word)

const subcommandsOf = (command: Command) => command.createHelp().visibleCommands(command)

const optionsOf = (command: Command) => [
  ...command.createHelp().visibleOptions(command),
  ...command.createHelp().visibleGlobalOptions(command),
]

const optionOf = (command: Command, flag: string) =>
  optionsOf(command).find(({ long, short }) => flag === long || flag === short)

/** Names are user input: leaves out those that would read as options or contain control characters. */
const fitting = (values: string[], prefix: string) =>
  [...new Set(values)].filter(
    (value) =>
      value.startsWith(prefix) &&
      value === printable(value) &&
      (prefix.startsWith('-') || !value.startsWith('-')),
  )

/** The choices, or the names of the objects that the placeholder stands for: `<ssh-key>`. */
async function valuesOf(
  what: Argument | Option,
  { command, given }: Place,
  kinds: readonly Named[],
): Promise<string[]> {
  if (what.argChoices) return [...what.argChoices]
  const noun = 'flags' in what ? /[<[]([\w-]+)/.exec(what.flags)?.[1] : what.name()
  const terminal = terminalOf(command)
  try {
    if (noun === 'context') return Object.keys(readContexts(terminal.env).contexts)
    const berth = berthOf(terminal, Object.fromEntries(given))
    if (noun === 'preset') return await presetsOf(berth)
    const kind = kinds.find((known) => known.noun === noun)
    return kind ? await namesOf(kind, berth) : []
  } catch {
    // Completion stays silent: the command itself reports the error.
    return []
  }
}

/** A client with one time limit for all its requests. */
function berthOf(terminal: Terminal, given: ConnectionOptions): Berth {
  const { url, token } = chooseContext(terminal.env, given)
  const limit = AbortSignal.timeout(LIMIT_MS)
  const limited: typeof fetch = (input, init) =>
    fetch(input, { ...init, signal: AbortSignal.any([limit, ...(init?.signal ? [init.signal] : [])]) })
  return new Berth({ baseUrl: url, token, retries: 0, fetch: limited })
}

async function namesOf(kind: Named, berth: Berth): Promise<string[]> {
  const names: string[] = []
  try {
    for await (const name of kind.names(berth)) names.push(name)
  } catch {
    // Some names are better than none.
  }
  return names
}

async function presetsOf(berth: Berth): Promise<string[]> {
  const zones = await berth.zones.list()
  const places = zones.flatMap(({ zone_slug, cpu_types }) =>
    cpu_types.map((cpu_type) => ({ zone_slug, cpu_type })),
  )
  const presets = await Promise.all(places.map((place) => berth.presets.list(place)))
  return presets.flat().map(({ slug }) => slug)
}
