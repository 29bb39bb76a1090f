import type { BerthEvent, Server, ServerDetails, ServerList } from '@berth/sdk'
import { queryClient } from '../client.ts'

/** An event of a server has it as lists show it. Snapshots have a server_id, a status and a name, too. */
function isServer(data: object): data is Server {
  return 'server_id' in data && 'plan_type' in data
}

/** True if an event has the whole server. New and deleted servers change lists too. */
const isWhole = ({ type, data }: BerthEvent) =>
  isServer(data) && type !== 'server.created' && type !== 'server.deleted'

/**
 * Puts the servers in events into the cached lists and details.
 * @returns the events for which lists have to be fetched again
 */
export function applyServerEvents(events: readonly BerthEvent[]): BerthEvent[] {
  const latest = new Map<string, Server>()
  for (const event of events)
    if (isWhole(event) && isServer(event.data)) latest.set(event.data.server_id, event.data)
  if (latest.size === 0) return [...events]
  queryClient.setQueriesData<ServerList>({ queryKey: ['server', 'list'] }, (list) =>
    list?.items.some(({ server_id }) => latest.has(server_id))
      ? {
          ...list,
          items: list.items.map((server) => {
            const changed = latest.get(server.server_id)
            return changed ? { ...server, ...changed } : server
          }),
        }
      : list,
  )
  for (const [id, server] of latest) {
    const key = ['server', 'one', id]
    queryClient.setQueryData<ServerDetails>(key, (known) =>
      known ? { ...known, ...server, ssh: { ...known.ssh, ...server.ssh } } : known,
    )
    // Only the details have the allowed actions.
    void queryClient.invalidateQueries({ queryKey: key })
  }
  return events.filter((event) => !isWhole(event))
}
