import { generateKeyPairSync } from 'node:crypto'

/** RFC 4251 strings, one after the other. */
export function pack(...parts: (string | Buffer)[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part)
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  )
}

export function line(type: string, blob: Buffer, comment = ''): string {
  return `${type} ${blob.toString('base64')}${comment ? ` ${comment}` : ''}`
}

type Jwk = Record<'x' | 'y' | 'n' | 'e', string>

function generate(
  kind: 'ed25519' | 'rsa' | 'P-256' | 'P-384' | 'P-521',
  bits = 2048,
): { jwk: Jwk; pem: string } {
  // Each overload of generateKeyPairSync accepts one kind.
  const pair =
    kind === 'ed25519'
      ? generateKeyPairSync('ed25519')
      : kind === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: bits })
        : generateKeyPairSync('ec', { namedCurve: kind })
  const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { jwk: pair.publicKey.export({ format: 'jwk' }) as Jwk, pem } // each kind has the members that are read below
}

const bytes = (base64url: string) => Buffer.from(base64url, 'base64url')
/** Encodes an integer as ssh does: with a leading zero if the first bit is set. */
const integer = (base64url: string) => {
  const value = bytes(base64url)
  return (value[0] ?? 0) > 127 ? Buffer.concat([Buffer.alloc(1), value]) : value
}
const point = ({ x, y }: Jwk) => Buffer.concat([Buffer.from([4]), bytes(x), bytes(y)])

export function ed25519(comment = ''): string {
  return line('ssh-ed25519', pack('ssh-ed25519', bytes(generate('ed25519').jwk.x)), comment)
}

export function ecdsa(curve: 256 | 384 | 521): string {
  const type = `ecdsa-sha2-nistp${curve}`
  return line(type, pack(type, `nistp${curve}`, point(generate(`P-${curve}`).jwk)))
}

export function rsa(bits: number): string {
  const { n, e } = generate('rsa', bits).jwk
  return line('ssh-rsa', pack('ssh-rsa', integer(e), integer(n)))
}

export function securityKey(kind: 'ed25519' | 'ecdsa'): string {
  if (kind === 'ed25519') {
    const type = 'sk-ssh-ed25519@openssh.com'
    return line(type, pack(type, bytes(generate('ed25519').jwk.x), 'ssh:'))
  }
  const type = 'sk-ecdsa-sha2-nistp256@openssh.com'
  return line(type, pack(type, 'nistp256', point(generate('P-256').jwk), 'ssh:'))
}

export function privateKey(): string {
  return generate('ed25519').pem
}
