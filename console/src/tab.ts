const KEY = 'berth.account'

/** The account of this tab, kept across reloads: two tabs may be in two accounts at once. */
let present: string | null = kept()

function kept(): string | null {
  try {
    return sessionStorage.getItem(KEY)
  } catch {
    return null
  }
}

/** The account that the tab's requests are for; null for the session's own account. */
export const accountOfTab = (): string | null => present

export function setAccountOfTab(id: string | null): void {
  present = id
  try {
    if (id === null) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, id)
  } catch {
    // In a browser without storage, the session's account is used after a reload.
  }
}

/** Requests of this tab. */
export const fetchInAccount = (url: string, init: RequestInit): Promise<Response> => {
  if (present === null) return fetch(url, init)
  const headers = new Headers(init.headers)
  headers.set('berth-account', present)
  return fetch(url, { ...init, headers })
}
