import { noteLinked } from './linked.ts'
import { setAccountOfTab } from './tab.ts'

/** Moves the account of a link from the address into the tab, so that a copied address leads anybody to their own. */
function takeOver(): void {
  const url = new URL(location.href)
  const account = url.searchParams.get('account')
  // A provider's answer must stay as it is.
  if (account === null || url.pathname.startsWith('/sign-in/')) return
  url.searchParams.delete('account')
  history.replaceState(history.state, '', url)
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(account)) return
  noteLinked(account)
  setAccountOfTab(account)
}
takeOver()
