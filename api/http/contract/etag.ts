import { hash } from 'node:crypto'
import { ApiError, httpProblems } from './problem.ts'

/**
 * The entity tag (RFC 9110, 8.8.3) of a reply.
 * @param json the reply's body, or the view that it is built from
 */
export function etagOf(json: string | object): string {
  const text = typeof json === 'string' ? json : JSON.stringify(json)
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`
}

/** True if a list of tags, as in If-Match and If-None-Match, names this tag or is `*`. */
export function namesEtag(header: string, etag: string): boolean {
  return header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}

/**
 * Refuses a change that is based on an older version of the object. Call it while the object is locked.
 * @param ifMatch the If-Match header, if the request has one
 * @throws ApiError precondition_failed
 */
export function requireMatch(ifMatch: string | undefined, view: object): void {
  if (ifMatch === undefined) return
  const etag = etagOf(view)
  if (namesEtag(ifMatch, etag)) return
  throw new ApiError(
    httpProblems.precondition_failed,
    'The object has changed since you read it. Read it again and retry your change.',
    {},
    { etag },
  )
}
