import { BerthError } from './errors.ts'
import type { Event } from './openapi.ts'
import { PAGE } from './paging.ts'
import { type Call, type CallOptions, type Query, type Settings, send, unexpected } from './request.ts'
import { pauseMs } from './retries.ts'

/** An event of the account. The name does not clash with the global `Event` of browsers. */
export type BerthEvent = Event

export interface EventsOptions {
  signal?: AbortSignal | undefined
  /** Id of the last event seen: the stream starts after it. Default: starts now. */
  after?: string | undefined
  /** Called when the stream opens, and when it breaks; it reconnects by itself. */
  onConnection?: ((isOpen: boolean) => void) | undefined
}

type EventListOptions = Omit<Query<'GET /events'>, 'limit'>

/** The API sends heartbeats more often than this: a connection that is silent for longer is dead. */
const LONGEST_SILENCE_MS = 60_000

export const ROUTE = 'GET /events/stream'

/** Called as a function it streams events as they happen; `list` returns past ones. */
export function events(settings: Settings, call: Call) {
  const list = (query: Query<'GET /events'> = {}, options?: CallOptions) =>
    call('GET /events', { query }, options)
  return Object.assign(follower(settings), {
    /** One page, oldest first, or newest first with `order: 'desc'`; for the next one pass its last id as `after`. */
    list,
    /** All events, or those that follow a given one; page by page, in the order of `list`. */
    listAll: async function* ({ after, order }: EventListOptions = {}, options?: CallOptions) {
      for (let last = after; ; ) {
        const { items, total }: { items: Event[]; total: number } = await list(
          { after: last, order, limit: PAGE },
          options,
        )
        yield* items
        last = items.at(-1)?.event_id ?? last
        // The total counts the events that follow the cursor.
        if (items.length >= total) return
      }
    },
  })
}

/** Reconnects and resumes when the stream breaks, until the loop ends or the signal is aborted. */
const follower = (settings: Settings) =>
  async function* (options: EventsOptions = {}): AsyncGenerator<Event, void, undefined> {
    const { signal, onConnection } = options
    let lastEventId = options.after ?? ''
    let retryMs = 0
    let hasBegun = false
    for (let attempt = 0; ; attempt += 1) {
      try {
        const body = await open(settings, lastEventId, signal)
        hasBegun = true
        onConnection?.(true)
        for await (const message of messagesOf(body)) {
          attempt = 0
          retryMs = message.retryMs ?? retryMs
          lastEventId = message.id ?? lastEventId
          // The API's description has the type of the stream's messages.
          if (message.data !== '') yield JSON.parse(message.data) as Event
        }
      } catch (error) {
        signal?.throwIfAborted()
        // Fails if it never connected. A rejected request stays rejected, and invalid JSON stays invalid.
        const isRefused = error instanceof BerthError && error.status < 500
        if (!hasBegun || isRefused || error instanceof SyntaxError) throw error
      }
      signal?.throwIfAborted()
      onConnection?.(false)
      await settings.sleep(Math.max(retryMs, pauseMs(attempt, settings.random)), signal)
    }
  }

function open(settings: Settings, lastEventId: string, signal: AbortSignal | undefined) {
  const headers = {
    accept: 'text/event-stream',
    ...(lastEventId ? { 'last-event-id': lastEventId } : {}),
  }
  return send(settings, ROUTE, {}, { signal, headers }, async (reply) => {
    const isStream = reply.headers.get('content-type')?.startsWith('text/event-stream')
    if (isStream && reply.body) return reply.body
    throw unexpected(reply, 'without a stream of events')
  })
}

/** A block of the stream (HTML standard, 9.2.6), with or without data. The event's type is in the data. */
interface Message {
  id?: string
  data: string
  retryMs?: number
}

/** The messages of a text/event-stream; an incomplete one is dropped, as it will be sent again. */
export async function* messagesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  let fields: [name: string, value: string][] = []
  for await (const line of linesOf(body)) {
    if (line === '') {
      if (fields.length > 0) yield messageOf(fields)
      fields = []
    } else if (!line.startsWith(':')) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
      fields.push([name, value])
    }
  }
}

function messageOf(fields: [name: string, value: string][]): Message {
  const last = (name: string) => fields.findLast((field) => field[0] === name)?.[1]
  const [id, retry] = [last('id'), last('retry')]
  const data = fields.filter(([name]) => name === 'data').map(([, value]) => value)
  return {
    data: data.join('\n'),
    ...(id === undefined || id.includes('\0') ? {} : { id }),
    ...(retry !== undefined && /^\d+$/.test(retry) ? { retryMs: Number(retry) } : {}),
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const silence = setTimeout(() => void reader.cancel(), LONGEST_SILENCE_MS)
      const { done, value } = await reader.read().finally(() => clearTimeout(silence))
      if (done) return
      // A trailing carriage return may be the first half of a CRLF.
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop() ?? ''
      yield* lines
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}
