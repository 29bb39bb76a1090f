import type { BerthEvent } from '@berth/sdk'
import { Command } from 'commander'
import { addLimitOption, type LimitOptions, repeated, upTo } from './flags.ts'
import { type Columns, nameOf, showNext } from './output.ts'
import { listCommand, type Session } from './session.ts'
import { untilInterrupt } from './terminal.ts'

interface EventOptions extends LimitOptions {
  after?: string
  type?: string[]
  follow?: boolean
}

const columns: Columns<BerthEvent> = {
  id: ({ event_id }) => event_id,
  type: ({ type }) => type,
  object: objectOf,
  created: ({ created_at }) => created_at,
}

/** As wide as any type is: those that are to come are not known. */
const TYPE_WIDTH = 'server.status_changed'.length

const line: Columns<BerthEvent> = {
  created: ({ created_at }) => created_at,
  type: ({ type }) => type.padEnd(TYPE_WIDTH),
  object: objectOf,
}

/** What it happened to, with what people ask next. */
function objectOf({ type, data }: BerthEvent): string {
  if (type === 'server.status_changed') return `${nameOf(data)}: ${data.old_status} → ${data.new_status}`
  if (type.startsWith('operation.')) return `${data.type} of ${data.server_id}`
  return nameOf(data)
}

/** `berth event --follow` and `berth event list --follow` are the same: list is what is meant where nothing is said. */
export function eventCommand(): Command {
  return new Command('event')
    .description('what has happened; with --follow what happens')
    .addCommand(listEvents(), { isDefault: true })
    .addHelpText('after', '\nWithout a command it lists, with the options of list: berth event --follow')
}

function listEvents(): Command {
  const command = listCommand({
    description:
      'what has happened in the last 30 days, the eldest first; with --follow what happens, as it does',
    columns,
    shown: ['id', 'type', 'object', 'created'],
    items: async (session, options: EventOptions) =>
      upTo(session, options, wanted(session.berth.events.listAll({ after: options.after }), options)),
    instead: (session, options) => (options.follow ? follow(session, options) : undefined),
  })
    .option('--follow', 'show each as it happens, until Ctrl-C; with -o json one on each line')
    .option('--after <event>', 'begin after this one, by its id')
    .option(
      '--type <type>',
      'only this, such as server.deleted, or server for all of servers; again for each',
      repeated,
    )
  return addLimitOption(command)
}

function follow({ berth, terminal, format }: Session, options: EventOptions): Promise<void> {
  return untilInterrupt(terminal, async (signal) => {
    const events = berth.events({ after: options.after, signal })
    for await (const event of wanted(events, options)) await showNext(terminal.stdout, format, event, line)
  })
}

async function* wanted<Event extends BerthEvent>(
  events: AsyncIterable<Event>,
  { type: types }: EventOptions,
): AsyncGenerator<Event, void, undefined> {
  for await (const event of events)
    if (!types || types.some((type) => event.type === type || event.type.startsWith(`${type}.`))) yield event
}
