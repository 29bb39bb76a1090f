import { queryOptions } from '@tanstack/react-query'
import { berth } from '../client.ts'

export const volumesQuery = queryOptions({
  queryKey: ['volume', 'list'],
  // The API's largest page; few accounts have more of them.
  queryFn: ({ signal }) => berth.volumes.list({ limit: 200 }, { signal }),
})
