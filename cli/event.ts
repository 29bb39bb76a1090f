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

/** The longest type: a stream can't be measured in advance. */
const TYPE_WIDTH = 'server.status_changed'.length

const line: Columns<BerthEvent> = {
  created: ({ created_at }) => created_at,
  type: ({ type }) => type.padEnd(TYPE_WIDTH),
  object: objectOf,
}

/** The object of the event, with the most useful detail. */
function objectOf({ type, data }: BerthEvent): string {
  if (type === 'server.status_changed') return `${nameOf(data)}: ${data.old_status} → ${data.new_status}`
  if (type.startsWith('operation.')) return `${data.type} of ${data.server_id}`
  return nameOf(data)
}

/** List is the default subcommand: `berth event --follow` is `berth event list --follow`. */
export function eventCommand(): Command {
  return new Command('event')
    .description('list events, or follow them live')
    .addCommand(listEvents(), { isDefault: true })
    .addHelpText('after', '\nThe default command is list: berth event --follow is berth event list --follow.')
}

function listEvents(): Command {
  const command = listCommand({
    description: 'list events of the last 30 days, newest first; with --follow, stream new ones',
    columns,
    shown: ['id', 'type', 'object', 'created'],
    items: async (session, options: EventOptions) => upTo(session, options, eventsOf(session, options)),
    instead: (session, options) => (options.follow ? follow(session, options) : undefined),
  })
    .option('--follow', 'stream events as they happen, until Ctrl-C; with -o json, one per line')
    .option('--after <event>', 'only events after the one with this id, oldest first')
    .option(
      '--type <type>',
      'only this type, such as server.deleted, or this group, such as server (repeatable)',
      repeated,
    )
  return addLimitOption(command)
}

/** A client that names the last event it has seen continues from there. */
function eventsOf({ berth }: Session, options: EventOptions) {
  const { after } = options
  return wanted(berth.events.listAll(after === undefined ? { order: 'desc' } : { after }), options)
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
