import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { ApiError, httpProblems } from '../contract/problem.ts'

type Asked = Pick<FastifyRequest, 'headers' | 'host' | 'method'>

/**
 * Returns true if the browser reports that the page behind a request belongs to this service. Null means that
 * the request does not show its page, as with programs and reads of old browsers.
 * @param publicUrl the address at which customers find the service, if it is known
 */
function isOwnPage({ headers, host }: Asked, publicUrl: string | undefined): boolean | null {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined) {
    const page = URL.parse(origin)
    if (page === null) return false
    if (page.origin === URL.parse(publicUrl ?? '')?.origin) return true
    // URL.parse drops the default port of the scheme, which Host may include.
    const own = URL.parse(`${page.protocol}//${host}`)
    return page.host === own?.host && (page.protocol === 'https:' || !isRebindable(page.hostname))
  }
  // "none": a person typed the address.
  return site === undefined ? null : site === 'same-origin' || site === 'none'
}

/**
 * A stranger's page gets the Host of this service by letting its own name resolve to this address later (DNS rebinding).
 * Without TLS, only names that strangers cannot register are safe: addresses, names without a dot, and local domains.
 */
function isRebindable(hostname: string): boolean {
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return false
  return hostname.includes('.') && !/\.(localhost|local|internal|home\.arpa)$/.test(hostname)
}

/**
 * Refuses requests of pages of other origins; programs, which name no page, are accepted.
 * @throws ApiError origin_not_allowed
 */
export function refuseForeignPage(request: Asked, publicUrl: string | undefined): void {
  if (isOwnPage(request, publicUrl) === false) throw foreign()
}

/**
 * A browser sends its cookies with requests of any page. So a change must come from a page of this service, and show
 * that.
 * @throws ApiError origin_not_allowed
 */
export function requireOwnPage(request: Asked, publicUrl: string | undefined): void {
  const isOwn = isOwnPage(request, publicUrl)
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isOwn === false || (isOwn === null && !isRead)) throw foreign()
}

function foreign(): ApiError {
  return new ApiError(
    httpProblems.origin_not_allowed,
    'Pages of other origins cannot do this. Use a page of this service, or a program with a token. If this is a page of this service, open it by its IP address, or ask the operator to set its name with BERTH_PUBLIC_NAME.',
  )
}

/** True if a request came over TLS, to this process or to the proxy before it. */
export function isByTls(
  { protocol, host }: Pick<FastifyRequest, 'protocol' | 'host'>,
  publicUrl: string | undefined,
): boolean {
  const known = URL.parse(publicUrl ?? '')
  return protocol === 'https' || (known?.protocol === 'https:' && known.host === host)
}

/** The error for a token on a route that requires a person. */
export function personRequired(): ApiError {
  return new ApiError(
    httpProblems.person_required,
    'Only a person who has signed in can do this; a token does not belong to a person.',
  )
}
