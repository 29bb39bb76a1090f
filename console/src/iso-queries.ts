import { queryOptions } from '@tanstack/react-query'
import { berth, queryClient } from './client.ts'

export const isosQuery = queryOptions({
  queryKey: ['iso', 'list'],
  // The API's largest page; no account has more of them.
  queryFn: ({ signal }) => berth.isos.list({ limit: 200 }, { signal }),
})

export const refreshIsos = () => queryClient.invalidateQueries({ queryKey: ['iso'] })
