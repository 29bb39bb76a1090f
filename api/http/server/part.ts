import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { ApiError, httpProblems, type Issue, invalid } from '../contract/problem.ts'
import type { Part, Route } from '../contract/route.ts'

/** The content type of a part of a file. */
export const PART_TYPE = 'application/octet-stream'

/** Reads the headers of a request whose body is a part of a file. @throws ApiError validation_failed, payload_too_large */
export function partOf({ headers, body }: FastifyRequest, { id, partBytes }: Route): Part {
  if (partBytes === undefined) throw new Error(`the route ${id} takes no part of a file`)
  const numbers = ['Upload-Offset', 'Content-Length'].map((name) => {
    const text = String(headers[name.toLowerCase()] ?? '')
    const value = /^\d{1,15}$/.test(text) ? Number(text) : null
    // A request without a body has no content type either.
    return { name, value: value === 0 && name === 'Content-Length' ? null : value }
  })
  const issues = numbers.flatMap(({ name, value }): Issue[] => (value === null ? [issueOf(name)] : []))
  if (issues.length > 0) throw invalid(issues)
  const [offset = 0, bytes = 0] = numbers.map(({ value }) => value ?? 0)
  if (bytes > partBytes)
    throw new ApiError(
      httpProblems.payload_too_large,
      `A part may have at most ${partBytes} bytes, and this one has ${bytes}.`,
    )
  if (!(body instanceof Readable))
    throw new ApiError(httpProblems.unsupported_media_type, `Send the part with Content-Type: ${PART_TYPE}.`)
  return { offset, bytes, content: contentOf(body, bytes) }
}

function issueOf(name: string): Issue {
  const message = `${name} must be a number of bytes, in digits.`
  return { in: 'header', field: name, pointer: `/${name}`, code: 'invalid_format', message }
}

/** Yields the bytes of a part. The service does not fail if a client disconnects. */
async function* contentOf(body: Readable, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes
  try {
    for await (const chunk of body) {
      left -= chunk.length
      yield chunk
    }
  } catch {
    // The missing bytes are reported below.
  }
  if (left !== 0)
    throw new ApiError(httpProblems.bad_request, 'The body broke off before its end. Send the part again.')
}
