import { BerthError } from './errors.ts'
import type { Event } from './openapi.ts'
import { PAGE } from './paging.ts'
import { type Call, type CallOptions, type Query, type Settings, send, unexpected } from './request.ts'
import { pauseMs } from './retries.ts'

/** Something that changed in the account, under a name that browsers do not have already. */
export type BerthEvent = Event

export interface EventsOptions {
  signal?: AbortSignal | undefined
  /** The last event that was seen: what came since is told first. Without it the stream begins now. */
  after?: string | undefined
}

/** The API sends a sign of life more often than this; a connection without one is dead, whatever the system says. */
const LONGEST_SILENCE_MS = 60_000

export const ROUTE = 'GET /events/stream'

/** Events as they happen, when it is called; what has happened, by `list`. */
export function events(settings: Settings, call: Call) {
  const list = (query: Query<'GET /events'> = {}, options?: CallOptions) =>
    call('GET /events', { query }, options)
  return Object.assign(follower(settings), {
    /** One page, oldest first; the next one is `after` the id of its last. */
    list,
    /** All that is kept, or what came after an event; page by page, oldest first. */
    listAll: async function* ({ after }: { after?: string | undefined } = {}, options?: CallOptions) {
      for (let last = after; ; ) {
        const { items, total }: { items: Event[]; total: number } = await list(
          { after: last, limit: PAGE },
          options,
        )
        yield* items
        last = items.at(-1)?.event_id ?? last
        // What comes after the cursor is counted.
        if (items.length >= total) return
      }
    },
  })
}

/** A stream that breaks is taken up where it broke, until the loop is left or the signal aborted. */
const follower = (settings: Settings) =>
  async function* (options: EventsOptions = {}): AsyncGenerator<Event, void, undefined> {
    const { signal } = options
    let lastEventId = options.after ?? ''
    let askedPauseMs = 0
    let hasBegun = false
    for (let attempt = 0; ; attempt += 1) {
      try {
        const body = await open(settings, lastEventId, signal)
        hasBegun = true
        for await (const message of messagesOf(body)) {
          attempt = 0
          askedPauseMs = message.retryMs ?? askedPauseMs
          lastEventId = message.id ?? lastEventId
          // What the stream sends is described so by the API.
          if (message.data !== '') yield JSON.parse(message.data) as Event
        }
      } catch (error) {
        signal?.throwIfAborted()
        // Who never got through should know. What was refused stays refused, what is no JSON comes again so.
        const isRefused = error instanceof BerthError && error.status < 500
        if (!hasBegun || isRefused || error instanceof SyntaxError) throw error
      }
      signal?.throwIfAborted()
      await settings.sleep(Math.max(askedPauseMs, pauseMs(attempt, settings.random)), signal)
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

/** A block of the stream (HTML standard, 9.2.6), whether or not it has data. Events say in it of what type they are. */
interface Message {
  id?: string
  data: string
  retryMs?: number
}

/** The messages of a stream of text/event-stream; one that is cut off is dropped, as it will come again. */
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
      // A carriage return at the very end may be the first half of a pair.
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop() ?? ''
      yield* lines
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}
