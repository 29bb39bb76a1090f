import type { BerthEvent } from './events.ts'

/** Posted to an endpoint before anything else. It agrees to events by replying with the value of `challenge`. */
export interface WebhookChallenge {
  type: 'webhook.challenge'
  created_at: string
  data: { webhook_id: string; challenge: string }
}

/** A message that the service posts to an endpoint. */
export type WebhookMessage = BerthEvent | WebhookChallenge

export interface ReceivedMessage {
  /** The webhook's secret: `whsec_…`. */
  secret: string
  /** The request's headers, from Node's `http` or from a `Request`. */
  headers: Headers | Record<string, string | string[] | undefined>
  /** The body as it was received: JSON that was parsed and serialized again has another signature. */
  body: string
}

/** A message that the secret has not signed, or an old one: reply 401. */
export class WebhookSignatureError extends Error {
  override readonly name = 'WebhookSignatureError'
}

/** Clocks may differ by this much; an older message may be a replay. */
const TOLERANCE_SECONDS = 5 * 60

/**
 * Verifies and parses a message that was posted to an endpoint.
 * @throws WebhookSignatureError unless the service has signed it with this secret, within five minutes
 */
export async function readWebhook({ secret, headers, body }: ReceivedMessage): Promise<WebhookMessage> {
  const get = (name: string) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? '')
  const [id, time, signatures] = [get('webhook-id'), get('webhook-timestamp'), get('webhook-signature')]
  if (!(Math.abs(Date.now() / 1000 - Number(time || 'none')) <= TOLERANCE_SECONDS))
    throw new WebhookSignatureError('The message was not signed within the last five minutes.')
  const key = await keyOf(secret)
  const signed = new TextEncoder().encode(`${id}.${time}.${body}`)
  for (const signature of signatures.split(' '))
    if (await isSigned(key, signature, signed)) return JSON.parse(body) as WebhookMessage // the service wrote it
  throw new WebhookSignatureError('The message is not signed with this secret.')
}

/** The type CryptoKey is not available in every TypeScript configuration. */
type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>

function keyOf(secret: string): Promise<Key> {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''))
  if (!bytes) throw new TypeError('The secret is not valid: it starts with whsec_.')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

/** Compares in constant time. */
async function isSigned(key: Key, signature: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const bytes = signature.startsWith('v1,') ? bytesOf(signature.slice('v1,'.length)) : undefined
  return bytes !== undefined && crypto.subtle.verify('HMAC', key, bytes, signed)
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
  } catch {
    return undefined
  }
}
