import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { ImageError } from './inspect.ts'

export interface Checksum {
  algorithm: 'sha256' | 'sha512'
  hex: string
}

/**
 * Parses a checksum from a catalogue.
 * @throws ImageError if its length does not fit the algorithm
 */
export function parseChecksum(algorithm: 'sha256' | 'sha512', hex: string): Checksum {
  const clean = hex.trim().toLowerCase()
  if (!isHash(clean, algorithm))
    throw new ImageError(`The ${algorithm} of this image in the catalogue is not a valid ${algorithm}.`)
  return { algorithm, hex: clean }
}

/**
 * Finds a file in the text of a SHA256SUMS, SHA512SUMS or CHECKSUM file. Both forms are understood:
 * "hash  name" (also "hash *name", "hash  ./name") and "SHA256 (name) = hash". The strongest wins.
 */
export function findChecksum(text: string, fileName: string): Checksum | null {
  let found: Checksum | null = null
  for (const line of text.split(/\r?\n/)) {
    const bsd = /^SHA(256|512) \((.+)\) = ([0-9a-fA-F]+)\s*$/.exec(line)
    const gnu = /^([0-9a-fA-F]{64}|[0-9a-fA-F]{128}) [ *](.+?)\s*$/.exec(line)
    const [name, hex] = bsd ? [bsd[2], bsd[3]] : gnu ? [gnu[2], gnu[1]] : []
    if (name?.replace(/^.*\//, '') !== fileName || !hex) continue
    const algorithm = hex.length === 128 ? 'sha512' : 'sha256'
    if (isHash(hex.toLowerCase(), algorithm) && found?.algorithm !== 'sha512')
      found = { algorithm, hex: hex.toLowerCase() }
  }
  return found
}

/**
 * Hashes a file in one pass.
 * @param onProgress gets 0 to 1
 * @returns the hashes in hex, by algorithm
 */
export async function hashFile(
  file: string,
  algorithms: readonly ('sha256' | 'sha512')[],
  size: number,
  signal: AbortSignal,
  onProgress: (fraction: number) => void = () => {},
): Promise<Map<string, string>> {
  const hashes = algorithms.map((name) => ({ name, hash: createHash(name) }))
  let done = 0
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20, signal })) {
    for (const { hash } of hashes) hash.update(chunk)
    done += chunk.length
    onProgress(size > 0 ? done / size : 1)
  }
  return new Map(hashes.map(({ name, hash }) => [name, hash.digest('hex')]))
}

export async function sha256Of(file: string, signal: AbortSignal): Promise<string> {
  // hashFile returns every requested algorithm.
  return (await hashFile(file, ['sha256'], 0, signal)).get('sha256')!
}

function isHash(hex: string, algorithm: 'sha256' | 'sha512'): boolean {
  return hex.length === (algorithm === 'sha256' ? 64 : 128) && /^[0-9a-f]+$/.test(hex)
}
