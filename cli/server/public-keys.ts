import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import type { SshKeyCreate } from '@berth/sdk'

export interface LocalKey extends SshKeyCreate {
  /** The path to show. */
  file: string
  /** As OpenSSH prints it. */
  fingerprint: string
}

/** The public keys that ssh uses by default: ~/.ssh/id_*.pub. Skips everything that is not a public key. */
export function localKeys(folder: string = path.join(homedir(), '.ssh')): LocalKey[] {
  return filesOf(folder).flatMap((file) => {
    const [, type, base64, comment] =
      /^((?:ssh|ecdsa|sk)-\S+) ([A-Za-z0-9+/]+={0,2})(?: (.*))?$/.exec(contentOf(path.join(folder, file))) ??
      []
    if (!type || !base64) return []
    const digest = createHash('sha256').update(Buffer.from(base64, 'base64')).digest('base64')
    return {
      file: `~/.ssh/${file}`,
      name: comment?.trim().slice(0, 64) || path.basename(file, '.pub'),
      public_key: `${type} ${base64}`,
      fingerprint: `SHA256:${digest.replace(/=$/, '')}`,
    }
  })
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder).filter((file) => /^id_.*\.pub$/.test(file))
  } catch {
    return []
  }
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
