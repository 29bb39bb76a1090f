import { hash, randomBytes } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TOKEN = /^berth_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

/** A new token: `berth_`, 43 characters of base62 that carry 256 bits, 6 of checksum. */
export function generateToken(): string {
  const secret = toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)
  return `berth_${secret}${checksum(secret)}`
}

/** Allows leak scanners, and the service, to recognize a token without querying the database. */
function checksum(secret: string): string {
  const digest = hash('sha256', `berth_${secret}`)
  return toBase62(BigInt(`0x${digest.slice(0, 8)}`), 6)
}

function toBase62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text
  return text
}

/** True if a text has the form of a token, with a correct checksum. */
export function isToken(text: string): boolean {
  const [, secret, sum] = TOKEN.exec(text) ?? []
  return secret !== undefined && sum === checksum(secret)
}

export function hashToken(token: string): string {
  return hash('sha256', token)
}
