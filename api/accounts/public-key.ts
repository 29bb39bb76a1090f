import { createHash, createPublicKey } from 'node:crypto'

/** Packer makes keys of 2014 bits for its own use. */
const MIN_RSA_BITS = 2014
/** OpenSSH refuses longer keys. */
const MAX_RSA_BITS = 16_384
/** Keys on security tokens contain a plain key, which is checked as such, followed by an application name. */
const SECURITY_KEYS: Record<string, { plain: string; fields: number }> = {
  'sk-ssh-ed25519@openssh.com': { plain: 'ssh-ed25519', fields: 2 },
  'sk-ecdsa-sha2-nistp256@openssh.com': { plain: 'ecdsa-sha2-nistp256', fields: 3 },
}
const PLAIN_KEYS = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
]

export interface PublicKey {
  type: string
  /** `type base64`, without the comment: what goes into authorized_keys. */
  line: string
  /** OpenSSH's form: SHA256:base64 without padding. */
  fingerprint: string
}

/**
 * Reads one line of a .pub file: type, base64 and an optional comment.
 * @returns the key, or a sentence that says why it is invalid
 */
export async function parsePublicKey(text: string): Promise<PublicKey | string> {
  const line = text.trim()
  if (line.includes('PRIVATE KEY'))
    return 'This is a private key. Keep it secret and send the .pub file instead.'
  if (line.startsWith('PuTTY-User-Key-File'))
    return 'This is a private key of PuTTY. Keep it secret. Open it in PuTTYgen and send the public key shown at the top, one line.'
  if (line.includes('BEGIN SSH2 PUBLIC KEY'))
    return "This is a key in PuTTY's format. Send it as one line: PuTTYgen shows it at the top, and ssh-keygen -i -f FILE prints it."
  if (/[\r\n]/.test(line)) return 'Send one key: a single line.'
  const [type = '', base64 = ''] = line.split(/[ \t]+/)
  if (type === 'ssh-dss') return 'DSA keys are not secure. Create an ed25519 key: ssh-keygen -t ed25519.'
  const security = SECURITY_KEYS[type]
  if (!security && !PLAIN_KEYS.includes(type))
    return 'A public key starts with its type, such as ssh-ed25519, followed by base64; options are not accepted.'
  const blob = Buffer.from(base64, 'base64')
  if (unpadded(blob.toString('base64')) !== unpadded(base64))
    return 'The part after the key type is not base64.'
  const plain = security ? plainKey(blob, type, security) : `${type} ${base64}`
  const problem = plain ? await checkPlainKey(plain) : 'The key is malformed.'
  if (problem) return problem
  const fingerprint = `SHA256:${unpadded(createHash('sha256').update(blob).digest('base64'))}`
  return { type, line: `${type} ${blob.toString('base64')}`, fingerprint }
}

/**
 * Removes the padding, at most two equals signs. A pattern for any number takes a second on a text of equals
 * signs.
 */
function unpadded(base64: string): string {
  return base64.replace(/={1,2}$/, '')
}

/** @returns why the key can't be used; null if it can */
async function checkPlainKey(line: string): Promise<string | null> {
  // Keys are added rarely, and the library is a large one.
  const { default: ssh2 } = await import('ssh2')
  const key = ssh2.utils.parseKey(line)
  if (key instanceof Error || key.isPrivateKey())
    return 'The key is malformed: copy the whole line of the .pub file.'
  // The library rebuilds the blob from what it understood; anything left over was never part of a key.
  if (key.getPublicSSH().toString('base64') !== line.split(' ')[1]) return 'The key has extra bytes.'
  try {
    const bits = createPublicKey(key.getPublicPEM()).asymmetricKeyDetails?.modulusLength
    if (bits !== undefined && bits < MIN_RSA_BITS)
      return `RSA keys must have 2048 bits or more; this one has ${bits}.`
    if (bits !== undefined && bits > MAX_RSA_BITS)
      return `RSA keys must have at most ${MAX_RSA_BITS} bits; this one has ${bits}.`
  } catch {
    return 'The key is malformed: its numbers are invalid.'
  }
  return null
}

/** Cuts the plain key out of a security key's blob: RFC 4251 strings, of which the last is the application. */
function plainKey(
  blob: Buffer,
  type: string,
  { plain, fields }: { plain: string; fields: number },
): string | null {
  const parts: Buffer[] = []
  let at = 0
  while (at + 4 <= blob.length) {
    const end = at + 4 + blob.readUInt32BE(at)
    if (end > blob.length) return null
    parts.push(blob.subarray(at + 4, end))
    at = end
  }
  const isWhole = at === blob.length && parts.length === fields + 1 && parts[0]?.toString('latin1') === type
  if (!isWhole) return null
  const packed = [Buffer.from(plain), ...parts.slice(1, fields)].flatMap((part) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(part.length)
    return [length, part]
  })
  return `${plain} ${Buffer.concat(packed).toString('base64')}`
}
