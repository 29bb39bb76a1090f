import { createHash } from 'node:crypto'
import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ServerHostKeyAlgorithm } from 'ssh2'
import type { HostKey } from '../../driver.ts'

/**
 * Reads a guest's ssh host keys as any client sees them, before it proves who it is. The guest may be hostile: all
 * reading has limits of time and size.
 */

const IDENT = 'SSH-2.0-Berth'
/** Lines before the banner are allowed (RFC 4253, 4.2); a key exchange offer is about 1 kB. */
const READ_LIMIT = 32 * 1024
const LINGER_MS = 15_000
const MSG_KEXINIT = 20
/** One algorithm for each type of key, in the order in which clients prefer them. */
const KEY_ALGORITHMS: readonly ServerHostKeyAlgorithm[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
]

/**
 * Waits for the guest's banner and asks which types of host key it has.
 *
 * A connection alone means nothing: the forwarder accepts it before the guest listens.
 * @param lingers leave a connection that got no answer open for a while. Needed for passt: the one of Debian 12
 *   spends a whole core, for ten seconds, on a connection that is closed before the guest accepted it
 * @returns null when no ssh server answered within the time; else the algorithms, none if it speaks nonsense
 */
export function offeredKeys(
  host: string,
  port: number,
  bannerMs: number,
  lingers: boolean,
): Promise<ServerHostKeyAlgorithm[] | null> {
  return new Promise((resolve) => {
    let received = Buffer.alloc(0)
    let afterBanner = -1
    const socket = createConnection({ host, port })
    const finish = (result: ServerHostKeyAlgorithm[] | null) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(result)
    }
    const leave = () => {
      resolve(null)
      if (!lingers) return finish(null)
      // Unanswered, the forwarder ends it by itself; an answer that comes too late may be cut off.
      socket
        .removeAllListeners('data')
        .on('data', () => socket.destroy())
        .unref()
      timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
    }
    let timer = setTimeout(leave, bannerMs)
    socket.on('error', () => finish(afterBanner < 0 ? null : []))
    socket.on('close', () => finish(afterBanner < 0 ? null : []))
    // First, as OpenSSH does: passt finishes the guest's side of a connection only when there is data for it.
    socket.on('connect', () => socket.write(`${IDENT}\r\n`))
    socket.on('data', (data) => {
      received = Buffer.concat([received, data])
      if (received.length > READ_LIMIT) return finish(afterBanner < 0 ? null : [])
      if (afterBanner < 0) {
        afterBanner = bannerEnd(received)
        if (afterBanner < 0) return
        clearTimeout(timer)
        timer = setTimeout(() => finish([]), 5000)
      }
      const offer = keyAlgorithms(received.subarray(afterBanner))
      if (offer) finish(KEY_ALGORITHMS.filter((name) => offer.includes(name)))
    })
  })
}

/** Where the banner's line ends, or -1 while it has not come. */
function bannerEnd(bytes: Buffer): number {
  const text = bytes.toString('latin1')
  const start = text.startsWith('SSH-') ? 0 : text.indexOf('\nSSH-')
  const end = start < 0 ? -1 : text.indexOf('\n', start + 1)
  return end < 0 ? -1 : end + 1
}

/** Host key algorithms of a KEXINIT packet (RFC 4253, 6 and 7.1), [] for any other packet, null for half of one. */
function keyAlgorithms(bytes: Buffer): string[] | null {
  if (bytes.length < 6) return null
  const length = bytes.readUInt32BE(0)
  if (length > READ_LIMIT || bytes[5] !== MSG_KEXINIT) return []
  if (bytes.length < 4 + length) return null
  const payload = bytes.subarray(5, 4 + length)
  const [, next] = nameList(payload, 17) // after the message's number and the cookie: key exchange methods
  return nameList(payload, next)[0]
}

function nameList(bytes: Buffer, at: number): [names: string[], next: number] {
  if (at + 4 > bytes.length) return [[], at]
  const end = at + 4 + bytes.readUInt32BE(at)
  return [
    bytes
      .subarray(at + 4, end)
      .toString('latin1')
      .split(','),
    end,
  ]
}

/**
 * Begins a handshake up to the point where the server shows its key, and leaves.
 * @returns null when it shows none in time
 */
export function readHostKey(
  host: string,
  port: number,
  algorithm: ServerHostKeyAlgorithm,
  timeoutMs: number,
): Promise<HostKey | null> {
  return new Promise((resolve) => {
    const client = new Client()
    const finish = (key: HostKey | null) => {
      clearTimeout(timer)
      resolve(key)
      client.destroy()
    }
    const timer = setTimeout(() => finish(null), timeoutMs)
    // The listener stays: leaving in the middle makes an error too.
    client.on('error', () => finish(null))
    client.on('close', () => finish(null))
    try {
      client.connect({
        host,
        port,
        username: 'none',
        ident: IDENT.slice('SSH-2.0-'.length),
        readyTimeout: timeoutMs,
        algorithms: { serverHostKey: [algorithm] },
        hostVerifier: (key: Buffer) => {
          finish(hostKey(key))
          return false
        },
      })
    } catch {
      finish(null)
    }
  })
}

function hostKey(key: Buffer): HostKey {
  return {
    type: key.subarray(4, 4 + key.readUInt32BE(0)).toString('latin1'),
    fingerprint: `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`,
    publicKey: key.toString('base64'),
  }
}

/**
 * Asks several times within the time, and takes the first answer, a refusal too: what is sent to a guest whose
 * network is not up yet is lost for good, and the whole time would be waited for it.
 */
async function offeredSoon(
  ...[host, port, bannerMs, lingers]: Parameters<typeof offeredKeys>
): ReturnType<typeof offeredKeys> {
  const stop = new AbortController()
  const attempts = [0, 1, 2].map(async (index) => {
    const delay = (index * bannerMs) / 3
    if (delay > 0) await sleep(delay, null, { signal: stop.signal })
    return offeredKeys(host, port, bannerMs - delay, lingers)
  })
  // The others' ends are of no interest any more.
  for (const attempt of attempts) attempt.catch(() => {})
  const first = await Promise.race(attempts)
  stop.abort()
  return first
}

/**
 * All host keys of a guest, on one connection for the question and one for each type it has.
 * @param bannerMs how long the server may take to say that it is one
 * @returns null when no ssh server answered; an empty list when one did, but showed no key
 */
export async function readHostKeys(
  host: string,
  port: number,
  bannerMs: number,
  lingers: boolean,
): Promise<HostKey[] | null> {
  const offered = await offeredSoon(host, port, bannerMs, lingers)
  if (!offered) return null
  const keys: HostKey[] = []
  for (const algorithm of offered) {
    const key = await readHostKey(host, port, algorithm, 10_000)
    if (key) keys.push(key)
  }
  return keys
}
