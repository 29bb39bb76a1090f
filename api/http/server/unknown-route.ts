import { distance } from 'fastest-levenshtein'
import type { FastifyRequest } from 'fastify'
import { ApiError, httpProblems } from '../contract/problem.ts'
import { PREFIX } from '../contract/route.ts'

/** A path that the service has, and the method of one of its routes. */
export interface Place {
  method: string
  path: string
  pattern: RegExp
}

export function placeOf({ method, path }: { method: string; path: string }): Place {
  return { method, path: PREFIX + path, pattern: new RegExp(`^${PREFIX}${path.replace(/:\w+/g, '[^/]+')}$`) }
}

/** The error for a path that no route has, or that has none for the method. */
export function unknownRoute(
  places: readonly Place[],
  request: Pick<FastifyRequest, 'url' | 'method'>,
): ApiError {
  const path = request.url.split('?')[0] ?? ''
  const here = places.filter(({ pattern }) => pattern.test(path))
  if (here.length === 0) return noSuchPath(places, path)
  const methods = here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const allow = [...new Set(methods)].join(', ')
  return new ApiError(
    httpProblems.method_not_allowed,
    `${path} allows ${allow}, not ${request.method}.`,
    {},
    { allow },
  )
}

/** The longest path that is corrected. */
const MAX_MISTYPED = 200

/** The most letters of a path that may be wrong. */
const MAX_WRONG = 2

/** Names the path that was probably meant: with the prefix once, no slash at the end, and its words spelled right. */
function noSuchPath(places: readonly Place[], path: string): ApiError {
  const trimmed = path.length > MAX_MISTYPED ? '' : path.replace(/\/+$/, '')
  const doubled = `${PREFIX}${PREFIX}/`
  const candidates = [trimmed, PREFIX + trimmed, trimmed.replace(doubled, `${PREFIX}/`)]
  const meant =
    candidates.find((candidate) => places.some(({ pattern }) => pattern.test(candidate))) ??
    respelled(places, trimmed.startsWith(`${PREFIX}/`) ? trimmed : PREFIX + trimmed)
  const advice = meant ? `Did you mean ${meant}?` : `The API is documented at ${PREFIX}/docs.`
  return new ApiError(httpProblems.route_not_found, `No such path: ${path}. ${advice}`)
}

/** The one path that differs in the fewest letters, with the ids that were given; null if several do, or none. */
function respelled(places: readonly Place[], path: string): string | null {
  const given = path.split('/')
  let least = MAX_WRONG
  let found = new Set<string>()
  for (const known of new Set(places.map((place) => place.path))) {
    const words = known.split('/')
    if (words.length !== given.length) continue
    const wrong = given.reduce((sum, word, at) => sum + wrongIn(word, words[at] ?? ''), 0)
    if (wrong > least) continue
    if (wrong < least) found = new Set()
    least = wrong
    found.add(words.map((word, at) => (word.startsWith(':') ? given[at] : word)).join('/'))
  }
  const [only = null, ...more] = found
  return more.length === 0 ? only : null
}

/** Counts the wrong letters; infinite if most are wrong, so that a word is not taken for another. */
function wrongIn(word: string, known: string): number {
  if (known.startsWith(':')) return word === '' ? Number.POSITIVE_INFINITY : 0
  const wrong = distance(word, known)
  return wrong === 0 || wrong < known.length / 3 ? wrong : Number.POSITIVE_INFINITY
}
