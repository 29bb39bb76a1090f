import { ApiError } from './problem.ts'

/** Far more than anything here takes. */
const MAX_DEPTH = 32
const MAX_VALUES = 1000

/**
 * Why a body is not even parsed, or null.
 * @param encoding its Content-Encoding
 */
export function refusalOf(text: string, encoding: string | undefined): ApiError | null {
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    return new ApiError(
      'unsupported_media_type',
      'Send the body as it is, without a Content-Encoding.',
      {},
      { 'accept-encoding': 'identity' },
    )
  if (!isTooMuch(text)) return null
  return new ApiError(
    'payload_too_large',
    `A body may have up to ${MAX_VALUES} values, nested up to ${MAX_DEPTH} levels deep.`,
  )
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
