import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { SITE } from '../../harness/app.ts'

/** Encodes the types of CBOR that attestations use. */
function cbor(value: unknown): Buffer {
  const head = (major: number, size: number) =>
    Buffer.from(
      size < 24
        ? [(major << 5) | size]
        : size < 256
          ? [(major << 5) | 24, size]
          : [(major << 5) | 25, size >> 8, size & 0xff],
    )
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)])
  if (!(value instanceof Map)) throw new Error('not written here')
  return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, own]) => [cbor(key), cbor(own)])])
}

export interface Faults {
  origin?: string
  type?: string
  rpId?: string
  /** True if the user does not unlock the key. */
  isUnverified?: boolean
  /** True if the key is used in a frame on another site's page. */
  isFramed?: boolean
  /** The number of signatures that the device counts; 0: it does not count. */
  counter?: number
  attestation?: Map<string, unknown>
  format?: string
}

/** A device that holds one key. */
export function authenticator(faults: Faults = {}) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(16)
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const clientData = (type: string, challenge: string, { origin = SITE, isFramed = false }: Faults) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: isFramed }))
  const data = (
    { rpId = 'localhost', isUnverified = false, counter = 0 }: Faults,
    more = Buffer.alloc(0),
  ) => {
    const flags = 1 | (isUnverified ? 0 : 4) | (more.length > 0 ? 64 : 0)
    return Buffer.concat([
      createHash('sha256').update(rpId).digest(),
      Buffer.from([flags, 0, 0, 0, counter]),
      more,
    ])
  }
  return {
    make: (challenge: string, own: Faults = faults) => {
      const point = (text: string) => Buffer.from(text, 'base64url')
      const key = cbor(
        new Map<number, unknown>([
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, point(x)],
          [-3, point(y)],
        ]),
      )
      const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, key])
      const parts = new Map<string, unknown>([
        ['fmt', own.format ?? 'none'],
        ['attStmt', own.attestation ?? new Map()],
        ['authData', data(own, credential)],
      ])
      return {
        credential: id.toString('base64url'),
        client_data: clientData(own.type ?? 'webauthn.create', challenge, own).toString('base64url'),
        attestation: cbor(parts).toString('base64url'),
      }
    },
    sign: (challenge: string, own: Faults = faults) => {
      const client = clientData(own.type ?? 'webauthn.get', challenge, own)
      const signed = data(own)
      const digest = createHash('sha256').update(client).digest()
      return {
        credential: id.toString('base64url'),
        client_data: client.toString('base64url'),
        authenticator_data: signed.toString('base64url'),
        signature: sign('sha256', Buffer.concat([signed, digest]), privateKey).toString('base64url'),
      }
    },
  }
}
