import { useMutation } from '@tanstack/react-query'
import { berth } from '../client.ts'
import { setAccountOfTab } from '../tab.ts'

/** @param next the page to come back to after the next sign-in */
export function useSignOut(next?: string) {
  return useMutation({
    mutationFn: () => berth.signIn.signOut(),
    // The page is reloaded, so that no data of this person stays in the tab.
    onSuccess: () => {
      setAccountOfTab(null)
      location.assign(next ? `/sign-in?next=${encodeURIComponent(next)}` : '/sign-in')
    },
  })
}
