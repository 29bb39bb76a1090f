import { queryOptions } from '@tanstack/react-query'
import { berth, queryClient } from './client.ts'

export const imagesQuery = queryOptions({
  queryKey: ['image', 'list'],
  // The API's largest page; no account has more of them.
  queryFn: ({ signal }) => berth.images.list({ limit: 200 }, { signal }),
})

export const refreshImages = () => queryClient.invalidateQueries({ queryKey: ['image'] })
