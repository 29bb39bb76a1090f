import type { Account } from '@berth/sdk'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { berth } from './client.ts'
import { forgetLinked } from './linked.ts'
import { setAccountOfTab } from './tab.ts'

/** The signed-in user's account, its scopes and quotas. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) => {
    const account = await berth.account.get({ signal })
    // Pins this tab to its account, even if another tab switches the session to another one.
    setAccountOfTab(account.account_id)
    forgetLinked()
    return account
  },
})

export const personQuery = queryOptions({
  queryKey: ['session', 'person'],
  queryFn: ({ signal }) => berth.person.get({ signal }),
})

export type Scope = Account['scopes'][number]

/** True if the user has the scope in this account. */
export function useMay(scope: Scope): boolean {
  const { data } = useQuery(sessionQuery)
  return data?.scopes.includes(scope) ?? false
}
