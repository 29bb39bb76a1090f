/** Over TLS, browsers accept this name only from this very host: no other host of the domain can set it. */
const nameOf = (isSecure: boolean) => (isSecure ? '__Host-berth_session' : 'berth_session')

/** Reads the session secret from a Cookie header. @returns null if there is none */
export function readCookie(header: string | undefined, isSecure: boolean): string | null {
  const start = `${nameOf(isSecure)}=`
  const found = (header ?? '').split(';').find((part) => part.trimStart().startsWith(start))
  return found?.trim().slice(start.length) || null
}

/** The Set-Cookie header of a session. @param value null deletes the cookie */
export function writeCookie(value: string | null, isSecure: boolean, livesMs: number): string {
  const maxAge = value === null ? 0 : Math.floor(livesMs / 1000)
  const always = 'Path=/; HttpOnly; SameSite=Lax'
  return `${nameOf(isSecure)}=${value ?? ''}; ${always}; Max-Age=${maxAge}${isSecure ? '; Secure' : ''}`
}
