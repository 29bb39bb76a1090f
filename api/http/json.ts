import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { MIMEType } from 'node:util'
import { ApiError, httpProblems } from './problem.ts'

/** Far more than anything here takes. */
const MAX_DEPTH = 32
const MAX_VALUES = 1000

/**
 * The text of a body, which is then to be parsed.
 * @throws ApiError unsupported_media_type, payload_too_large, invalid_json
 */
export function textOf(bytes: Buffer, headers: IncomingHttpHeaders): string {
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
  const text = bytes.toString()
  if (isTooMuch(text))
    throw new ApiError(
      httpProblems.payload_too_large,
      `The body must have at most ${MAX_VALUES} values, nested at most ${MAX_DEPTH} levels deep.`,
    )
  // Decoding puts U+FFFD in the place of what is no UTF-8: something else would be stored than was sent.
  if (!isUtf8(bytes)) throw new ApiError(httpProblems.invalid_json, 'The body is not valid UTF-8.')
  return text
}

/** JSON is in UTF-8 (RFC 8259, 8.1) and its type has no such parameter, but many clients send it. */
function charsetOf(contentType: string): string {
  // Almost every request has none, and is spared the parser.
  if (!/charset/i.test(contentType)) return 'utf-8'
  return new MIMEType(contentType).params.get('charset') ?? 'utf-8'
}

/**
 * Whether a JSON text has more values, or nests deeper, than anything here does. Found out before it is parsed: to
 * parse, check and explain 256 KiB of brackets or commas keeps everybody else waiting, and whatever walks such a
 * value by calling itself runs out of stack.
 */
function isTooMuch(text: string): boolean {
  let depth = 0
  let commas = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') isInString = !isInString
    else if (isInString) {
      // What is escaped can't end the string.
      if (character === '\\') at += 1
    } else if (character === '[' || character === '{') depth += 1
    else if (character === ']' || character === '}') depth -= 1
    else if (character === ',') commas += 1
    if (depth > MAX_DEPTH || commas >= MAX_VALUES) return true
  }
  return false
}
