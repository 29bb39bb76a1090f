import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts what must be shown again later, such as a generated password, before it reaches the database. */
export class Secrets {
  readonly #key: KeyObject

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    this.#key = createSecretKey(key)
  }

  /** A fingerprint: it shows whether two keys are the same, and nothing else about them. */
  get fingerprint(): string {
    return createHmac('sha256', this.#key).update('fingerprint').digest('base64url')
  }

  /** Derives a key for one use, so that a text sealed for it can't be opened for another. */
  for(use: string): Secrets {
    return new Secrets(createHmac('sha256', this.#key).update(`use ${use}`).digest())
  }

  /** A keyed hash, for texts that are too short for a plain one, such as a code that people type. */
  digest(text: string): string {
    return createHmac('sha256', this.#key).update(`digest ${text}`).digest('hex')
  }

  /** @returns base64 of iv, tag and ciphertext */
  seal(text: string): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, iv)
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
  }

  /** @throws Error if the text was sealed with another key, or was changed */
  open(sealed: string): string {
    const bytes = Buffer.from(sealed, 'base64')
    const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES), {
      // A shorter tag would be accepted otherwise, and is easier to guess.
      authTagLength: TAG_BYTES,
    })
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString(
      'utf8',
    )
  }
}

/** A password that is safe to read aloud and to paste: no 0/O, 1/l/I; about 116 bits. */
export function generatePassword(): string {
  const alphabet = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'
  // 57 * 4 = 228: larger bytes would favour the first letters.
  const letters = [...randomBytes(64)].filter((byte) => byte < 228).map((byte) => alphabet[byte % 57])
  // 64 bytes hold fewer than 20 such ones in less than one case in 10^25.
  return letters.length < 20 ? generatePassword() : letters.slice(0, 20).join('')
}
