import type { FastifyRequest } from 'fastify'
import { ApiError, httpProblems } from '../contract/problem.ts'

type Asked = Pick<FastifyRequest, 'headers' | 'host' | 'method'>

/**
 * Returns true if the page that sends a request belongs to this service, as its browser says. Null means that the
 * request does not show it, such as requests of programs, and reads of old browsers.
 * @param publicUrl the address at which customers find the service, if it is known
 */
function isOwnPage({ headers, host }: Asked, publicUrl: string | undefined): boolean | null {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined) {
    const page = URL.parse(origin)
    if (page === null) return false
    // With or without the port that its scheme has anyway.
    const own = URL.parse(`${page.protocol}//${host}`)?.host
    return page.host === own || page.origin === URL.parse(publicUrl ?? '')?.origin
  }
  // "none": a person typed the address.
  return site === undefined ? null : site === 'same-origin' || site === 'none'
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
    'Pages of other origins cannot do this. Use a page of this service, or a program with a token.',
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
