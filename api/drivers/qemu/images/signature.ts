import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ImageError } from './inspect.ts'

const TIMEOUT_MS = 30_000

export interface Signed {
  /** The signed text; without a detached signature it contains its own (clear-signed). */
  text: Buffer
  signature: Buffer | null
  /** Public keys from any origin: only the one with the fingerprint counts. */
  keys: Buffer
  /** The fingerprint of the vendor's trusted key, 40 hex digits. */
  fingerprint: string
}

/**
 * Verifies an OpenPGP signature with gpgv.
 * @param dir a folder that it may write
 * @returns the text that the vendor has signed, and nothing around it
 * @throws ImageError unless every signature that can be verified is good and made by the vendor's key
 */
export async function verifySigned(signed: Signed, dir: string, signal: AbortSignal): Promise<string> {
  const folder = await mkdtemp(path.join(dir, 'signature-'))
  const file = (name: string) => path.join(folder, name)
  try {
    await writeFile(file('keys'), dearmored(signed.keys))
    await writeFile(file('text'), signed.text)
    if (signed.signature) await writeFile(file('signature'), signed.signature)
    const given = signed.signature
      ? [file('signature'), file('text')]
      : ['--output', file('inner'), file('text')]
    const fixed = ['--homedir', folder, '--keyring', file('keys'), '--status-fd', '1']
    const status = await gpgv([...fixed, ...given], signal)
    if (!isGood(status, signed.fingerprint))
      throw new ImageError(
        `The checksum list is not signed by the key ${signed.fingerprint} of its vendor.`,
        status.trim().replaceAll('\n', '; '),
      )
    return await readFile(file(signed.signature ? 'text' : 'inner'), 'utf8')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** OpenPGP's numbers of SHA-256, 384 and 512. */
const STRONG = ['8', '9', '10']

/** VALIDSIG's 9th word is the digest, and its last the primary key, whichever subkey signed. */
function isGood(status: string, fingerprint: string): boolean {
  const lines = status.split('\n').map((line) => line.replace('[GNUPG:] ', '').trim().split(' '))
  const valid = lines.filter(([word]) => word === 'VALIDSIG')
  const isSpoilt = lines.some(([word = '']) => ['BADSIG', 'EXPSIG', 'EXPKEYSIG', 'REVKEYSIG'].includes(word))
  return (
    !isSpoilt &&
    valid.length > 0 &&
    valid.every((line) => line.at(-1) === fingerprint && STRONG.includes(line[8] ?? ''))
  )
}

/** Returns gpgv's machine-readable status; a bad signature is a normal result. */
function gpgv(args: string[], signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('gpgv', args, { signal, timeout: TIMEOUT_MS }, (error, stdout) => {
      if (error?.code === 'ENOENT')
        reject(
          new ImageError(
            'Verifying signatures needs gpgv, which is not installed. Run: apt-get install gpgv',
          ),
        )
      else resolve(stdout)
    })
  })
}

/** Returns keys in binary form, the only one that gpgv reads. */
function dearmored(keys: Buffer): Buffer {
  const lines = keys.toString('latin1').split(/\r?\n/)
  if (!lines.some((line) => line.startsWith('-----BEGIN PGP'))) return keys
  const blocks: string[] = []
  let isInside = false
  for (const line of lines) {
    if (line.startsWith('-----')) {
      isInside = line.startsWith('-----BEGIN PGP PUBLIC KEY')
      blocks.push('')
    } else if (isInside && /^[A-Za-z0-9+/][A-Za-z0-9+/=]*$/.test(line)) blocks[blocks.length - 1] += line
  }
  return Buffer.concat(blocks.map((block) => Buffer.from(block, 'base64')))
}
