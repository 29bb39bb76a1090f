import { queryOptions } from '@tanstack/react-query'
import { berth } from '../client.ts'

export const snapshotsQuery = queryOptions({
  queryKey: ['snapshot', 'list'],
  // The API's largest page; no account has more of them.
  queryFn: ({ signal }) => berth.snapshots.list({ limit: 200 }, { signal }),
})
