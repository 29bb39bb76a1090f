import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { berth } from '../client.ts'

/** The API's largest page; no account has more objects of the lists that are shown completely. */
const ALL = 200
export const PAGE = 50

export const accountQuery = queryOptions({
  queryKey: ['account', 'me'],
  queryFn: ({ signal }) => berth.account.get({ signal }),
})

export const projectsQuery = queryOptions({
  queryKey: ['project', 'list'],
  queryFn: ({ signal }) => berth.projects.list({ limit: ALL }, { signal }),
})

export const sshKeysQuery = queryOptions({
  queryKey: ['ssh_key', 'list'],
  queryFn: ({ signal }) => berth.sshKeys.list({ limit: ALL }, { signal }),
})

export const tokensQuery = queryOptions({
  queryKey: ['token', 'list'],
  queryFn: ({ signal }) => berth.tokens.list({ limit: ALL }, { signal }),
})

export const webhooksQuery = queryOptions({
  queryKey: ['webhook', 'list'],
  queryFn: ({ signal }) => berth.webhooks.list({ limit: ALL }, { signal }),
})

export const deliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhook', 'deliveries', id],
    queryFn: ({ signal }) => berth.webhooks.deliveries(id, { limit: PAGE }, { signal }),
    refetchInterval: 5_000,
  })

export const auditQuery = (offset: number) =>
  queryOptions({
    // Every event of the account adds an entry.
    queryKey: ['event', 'audit', offset],
    queryFn: ({ signal }) => berth.audit.list({ limit: PAGE, offset }, { signal }),
    placeholderData: keepPreviousData,
  })
