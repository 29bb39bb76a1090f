import { berth } from '../client.ts'
import { openedWith } from './opened-with.ts'

const KEY = 'berth-provider'

/** Opens the provider's page. The values that its response must match stay in this tab, out of reach of other pages. */
export async function goToProvider(next: string): Promise<void> {
  const { ticket, url } = await berth.signIn.beginProvider()
  sessionStorage.setItem(KEY, JSON.stringify({ ticket, next }))
  location.assign(url)
}

/** The provider's reply, readable once; null in a tab that did not start the sign-in. */
export function takeAnswer(): { ticket: string; next: string; answer: string } | null {
  const kept = sessionStorage.getItem(KEY)
  sessionStorage.removeItem(KEY)
  history.replaceState(null, '', location.pathname)
  if (kept === null || openedWith === '') return null
  const { ticket, next }: { ticket: string; next: string } = JSON.parse(kept)
  return { ticket, next, answer: openedWith }
}
