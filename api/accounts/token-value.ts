import { hash, randomBytes } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TOKEN = /^(berth|berthop)_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

const HCLOUD_SECRET = 58
const HCLOUD_TOKEN = /^([0-9A-Za-z]{58})([0-9A-Za-z]{6})$/

/** The first part of a token: of an account, or of the operator. */
type Prefix = 'berth' | 'berthop'

/** Returns a new token: prefix, `_`, 43 characters of base62 that carry 256 bits, and 6 of checksum. */
export function generateToken(prefix: Prefix = 'berth'): string {
  const secret = toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)
  return `${prefix}_${secret}${checksum(prefix, secret)}`
}

/**
 * Returns a new token for hcloud's tools, which accept exactly 64 letters and digits: 58 are random, 6 are
 * the checksum.
 */
export function generateHcloudToken(): string {
  const secret = toBase62(BigInt(`0x${randomBytes(43).toString('hex')}`), HCLOUD_SECRET)
  return `${secret}${checksum('hcloud', secret)}`
}

/** Returns a checksum by which leak scanners and the service recognize a token without a query. */
function checksum(prefix: string, secret: string): string {
  const digest = hash('sha256', `${prefix}_${secret}`)
  return toBase62(BigInt(`0x${digest.slice(0, 8)}`), 6)
}

function toBase62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text
  return text
}

/** True if a text has the form of a token, with a correct checksum. */
export function isToken(text: string): boolean {
  const hcloud = HCLOUD_TOKEN.exec(text)
  if (hcloud) return hcloud[2] === checksum('hcloud', hcloud[1] ?? '')
  const [, prefix, secret, sum] = TOKEN.exec(text) ?? []
  return prefix !== undefined && secret !== undefined && sum === checksum(prefix, secret)
}

/** True if a text looks like an operator's token, complete or not. */
export function isForOperator(text: string): boolean {
  return text.startsWith('berthop_')
}

export function hashToken(token: string): string {
  return hash('sha256', token)
}
