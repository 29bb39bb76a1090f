import type { ServerDetails } from '@berth/sdk'
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { serverQuery } from '../queries.ts'

const route = getRouteApi('/shell/servers/$serverId')

/** The server of the address; its page has loaded it before a tab is shown. */
export function useServer(): ServerDetails {
  const { serverId } = route.useParams()
  return useSuspenseQuery(serverQuery(serverId)).data
}
