import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/**
 * The password hash that Linux keeps in /etc/shadow ("$6$"), after Ulrich Drepper's "Unix crypt using SHA-256 and
 * SHA-512" (https://www.akkadia.org/drepper/SHA-crypt.txt). Step numbers in comments are that text's.
 */

const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ROUNDS = 5000
const SALT = /^\$6\$([./0-9A-Za-z]{1,16})(?:\$|$)/

/** Hashes a new password with a random salt: `$6$salt$hash`, 5000 rounds. */
export function hashPassword(password: string): string {
  let salt = ''
  for (const byte of randomBytes(16)) salt += ALPHABET[byte & 63]
  return sha512Crypt(password, salt)
}

/** True if `hash`, from hashPassword, belongs to this password. */
export function isHashOf(password: string, hash: string): boolean {
  const salt = SALT.exec(hash)?.[1]
  if (salt === undefined) return false
  const again = Buffer.from(sha512Crypt(password, salt))
  const given = Buffer.from(hash)
  return again.length === given.length && timingSafeEqual(again, given)
}

/** `$6$salt$hash` of a password; the salt is cut to 16 characters as the specification asks. */
export function sha512Crypt(password: string, saltText: string): string {
  const key = Buffer.from(password)
  const salt = Buffer.from(saltText.slice(0, 16))
  const alternate = sha512(key, salt, key) // 4-8

  // 9-12
  const parts: Buffer[] = [key, salt, repeated(alternate, key.length)]
  for (let length = key.length; length > 0; length >>= 1) parts.push(length & 1 ? alternate : key)
  let sum: Buffer = sha512(...parts)

  const p = repeated(sha512(...Array<Buffer>(key.length).fill(key)), key.length) // 13-16
  const first = sum[0] ?? 0
  const s = repeated(sha512(...Array<Buffer>(16 + first).fill(salt)), salt.length) // 17-20

  // 21
  for (let round = 0; round < ROUNDS; round++) {
    const odd = round & 1
    const pieces = [odd ? p : sum]
    if (round % 3) pieces.push(s)
    if (round % 7) pieces.push(p)
    pieces.push(odd ? sum : p)
    sum = sha512(...pieces)
  }
  return `$6$${salt.toString()}$${encode(sum)}`
}

function sha512(...parts: Buffer[]): Buffer {
  const hash = createHash('sha512')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

function repeated(block: Buffer, length: number): Buffer {
  return Buffer.alloc(length, block)
}

/** Step 22: a special base64, over bytes in a special order: (0,21,42) (22,43,1) (44,2,23) ... and 63 alone. */
function encode(sum: Buffer): string {
  const byte = (index: number) => sum[index] ?? 0
  let text = ''
  let [a, b, c] = [0, 21, 42]
  for (let i = 0; i < 21; i++) {
    text += digits((byte(a) << 16) | (byte(b) << 8) | byte(c), 4)
    ;[a, b, c] = [b + 1, c + 1, a + 1]
  }
  return text + digits(byte(63), 2)
}

function digits(value: number, count: number): string {
  let text = ''
  for (let i = 0; i < count; i++) text += ALPHABET[(value >> (6 * i)) & 63]
  return text
}

/** The same password keeps its hash, so that defining a machine again changes nothing. */
export function hashFor(password: string | null, old: string | null): string | null {
  if (password === null) return old
  return old !== null && isHashOf(password, old) ? old : hashPassword(password)
}
