import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { berth } from '../client.ts'

export const PAGE = 50

export const balanceQuery = queryOptions({
  queryKey: ['balance'],
  queryFn: ({ signal }) => berth.account.balance({ signal }),
  // Charges are no events.
  refetchInterval: 60_000,
})

export const usageQuery = (month: string) =>
  queryOptions({
    queryKey: ['balance', 'usage', month],
    queryFn: ({ signal }) => berth.usage.get({ month }, { signal }),
    placeholderData: keepPreviousData,
  })

export const transactionsQuery = (offset: number) =>
  queryOptions({
    queryKey: ['balance', 'transactions', offset],
    queryFn: ({ signal }) => berth.transactions.list({ limit: PAGE, offset }, { signal }),
    placeholderData: keepPreviousData,
  })

export const providersQuery = queryOptions({
  queryKey: ['balance', 'providers'],
  queryFn: ({ signal }) => berth.payments.providers({ signal }),
  staleTime: 60_000,
})

export const methodsQuery = queryOptions({
  queryKey: ['balance', 'methods'],
  // An account has at most ten.
  queryFn: ({ signal }) => berth.payments.methods({ limit: PAGE }, { signal }),
})

export const autoTopUpQuery = queryOptions({
  queryKey: ['balance', 'auto-top-up'],
  queryFn: ({ signal }) => berth.payments.autoTopUp({ signal }),
})

export const creditsQuery = queryOptions({
  queryKey: ['balance', 'credits'],
  // At most 50 have not ended.
  queryFn: ({ signal }) => berth.credits.list({ limit: 100 }, { signal }),
})

export const transfersQuery = queryOptions({
  queryKey: ['balance', 'transfers'],
  // At most ten are open, and the newest come first.
  queryFn: ({ signal }) => berth.transfers.list({ limit: PAGE }, { signal }),
})

export const paymentsQuery = (offset: number) =>
  queryOptions({
    queryKey: ['balance', 'payments', offset],
    queryFn: ({ signal }) => berth.payments.list({ limit: PAGE, offset }, { signal }),
    placeholderData: keepPreviousData,
  })

export const documentsQuery = (offset: number) =>
  queryOptions({
    queryKey: ['balance', 'documents', offset],
    queryFn: ({ signal }) => berth.documents.list({ limit: PAGE, offset }, { signal }),
    placeholderData: keepPreviousData,
  })

/** Polls a payment until its result is final. */
export const paymentQuery = (paymentId: string) =>
  queryOptions({
    queryKey: ['balance', 'payment', paymentId],
    queryFn: ({ signal }) => berth.payments.get(paymentId, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? 2_000 : false),
  })

/** The current month, such as `2026-11`, in UTC as in the API, and the eleven before it. */
export function lastMonths(now: Date): string[] {
  return Array.from({ length: 12 }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  )
}
