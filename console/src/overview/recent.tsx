import type { BerthEvent, Server } from '@berth/sdk'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { berth } from '../client.ts'
import { useServersText } from '../servers/text.ts'
import { Card } from '../ui/page.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Time } from '../ui/time.tsx'
import { useOverviewText } from './text.ts'

const recentQuery = queryOptions({
  queryKey: ['event', 'recent'],
  queryFn: ({ signal }) => berth.events.list({ order: 'desc', limit: 12 }, { signal }),
})

/** The name of the event's object. */
function subjectOf(
  { data }: BerthEvent,
  servers: readonly Server[],
  portOf: (port: string, server: string) => string,
): string {
  const named = servers.find(({ server_id }) => server_id === data.server_id)?.name
  const { port, protocol } = data
  if (typeof port === 'number') {
    const place = `${port}/${protocol}`
    return named ? portOf(place, named) : place
  }
  if (named) return named
  for (const name of ['name', 'server_name', 'address', 'email'] as const) {
    const value = data[name]
    if (typeof value === 'string') return value
  }
  return ''
}

export function Recent({ servers }: { servers: readonly Server[] }) {
  const t = useOverviewText()
  const words = useServersText()
  const query = useQuery(recentQuery)
  const statuses: Readonly<Record<string, string>> = words.statuses
  const happened: Readonly<Record<string, (kind: string) => string>> = t.events
  const kinds: Readonly<Record<string, string>> = t.kinds
  const kindOf = ({ type }: BerthEvent) => {
    const [kind = ''] = type.split('.')
    return kinds[kind] ?? kind
  }
  const textOf = (event: BerthEvent) => {
    const [kind = '', what = ''] = event.type.split('.')
    const status = event.data.new_status
    const end =
      what === 'status_changed' && typeof status === 'string' ? ` ${statuses[status] ?? status}` : ''
    const operations: Readonly<Record<string, string>> = words.operations
    const { type } = event.data
    const verb = happened[event.type] ?? happened[what]
    const text = `${verb?.(kind) ?? what}${end.toLowerCase()}`
    return event.type.startsWith('operation.') && typeof type === 'string'
      ? t.endOf((operations[type] ?? type).toLowerCase(), text)
      : text
  }
  return (
    <Card title={t.recent}>
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={t.noEvents} />
          ) : (
            <ul className="recent">
              {items.map((event) => (
                <li key={event.event_id}>
                  <span className="tag">{kindOf(event)}</span>
                  <span>
                    <strong>{subjectOf(event, servers, t.portOf)}</strong> {textOf(event)}
                  </span>
                  <span className="muted small">
                    <Time at={event.created_at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  )
}
