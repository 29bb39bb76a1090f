import { berth } from '../client.ts'
import { openedWith } from './opened-with.ts'

const KEY = 'berth-provider'

/** Opens the provider's page. The values that its response must match stay in this tab, out of reach of other pages. */
export async function goToProvider(next: string, accepted_terms?: string): Promise<void> {
  const { ticket, url } = await berth.signIn.beginProvider()
  sessionStorage.setItem(KEY, JSON.stringify({ ticket, next, accepted_terms }))
  location.assign(url)
}

interface Kept {
  ticket: string
  next: string
  /** The version of the terms that a new person accepts; absent if there are none. */
  accepted_terms?: string
}

/** The provider's reply, readable once; null in a tab that did not start the sign-in. */
export function takeAnswer(): (Kept & { answer: string }) | null {
  const kept = sessionStorage.getItem(KEY)
  sessionStorage.removeItem(KEY)
  history.replaceState(null, '', location.pathname)
  if (kept === null || openedWith === '') return null
  const begun: Kept = JSON.parse(kept)
  return { ...begun, answer: openedWith }
}
