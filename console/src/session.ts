import type { Account } from '@berth/sdk'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { berth } from './client.ts'
import { setAccountOfTab } from './tab.ts'

/** Who is signed in, to which account, and what it may have. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) => {
    const account = await berth.account.get({ signal })
    // From here on another tab that goes to another account does not take this one along.
    setAccountOfTab(account.account_id)
    return account
  },
})

export const personQuery = queryOptions({
  queryKey: ['session', 'person'],
  queryFn: ({ signal }) => berth.person.get({ signal }),
})

export type Scope = Account['scopes'][number]

/** Whether the API lets who looks at the page do what needs the scope. */
export function useMay(scope: Scope): boolean {
  const { data } = useQuery(sessionQuery)
  return data?.scopes.includes(scope) ?? false
}
