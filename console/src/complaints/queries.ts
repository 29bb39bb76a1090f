import { queryOptions } from '@tanstack/react-query'
import { berth } from '../client.ts'

/** More than an account can have. */
const ALL = 100

export interface StatusSearch {
  status?: 'closed'
}

export function readStatus({ status }: Record<string, unknown>): StatusSearch {
  return status === 'closed' ? { status } : {}
}

export const ownComplaintsQuery = (status: 'open' | 'closed') =>
  queryOptions({
    queryKey: ['complaint', 'list', status],
    queryFn: ({ signal }) => berth.complaints.list({ status, limit: ALL }, { signal }),
  })

export const ownComplaintQuery = (id: string) =>
  queryOptions({
    queryKey: ['complaint', 'one', id],
    queryFn: ({ signal }) => berth.complaints.get(id, { signal }),
  })
