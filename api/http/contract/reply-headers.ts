import type { Json } from './components.ts'

/** A header of a reply, as the API's description has it. */
export const header = (description: string, example: string, required = true) => ({
  description,
  required,
  schema: { type: 'string' },
  example,
})
export const headers = {
  'X-Request-Id': header(
    'Id of this request; quote it when you report a problem to the operator',
    '6a1de9b8-52f4-4b0c-9d57-0e1f5b0a7c55',
  ),
  'RateLimit-Policy': header(
    'The limit that this request counts against: its name, the number of requests (`q`), and the seconds that they are for (`w`)',
    '"reads";q=600;w=60',
  ),
  RateLimit: header(
    'What is left of the limit: requests (`r`), and seconds until all of them are available again (`t`)',
    '"reads";r=599;t=1',
  ),
  'Cache-Control': header('Whether, and for how many seconds, the reply may be cached', 'no-store'),
  'Retry-After': header('Seconds to wait before the next try', '1'),
  Location: header(
    'Path of the object that was created, or of the operation to wait for',
    '/v1/servers/01a1fb45-1ac2-75b7-a056-9ee82769d403',
  ),
  Link: header(
    'Addresses of the first, previous, next and last page, if there is one (RFC 8288)',
    '</v1/servers?limit=100&offset=0>; rel="first", </v1/servers?limit=100&offset=0>; rel="last"',
  ),
  ETag: header('Version of the object, for `If-Match` and `If-None-Match`', '"x3FqcV2o0b7dHk1mNw8zTg"'),
  'WWW-Authenticate': header('How to send a token: `Authorization: Bearer …`', 'Bearer'),
  'Idempotency-Replayed': header(
    '`true` if this is the reply to an earlier request with the same `Idempotency-Key`; otherwise missing',
    'true',
    false,
  ),
  'Accept-Encoding': header(
    '`identity` if the body was sent with a `Content-Encoding`; otherwise missing',
    'identity',
    false,
  ),
}

/** References to these headers, and to those that every reply has. */
export function refs(...names: (keyof typeof headers)[]): Json {
  const all = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit', 'Cache-Control', ...names]
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
