import type { Server } from '@berth/sdk'
import { useQuery } from '@tanstack/react-query'
import { serversQuery } from '../servers/queries.ts'

/** The account's servers, and the names of servers that other objects refer to by id. */
export function useServers() {
  const servers: readonly Server[] = useQuery(serversQuery({ limit: 200 })).data?.items ?? []
  const nameOf = (id: string) => servers.find(({ server_id }) => server_id === id)?.name ?? id
  return { servers, nameOf }
}

/** For a choice: nothing is chosen at first. */
export function optionsOf(servers: readonly Server[], none: string) {
  const named = servers.map(({ server_id, name }) => ({ value: server_id, title: name }))
  return [{ value: '', title: none }, ...named]
}
