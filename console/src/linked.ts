const LINKED = 'berth.linked'
const REFUSED = 'berth.refused'

function read(key: string): string | null {
  try {
    return sessionStorage.getItem(key)
  } catch {
    return null
  }
}

function write(key: string, value: string | null): void {
  try {
    if (value === null) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, value)
  } catch {
    // In a browser without storage, a link opens the account that was used last.
  }
}

/** The account of a link in a mail, until a request was answered for it. */
export const linkedAccount = (): string | null => read(LINKED)

/** Notes the account of a link that was opened. */
export const noteLinked = (account: string): void => write(LINKED, account)

/** The user is a member of the account, so the link has done its work. */
export const forgetLinked = (): void => write(LINKED, null)

/** The user is not a member: the next page tells them. */
export function refuseLinked(): void {
  if (linkedAccount() !== null) write(REFUSED, 'yes')
  forgetLinked()
}

/** True if this page was opened instead of that of an account that the user is not in. */
export const wasRefused = read(REFUSED) !== null
write(REFUSED, null)
