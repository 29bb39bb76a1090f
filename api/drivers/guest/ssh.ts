import { createHash } from 'node:crypto'
import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type KexAlgorithm, type ServerHostKeyAlgorithm } from 'ssh2'
import type { HostKey } from '../driver.ts'

/**
 * Reads a guest's ssh host keys as any client sees them, before it proves who it is. The guest may be hostile: all
 * reading has limits of time and size, and the service runs it in a thread of its own (probe.ts).
 */

/** The address to probe, and the time limits. It is a plain object, because it is sent to another thread. */
export interface Question {
  host: string
  port: number
  /** The time limit for a server's banner. */
  patienceMs: number
  /** The time limit for everything after it. */
  handshakeMs: number
  /** The time for which this boot of the guest has been probed in vain. */
  waitedMs: number
  /** See offeredKeys. */
  lingers: boolean
}

const IDENT = 'SSH-2.0-Berth'
/** Lines before the banner are allowed (RFC 4253, 4.2); a key exchange offer is about 1 kB. */
const READ_LIMIT = 32 * 1024
const LINGER_MS = 15_000
/** Short pauses notice a fast guest early; longer ones spare a slow guest one connection after the other. */
const PAUSE_MS = { first: 300, longest: 5_000 }
const TRIES = 3
const MSG_KEXINIT = 20
/** One algorithm for each type of key, in the order in which clients prefer them. */
const KEY_ALGORITHMS: readonly ServerHostKeyAlgorithm[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
]
/** Elliptic curves only: with other methods, the server chooses a prime, and so the cost of the calculation. */
const KEY_EXCHANGES: readonly KexAlgorithm[] = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
]

interface OfferOptions {
  /** The time limit for the list after the banner. */
  offerMs?: number
  /** Aborted when no caller waits for the answer any more. */
  signal?: AbortSignal
  /** The time limit for the connection; many simultaneous connections would overload the guest. */
  connectMs?: number
}

/**
 * Waits for the guest's banner and reads which types of host key it has.
 *
 * A connection alone proves nothing: the forwarder accepts it before the guest listens.
 * @param lingers leave a connection that got no answer open for a while. Needed for passt: the one of Debian 12 spends
 * a whole core, for ten seconds, on a connection that is closed before the guest accepted it
 * @returns null if no ssh server answered within the time; otherwise the algorithms, empty if the reply is invalid
 */
export function offeredKeys(
  host: string,
  port: number,
  bannerMs: number,
  lingers: boolean,
  { offerMs = 5_000, signal, connectMs = bannerMs }: OfferOptions = {},
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
      if (!lingers || socket.destroyed) return finish(null)
      resolve(null)
      clearTimeout(timer)
      // The forwarder closes an unanswered connection; a late answer may be cut off.
      socket
        .removeAllListeners('data')
        .on('data', () => socket.destroy())
        .unref()
      timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
    }
    let timer = setTimeout(leave, bannerMs)
    signal?.addEventListener('abort', leave)
    setTimeout(() => socket.connecting && finish(null), connectMs).unref()
    socket.on('error', () => finish(afterBanner < 0 ? null : []))
    socket.on('close', () => finish(afterBanner < 0 ? null : []))
    // The client's banner is sent first, as OpenSSH does: passt only completes the guest's side of a connection when
    // there is data for it.
    socket.on('connect', () => socket.write(`${IDENT}\r\n`))
    socket.on('data', (data) => {
      received = Buffer.concat([received, data])
      if (received.length > READ_LIMIT) return finish(afterBanner < 0 ? null : [])
      if (afterBanner < 0) {
        afterBanner = bannerEnd(received)
        if (afterBanner < 0) return
        clearTimeout(timer)
        timer = setTimeout(() => finish([]), offerMs)
      }
      const offer = keyAlgorithms(received.subarray(afterBanner))
      if (offer) finish(KEY_ALGORITHMS.filter((name) => offer.includes(name)))
    })
  })
}

/** The end of the banner's line, or -1 if it has not arrived yet. */
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
 * Performs a handshake until the server has proved the ownership of its key by a signature.
 * @returns null on a timeout; refused: the server disconnected without a reply
 */
function readHostKey(
  host: string,
  port: number,
  algorithm: ServerHostKeyAlgorithm,
  timeoutMs: number,
): Promise<HostKey | 'refused' | null> {
  return new Promise((resolve) => {
    const client = new Client()
    const socket = createConnection({ host, port })
    let shown: HostKey | null = null
    const finish = (key: HostKey | 'refused' | null) => {
      clearTimeout(timer)
      resolve(key)
      client.destroy()
      socket.destroy()
    }
    const timer = setTimeout(() => finish(null), timeoutMs)
    // The listeners stay, because disconnecting during the handshake also emits an error.
    const end = () => finish(socket.bytesRead === 0 ? 'refused' : null)
    client.on('error', end)
    client.on('close', end)
    // The verifier is called before the signature is checked, this event is emitted after it.
    client.on('handshake', () => finish(shown))
    socket.on('error', end)
    socket.on('data', () => {
      if (socket.bytesRead > READ_LIMIT) finish(null)
    })
    try {
      client.connect({
        sock: socket,
        username: 'none',
        ident: IDENT.slice('SSH-2.0-'.length),
        readyTimeout: timeoutMs,
        algorithms: { kex: [...KEY_EXCHANGES], serverHostKey: [algorithm], compress: ['none'] },
        hostVerifier: (key: Buffer) => {
          shown = hostKey(key)
          return true
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
 * Repeats the probe within the time limit, and uses the first answer, because data sent to a guest before its network
 * is up is lost. Earlier connections stay open meanwhile, as the guest may be about to answer on them.
 */
function offeredSoon(question: Question): Promise<ServerHostKeyAlgorithm[] | null> {
  const { host, port, patienceMs, handshakeMs, waitedMs, lingers } = question
  const startedAt = performance.now()
  const answered = new AbortController()
  return new Promise((resolve) => {
    const finish = (offer: ServerHostKeyAlgorithm[] | null) => {
      clearTimeout(timer)
      resolve(offer)
      answered.abort()
    }
    const attempt = () => {
      const elapsed = performance.now() - startedAt
      const left = patienceMs - elapsed
      const pause = Math.min(PAUSE_MS.longest, Math.max(PAUSE_MS.first, (waitedMs + elapsed) / 10))
      const options = { offerMs: handshakeMs, signal: answered.signal, connectMs: pause }
      void offeredKeys(host, port, left, lingers, options).then((offer) => offer && finish(offer))
      timer = pause < left ? setTimeout(attempt, pause) : setTimeout(finish, left, null)
    }
    let timer: NodeJS.Timeout
    attempt()
  })
}

/**
 * Reads all host keys of a guest, on one connection for each type.
 * @returns null if no ssh server answered; an empty list if it did not prove the ownership of any key
 */
export async function readHostKeys(question: Question): Promise<HostKey[] | null> {
  const { host, port, handshakeMs } = question
  const offered = await offeredSoon(question)
  if (!offered) return null
  const until = performance.now() + handshakeMs
  const keys: HostKey[] = []
  for (const algorithm of offered) {
    const left = () => until - performance.now()
    let key = await readHostKey(host, port, algorithm, Math.max(0, left()))
    // A server that just had several connections from one address may refuse one more for a moment.
    for (let tries = 1; key === 'refused' && tries < TRIES && left() > 0; tries++) {
      await sleep(PAUSE_MS.first)
      key = await readHostKey(host, port, algorithm, Math.max(0, left()))
    }
    if (key && key !== 'refused') keys.push(key)
  }
  return keys
}
