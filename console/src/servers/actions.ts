import { useMutation } from '@tanstack/react-query'
import { berth, queryClient } from '../client.ts'

export type Power = 'start' | 'stop' | 'reboot'

/** Refreshes lists and pages of servers; events bring the rest. */
export const refreshServers = () => queryClient.invalidateQueries({ queryKey: ['server'] })

export function usePower(serverId: string) {
  return useMutation({
    mutationFn: ({ action, force = false }: { action: Power; force?: boolean }) =>
      action === 'start' ? berth.servers.start(serverId) : berth.servers[action](serverId, { force }),
    onSettled: refreshServers,
  })
}

/** The same for several servers: a failure for one does not stop the others, and all are reported together. */
export async function forEach(ids: readonly string[], run: (id: string) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(ids.map(run))
  await refreshServers()
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}
