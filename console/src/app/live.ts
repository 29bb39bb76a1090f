import { Berth, type BerthEvent, isBerthError } from '@berth/sdk'
import { useSyncExternalStore } from 'react'
import { queryClient } from '../client.ts'
import type { Feature } from '../feature.ts'
import { applyServerEvents } from '../servers/live.ts'
import { fetchInAccount } from '../tab.ts'
import { features } from './features.ts'

/** Keys of queries, and the resources whose events make these queries out of date. */
const refreshedBy = features.flatMap((feature: Feature) => Object.entries(feature.refreshedBy ?? {}))

/** Events can come by the thousand: those of this interval are shown together. */
const GATHER_MS = 400
const PAUSE_MS = 3_000

/** The stream reconnects on its own. Without retries, a failed request is reported before it is repeated. */
const berth = new Berth({ baseUrl: '/v1', retries: 0, fetch: fetchInAccount })
const listeners = new Set<() => void>()
let lostAt: number | null = null

function setLost(at: number | null): void {
  if ((lostAt === null) === (at === null)) return
  lostAt = at
  for (const listener of listeners) listener()
}

/** The time since which the page may be out of date; null while the connection holds. */
export const useLostAt = (): number | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => lostAt,
  )

/** Follows the account's events while the page is visible, and keeps its data up to date. */
export function follow(): () => void {
  let running: AbortController | null = null
  let wasHidden = false
  const look = () => {
    if (document.hidden) {
      wasHidden = true
      running?.abort()
      running = null
    } else if (!running) {
      running = new AbortController()
      // Events were missed while the page was hidden.
      if (wasHidden) void queryClient.invalidateQueries()
      void listen(running.signal)
    }
  }
  look()
  document.addEventListener('visibilitychange', look)
  return () => {
    document.removeEventListener('visibilitychange', look)
    running?.abort()
  }
}

async function listen(signal: AbortSignal): Promise<void> {
  const onConnection = (isOpen: boolean) => {
    if (isOpen && lostAt !== null) void queryClient.invalidateQueries()
    setLost(isOpen ? null : Date.now())
  }
  while (!signal.aborted)
    try {
      for await (const event of berth.events({ signal, onConnection })) note(event)
    } catch (error) {
      if (signal.aborted) return
      // The session is over: the next request of the page says so, too.
      if (isBerthError(error) && error.status === 401) return void queryClient.invalidateQueries()
      setLost(Date.now())
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
}

const waiting: BerthEvent[] = []

/** The first event of a batch starts its timer. */
function note(event: BerthEvent): void {
  if (waiting.push(event) === 1) setTimeout(show, GATHER_MS)
}

function show(): void {
  const resources = new Set(applyServerEvents(waiting.splice(0)).map(({ type }) => type.split('.')[0] ?? ''))
  const touched = refreshedBy.filter(([, by]) => by.some((one) => resources.has(one))).map(([key]) => key)
  for (const key of new Set(['event', ...resources, ...touched]))
    void queryClient.invalidateQueries({ queryKey: [key] })
}
