import { type AbuseSign, abuseKinds, accountStatuses, type Server, serverStatuses } from '@berth/sdk'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { berth } from '../client.ts'
import { readOffset } from '../routes.ts'

export const PAGE = 50

export interface AccountsSearch {
  q?: string
  status?: 'active' | 'suspended' | 'closed'
  offset?: number
}

export function readAccountsSearch(search: Record<string, unknown>): AccountsSearch {
  const { q, status } = search
  const known = accountStatuses.find((one) => one === status)
  return {
    ...(typeof q === 'string' && q !== '' ? { q } : {}),
    ...(known ? { status: known } : {}),
    ...readOffset(search),
  }
}

// Operators get no events of other accounts, so these queries poll.
export const accountsQuery = ({ q, status, offset = 0 }: AccountsSearch) =>
  queryOptions({
    queryKey: ['operator', 'accounts', q, status, offset],
    queryFn: ({ signal }) =>
      berth.operator.accounts(
        { limit: PAGE, offset, ...(q ? { search: q } : {}), ...(status ? { status } : {}) },
        { signal },
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })

export interface OperatedServersSearch {
  q?: string
  status?: Server['status']
  zone?: string
  /** The id of the account. */
  account?: string
  offset?: number
}

export function readOperatedServersSearch(search: Record<string, unknown>): OperatedServersSearch {
  const { q, zone, account } = search
  const status = serverStatuses.find((one) => one === search.status)
  return {
    ...(typeof q === 'string' && q !== '' ? { q } : {}),
    ...(status ? { status } : {}),
    ...(typeof zone === 'string' && zone !== '' ? { zone } : {}),
    ...(typeof account === 'string' && account !== '' ? { account } : {}),
    ...readOffset(search),
  }
}

const isAddress = (typed: string) => /^(\d+\.){3}\d+$|:/.test(typed)

export const operatedServersQuery = ({ q = '', status, zone, account, offset = 0 }: OperatedServersSearch) =>
  queryOptions({
    queryKey: ['operator', 'servers', q, status, zone, account, offset],
    queryFn: ({ signal }) =>
      berth.operator.servers(
        {
          ...{ limit: PAGE, offset },
          ...(q === '' ? {} : isAddress(q) ? { address: q } : { search: q }),
          ...(status ? { status } : {}),
          ...(zone ? { zone_slug: zone } : {}),
          ...(account ? { account_id: account } : {}),
        },
        { signal },
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
  })

export const operationsQuery = (state: 'active' | 'failed', offset: number) =>
  queryOptions({
    queryKey: ['operator', 'operations', state, offset],
    queryFn: ({ signal }) => berth.operator.operations({ state, limit: PAGE, offset }, { signal }),
    refetchInterval: 3_000,
  })

export const paymentsQuery = (hasProblem: boolean, offset: number) =>
  queryOptions({
    queryKey: ['operator', 'payments', hasProblem, offset],
    queryFn: ({ signal }) =>
      berth.operator.payments({ has_problem: hasProblem, limit: PAGE, offset }, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
  })

export interface DocumentsSearch {
  /** The id of the account. */
  customer?: string
  offset?: number
}

export function readDocumentsSearch(search: Record<string, unknown>): DocumentsSearch {
  const { customer } = search
  return {
    ...(typeof customer === 'string' && customer !== '' ? { customer } : {}),
    ...readOffset(search),
  }
}

/** The account that an address or id names; null if there is none. */
export async function findAccount(given: string) {
  const { items } = await berth.operator.accounts({ search: given })
  const wanted = given.toLowerCase()
  return items.find(({ account_id, email }) => [account_id, email.toLowerCase()].includes(wanted)) ?? null
}

export const operatedAccountQuery = (given: string) =>
  queryOptions({ queryKey: ['operator', 'account', given], queryFn: () => findAccount(given) })

export const operatedDocumentsQuery = (accountId: string, offset: number) =>
  queryOptions({
    queryKey: ['operator', 'documents', accountId, offset],
    queryFn: ({ signal }) => berth.operator.documents(accountId, { limit: PAGE, offset }, { signal }),
    placeholderData: keepPreviousData,
  })

export const operatedDocumentQuery = (accountId: string, documentId: string) =>
  queryOptions({
    queryKey: ['operator', 'documents', accountId, documentId],
    queryFn: ({ signal }) => berth.operator.document(accountId, documentId, { signal }),
  })

export const promoCodesQuery = (offset: number) =>
  queryOptions({
    queryKey: ['operator', 'promo-codes', offset],
    queryFn: ({ signal }) => berth.operator.promoCodes({ limit: PAGE, offset }, { signal }),
    placeholderData: keepPreviousData,
  })

export const operatedAnnouncementsQuery = (offset: number) =>
  queryOptions({
    queryKey: ['operator', 'announcements', offset],
    queryFn: ({ signal }) => berth.operator.announcements({ limit: PAGE, offset }, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })

export interface AbuseSearch {
  kind?: AbuseSign['kind']
  offset?: number
}

export function readAbuseSearch(search: Record<string, unknown>): AbuseSearch {
  const { kind } = search
  const known = abuseKinds.find((one) => one === kind)
  return {
    ...(known ? { kind: known } : {}),
    ...readOffset(search),
  }
}

export const abuseQuery = ({ kind, offset = 0 }: AbuseSearch) =>
  queryOptions({
    queryKey: ['operator', 'abuse', kind, offset],
    queryFn: ({ signal }) =>
      berth.operator.abuse({ limit: PAGE, offset, ...(kind ? { kind } : {}) }, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  })

export interface ComplaintsSearch {
  status?: 'closed'
  offset?: number
}

export function readComplaintsSearch(search: Record<string, unknown>): ComplaintsSearch {
  const { status } = search
  return {
    ...(status === 'closed' ? { status } : {}),
    ...readOffset(search),
  }
}

export const complaintsQuery = ({
  status = 'open',
  offset = 0,
}: Omit<ComplaintsSearch, 'status'> & { status?: 'open' | 'closed' }) =>
  queryOptions({
    queryKey: ['operator', 'complaints', status, offset],
    queryFn: ({ signal }) => berth.operator.complaints({ status, limit: PAGE, offset }, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })

export const complaintQuery = (id: string) =>
  queryOptions({
    queryKey: ['operator', 'complaint', id],
    queryFn: ({ signal }) => berth.operator.complaint(id, { signal }),
    refetchInterval: 15_000,
  })

export const roomQuery = queryOptions({
  queryKey: ['operator', 'capacity'],
  queryFn: ({ signal }) => berth.operator.capacity({ signal }),
  refetchInterval: 15_000,
})

/** The query never refetches by itself, because the text must not change while an operator edits it. */
export const catalogQuery = queryOptions({
  queryKey: ['operator', 'catalog'],
  queryFn: ({ signal }) => berth.operator.getCatalog({ signal }),
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: 0,
})

export const imagesQuery = queryOptions({
  queryKey: ['operator', 'images'],
  queryFn: ({ signal }) => berth.operator.images({ signal }),
  refetchInterval: 3_000,
})
