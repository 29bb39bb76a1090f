import { berth } from '../client.ts'
import { openedWith } from './opened-with.ts'

const KEY = 'berth-provider'

/** Leaves for the provider. What its answer must fit stays in this tab, where no other page finds it. */
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
