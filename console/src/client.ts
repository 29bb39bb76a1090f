import { Berth, isBerthError } from '@berth/sdk'
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { refuseLinked } from './linked.ts'
import { accountOfTab, fetchInAccount, setAccountOfTab } from './tab.ts'

/** A client for the page's own origin; the session's cookie goes with each request. */
export const berth = new Berth({ baseUrl: '/v1', fetch: fetchInAccount })

const listeners = new Set<() => void>()

/** Calls back when the API no longer accepts the session, whichever request found out. */
export function onSessionEnd(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function notice(error: Error): void {
  if (!isBerthError(error)) return
  if (error.status === 401) for (const listener of listeners) listener()
  // The user was removed from the account, so the session is in another one, or in none.
  if (error.code !== 'not_a_member' || accountOfTab() === null) return
  refuseLinked()
  setAccountOfTab(null)
  location.assign('/')
}

/** The client retries on its own, and events of the account report outdated data. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: notice }),
  mutationCache: new MutationCache({ onError: notice }),
  defaultOptions: {
    queries: {
      retry: false,
      staleTime: 30_000,
      gcTime: 30 * 60_000,
      refetchOnWindowFocus: false,
      networkMode: 'always',
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})
