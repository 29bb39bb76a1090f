import { randomBytes } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import type { Clock } from '../clock.ts'
import { isoTime } from '../http/contract/fields.ts'
import { type Answer, send } from './send.ts'
import type { WebhookTable } from './tables.ts'

/** The most verified addresses kept for a webhook. */
const ADDRESSES_KEPT = 16

interface Challenged {
  webhook: Pick<WebhookTable, 'webhook_id' | 'url'>
  address: string
  secrets: readonly string[]
}

/**
 * Sends an endpoint a challenge: to agree to receive events, it must return a value that cannot be guessed.
 * @returns its answer, without the text, which may belong to a stranger
 */
export async function challenge(
  { webhook: { webhook_id, url }, address, secrets }: Challenged,
  clock: Clock,
  stopped: AbortSignal,
): Promise<Pick<Answer, 'status' | 'error'>> {
  const value = randomBytes(32).toString('base64url')
  const body = JSON.stringify({
    type: 'webhook.challenge',
    created_at: isoTime(clock.now()),
    data: { webhook_id, challenge: value },
  })
  const { status, error, reply } = await send({ url, address, id: uuid(), body, secrets }, clock, stopped)
  return { status, error: error ?? (isAnswer(reply, value) ? null : 'The reply was not the challenge.') }
}

/**
 * True if a reply is exactly the challenge's value: as text, or as JSON with nothing else. An endpoint that echoes
 * the request, or a part of it, has not read the challenge.
 */
function isAnswer(reply: string, value: string): boolean {
  const text = reply.trim()
  if (text === value) return true
  try {
    const parsed: unknown = JSON.parse(text)
    const forms = [value, { challenge: value }].map((form) => JSON.stringify(form))
    return forms.includes(JSON.stringify(parsed))
  } catch {
    return false
  }
}

/**
 * True if the endpoint's consent covers this address. With TLS, the certificate proves that it is the same host;
 * without it, a name could lead to a host that was never asked.
 */
export function isProven({ url, verified_addresses }: WebhookTable, address: string): boolean {
  if (verified_addresses === null || new URL(url).protocol === 'https:') return true
  return provenAddresses({ verified_addresses }).includes(address)
}

/** The verified addresses, with one more. */
export function withAddress({ verified_addresses }: WebhookTable, address: string): string {
  const others = provenAddresses({ verified_addresses }).filter((other) => other !== address)
  return JSON.stringify([...others, address].slice(-ADDRESSES_KEPT))
}

/** The verified addresses. */
export function provenAddresses({ verified_addresses }: Pick<WebhookTable, 'verified_addresses'>): string[] {
  const addresses: string[] = JSON.parse(verified_addresses ?? '[]')
  return addresses
}
