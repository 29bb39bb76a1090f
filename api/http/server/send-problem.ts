import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { isDiskFull, isUnavailable } from '../../database/database.ts'
import { ApiError, httpProblems } from '../contract/problem.ts'

export const BODY_LIMIT = 256 * 1024
export const SEND_JSON = 'Send the body as JSON, with the header Content-Type: application/json.'

/** Converts an error to the one that a client gets; a bug of ours stays unchanged. */
export function toApiError(error: unknown): ApiError | Error {
  if (error instanceof ApiError) return error
  const { code = '', statusCode = 500, message } = error as Partial<FastifyError> // anything can be thrown; each member is optional here
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ApiError(httpProblems.unsupported_media_type, SEND_JSON)
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new ApiError(httpProblems.payload_too_large, `The body may have at most ${BODY_LIMIT / 1024} KiB.`)
  if (isDiskFull(error))
    return new ApiError(
      httpProblems.backend_unavailable,
      'The change was not stored: the disk of the service is full. Reading still works. Try again once the operator has made room.',
      {},
      { 'retry-after': '60' },
    )
  if (isUnavailable(error))
    return new ApiError(
      httpProblems.backend_unavailable,
      'The database did not answer in time: it is restarting, or busy with many requests. Try again in a moment.',
      {},
      { 'retry-after': '5' },
    )
  if (statusCode >= 400 && statusCode < 500)
    return new ApiError(httpProblems.bad_request, `The request is malformed: ${message}.`)
  return error instanceof Error ? error : new Error(String(error))
}

/** Replies with the problem document of an error. */
export function sendProblem(
  error: ApiError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  return reply.serializer(String).send(prepareProblem(error, request, reply))
}

/** Sets the status and headers of the reply to those of an error. @returns the problem document as JSON */
export function prepareProblem(
  error: ApiError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): string {
  let problem = error
  if (!(problem instanceof ApiError)) {
    request.log.error({ err: error, request_id: request.id }, 'a request failed unexpectedly')
    problem = new ApiError(
      httpProblems.internal_error,
      'An unexpected error occurred. Try again; if it keeps happening, give the request id to the operator.',
    )
  }
  const known = problem as ApiError // by the lines above
  if (known.type.status === 401) reply.header('www-authenticate', 'Bearer')
  if (isBodyComing(request)) leaveBody(request, reply)
  const document = known.toProblem(request.id, request.originalUrl.split('?')[0] ?? '')
  reply
    .code(known.type.status)
    // The id is set here too, because requests that the router refuses never reach the hooks.
    .headers({ 'x-request-id': request.id, 'cache-control': 'no-store', ...known.headers })
    .type('application/problem+json')
  return JSON.stringify(document)
}

/** The longest refused body that is read to its end, in bytes. */
const MAX_DISCARDED = 1024 * 1024

/**
 * Reads a refused body that is short without keeping it. A connection closed before its end would be reset, and the
 * client could lose the reply (RFC 9112, 9.6).
 */
function leaveBody({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (Number(raw.headers['content-length']) <= MAX_DISCARDED) {
    reply.removeHeader('connection')
    raw.resume()
  } else reply.header('connection', 'close')
}

/** True if the client is still sending a body that the service does not read. */
export function isBodyComing({ raw }: FastifyRequest): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = raw.headers
  return !raw.complete && !raw.readableEnded && (coding !== undefined || length !== '0')
}
