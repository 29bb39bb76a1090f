import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * RFC 6238 with SHA-1, 6 digits and 30 seconds: the defaults of authenticator apps, many of which ignore parameters.
 */
const DIGITS = 6
const STEP_MS = 30_000
/** RFC 4226 recommends 160 bits. */
export const SECRET_BYTES = 20
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The code of a step (RFC 4226, 5.3). */
export function codeOf(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = mac.readUInt8(mac.length - 1) & 0xf
  const number = mac.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** The step that a code belongs to: the current one or a neighbouring one, because clocks differ. */
export function stepOf(secret: Buffer, code: string, now: number): number | null {
  const present = Math.floor(now / STEP_MS)
  const isCode = (step: number) => timingSafeEqual(Buffer.from(codeOf(secret, step)), Buffer.from(code))
  return isTotp(code) ? ([present, present - 1, present + 1].find(isCode) ?? null) : null
}

export function isTotp(code: string): boolean {
  return /^[0-9]{6}$/.test(code)
}

/** RFC 4648, without padding: 5 bits a letter. */
export function toBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)]).join('')
}

/** URI that apps read from a QR code (Google Authenticator's key URI format). */
export function otpauthUri(secret: Buffer, { site, email }: { site: string; email: string }): string {
  const label = `${encodeURIComponent(site)}:${encodeURIComponent(email)}`
  return `otpauth://totp/${label}?secret=${toBase32(secret)}&issuer=${encodeURIComponent(site)}`
}
