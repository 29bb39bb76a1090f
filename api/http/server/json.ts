import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { MIMEType } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { messageOf } from '../../message-of.ts'
import { ApiError, cut, httpProblems } from '../contract/problem.ts'
import { callerOf } from '../limits/origin.ts'
import type { Turns } from '../limits/turns.ts'
import { PART_TYPE } from './part.ts'
import { SEND_JSON } from './send-problem.ts'

/** Far more than any request of this API needs. */
const MAX_DEPTH = 32
const MAX_VALUES = 1000
/** From this size on, parsing a body takes as long as a whole request, so it waits for a turn of its own. */
const LONG_BODY = 16_384

/** Parses bodies of JSON, leaves parts of files to their route, and refuses any other type. */
export function acceptBodies(http: FastifyInstance, turns: Turns): void {
  const parse = http.getDefaultJsonParser('error', 'error')
  http.removeAllContentTypeParsers()
  http.addContentTypeParser(PART_TYPE, (request, payload, done) => {
    const isExpected = request.routeOptions.config.takesPart === true
    done(isExpected ? null : new ApiError(httpProblems.unsupported_media_type, SEND_JSON), payload)
  })
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    // Clients that always send the header, also on a POST without a body, are common.
    if (body.length === 0) return done(null, undefined)
    const read = () => {
      const text = textOf(body, request.headers)
      void parse(request, text, (error, value) => done(error && invalidJson(text), value))
    }
    if (body.length < LONG_BODY) return read()
    turns.take(callerOf(request)).then(read).catch(done)
  })
}

/**
 * Returns the text of a body, which is parsed afterwards.
 * @throws ApiError unsupported_media_type, payload_too_large, invalid_json
 */
function textOf(bytes: Buffer, headers: IncomingHttpHeaders): string {
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity')
    throw new ApiError(
      httpProblems.unsupported_media_type,
      'Send the body uncompressed, without a Content-Encoding.',
      {},
      { 'accept-encoding': 'identity' },
    )
  const charset = charsetOf(headers['content-type'] ?? '')
  if (!/^utf-?8$/i.test(charset))
    throw new ApiError(httpProblems.unsupported_media_type, `Send the body in utf-8, not in ${charset}.`)
  if (isTooMuch(bytes))
    throw new ApiError(
      httpProblems.payload_too_large,
      `The body must have at most ${MAX_VALUES} values, nested at most ${MAX_DEPTH} levels deep.`,
    )
  // Decoding replaces invalid UTF-8 by U+FFFD: the stored text would differ from the one sent.
  if (!isUtf8(bytes)) throw new ApiError(httpProblems.invalid_json, 'The body is not valid UTF-8.')
  return bytes.toString()
}

/** Fastify's own error does not say what is wrong, or where. */
function invalidJson(text: string): ApiError {
  try {
    // Only its error is of interest.
    void (JSON.parse(text) as unknown)
  } catch (error) {
    const reason = messageOf(error).replace(/ (in JSON|is not valid JSON)/, '')
    return new ApiError(httpProblems.invalid_json, `The body is not valid JSON: ${cut(reason)}.`)
  }
  return new ApiError(httpProblems.invalid_json, 'The body has a forbidden key, such as __proto__.')
}

/** JSON is in UTF-8 (RFC 8259, 8.1) and its type has no such parameter, but many clients send it. */
function charsetOf(contentType: string): string {
  // Almost every request has none, and skips the parser.
  if (!/charset/i.test(contentType)) return 'utf-8'
  return new MIMEType(contentType).params.get('charset') ?? 'utf-8'
}

const [QUOTE, BACKSLASH, COMMA, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [
  0x22, 0x5c, 0x2c, 0x7b, 0x7d, 0x5b, 0x5d,
]

/**
 * True if a JSON text has more values or nests deeper than any request of this API. This is checked before parsing:
 * parsing and checking 256 KiB of brackets or commas would keep everybody else waiting, and recursive functions would
 * run out of stack. In UTF-8 these bytes are never part of another character.
 */
function isTooMuch(bytes: Buffer): boolean {
  let depth = 0
  let commas = 0
  let isInString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) isInString = !isInString
    else if (isInString) {
      // An escaped quote does not end the string.
      if (byte === BACKSLASH) at += 1
    } else if (byte === OPEN_LIST || byte === OPEN) depth += 1
    else if (byte === CLOSE_LIST || byte === CLOSE) depth -= 1
    else if (byte === COMMA) commas += 1
    if (depth > MAX_DEPTH || commas >= MAX_VALUES) return true
  }
  return false
}
