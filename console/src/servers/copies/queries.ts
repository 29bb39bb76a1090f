import { queryOptions } from '@tanstack/react-query'
import { berth } from '../../client.ts'

/** The backups of a server. */
export const backupsQuery = (server_id: string) =>
  queryOptions({
    queryKey: ['backup', 'list', server_id],
    queryFn: ({ signal }) => berth.backups.list({ server_id }, { signal }),
  })

export const snapshotsQuery = queryOptions({
  queryKey: ['snapshot', 'list'],
  // The API's largest page; no account has more of them.
  queryFn: ({ signal }) => berth.snapshots.list({ limit: 200 }, { signal }),
})
