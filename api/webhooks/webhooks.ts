import { randomBytes } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { takeRoom } from '../accounts/accounts.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { type EventScopes, type EventType, eventTypesOf } from '../events/types.ts'
import { type Actor, holds, insufficientScope } from '../http/contract/auth.ts'
import { ApiError, bodyIssue, found, invalid } from '../http/contract/problem.ts'
import type { Remember } from '../http/contract/route.ts'
import type { Secrets } from '../secrets.ts'
import type { Addresses } from './addresses.ts'
import { restartDelivery } from './deliveries.ts'
import { webhookQuota } from './queries.ts'
import { type WebhookCreate, type WebhookUpdate, webhookProblems } from './schema.ts'
import { askForTest, changeWebhook, deleteWebhook, insertWebhook, lockWebhook } from './store.ts'
import type { WebhookTable } from './tables.ts'
import { flawOf } from './url.ts'
import { typesOf } from './view.ts'

/** The time for which a replaced secret still signs, so that customers can change theirs in between. */
const PREVIOUS_SIGNS_MS = 24 * 3600_000

const asked = { verification: 'pending', challenges: 0 } as const
/** The state of an address that has not been challenged yet. */
const unproven = {
  ...asked,
  verification_error: null,
  challenged_at: null,
  verified_addresses: '[]',
} as const

export interface WebhooksOptions {
  db: Database
  clock: Clock
  secrets: Secrets
  addresses: Addresses
  /** Delivers all events until now. */
  relay: () => Promise<void>
  eventScopes: EventScopes
}

/**
 * @returns the webhook, and its secret, which cannot be read again
 * @throws ApiError validation_failed, insufficient_scope, quota_exceeded
 */
export async function createWebhook(
  { db, clock, secrets, addresses, relay, eventScopes }: WebhooksOptions,
  actor: Actor,
  { name, url, event_types, is_enabled = true }: WebhookCreate,
  remember: Remember,
): Promise<{ webhook: WebhookTable; secret: string }> {
  checkUrl(url, addresses)
  requireSight(actor, event_types, eventScopes)
  const secret = newSecret()
  const webhook: WebhookTable = {
    webhook_id: uuid(),
    account_id: actor.accountId,
    name,
    url,
    event_types: JSON.stringify(event_types),
    secret: secrets.seal(secret),
    is_enabled: is_enabled ? 1 : 0,
    disabled_reason: null,
    next_run_at: is_enabled ? clock.now() : null,
    lease_owner: null,
    lease_until: 0,
    created_at: clock.now(),
    given_up_to: null,
    deleted_at: null,
    previous_secret: null,
    previous_secret_until: null,
    ...unproven,
  }
  // The new webhook does not get earlier events.
  await relay()
  await db.transaction().execute(async (tx) => {
    await takeRoom(tx, actor.accountId, [webhookQuota])
    await insertWebhook(tx, webhook)
    await remember(tx, webhook.webhook_id)
  })
  return { webhook, secret }
}

/** @throws ApiError validation_failed, insufficient_scope, webhook_not_found */
export async function updateWebhook(
  { db, clock, addresses, relay, eventScopes }: WebhooksOptions,
  actor: Actor,
  { webhook_id }: WebhookTable,
  { name, url, event_types, is_enabled }: WebhookUpdate,
): Promise<WebhookTable> {
  if (url !== undefined) checkUrl(url, addresses)
  await relay()
  return db.transaction().execute(async (tx) => {
    // The webhook may have been deleted since it was found.
    const before = found(
      await lockWebhook(tx, actor.accountId, webhook_id),
      webhookProblems.webhook_not_found,
    )
    // A caller who sets the destination or the types of events must be allowed to see them.
    if (url !== undefined || event_types !== undefined)
      requireSight(actor, event_types ?? typesOf(before), eventScopes)
    const isMoved = url !== undefined && url !== before.url
    const change = {
      ...(name === undefined ? {} : { name }),
      ...(url === undefined ? {} : { url }),
      ...(event_types === undefined ? {} : { event_types: JSON.stringify(event_types) }),
      ...(is_enabled === undefined ? {} : { is_enabled: is_enabled ? 1 : 0, disabled_reason: null }),
      // Deliveries that wait for their next attempt are retried at once.
      ...(isMoved || is_enabled ? { next_run_at: clock.now() } : {}),
      ...(isMoved ? unproven : {}),
      // The endpoint gets a new challenge.
      ...(is_enabled && before.verification !== 'verified' ? asked : {}),
    }
    if (isMoved) await restartDelivery(tx, webhook_id)
    return changeWebhook(tx, webhook_id, change, 'webhook.updated', clock.now())
  })
}

/**
 * @returns the webhook, and its new secret; the previous one also signs for a day, older ones no longer do
 * @throws ApiError webhook_not_found
 */
export async function rotateSecret(
  { db, clock, secrets }: WebhooksOptions,
  { account_id, webhook_id }: WebhookTable,
  remember: Remember,
): Promise<{ webhook: WebhookTable; secret: string }> {
  const secret = newSecret()
  const webhook = await db.transaction().execute(async (tx) => {
    // The webhook may have been deleted since it was found.
    const before = found(await lockWebhook(tx, account_id, webhook_id), webhookProblems.webhook_not_found)
    const change = {
      secret: secrets.seal(secret),
      previous_secret: before.secret,
      previous_secret_until: clock.now() + PREVIOUS_SIGNS_MS,
    }
    const changed = await changeWebhook(tx, webhook_id, change, 'webhook.updated', clock.now())
    await remember(tx, webhook_id)
    return changed
  })
  return { webhook, secret }
}

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** Returns the secrets that sign a webhook's messages: the current one, and a recently replaced one. */
export function signingSecrets(secrets: Secrets, webhook: WebhookTable, now: number): string[] {
  const { secret, previous_secret, previous_secret_until } = webhook
  const isBothSign = previous_secret !== null && now < (previous_secret_until ?? 0)
  return [secret, ...(isBothSign ? [previous_secret] : [])].map((sealed) => secrets.open(sealed))
}

export async function removeWebhook(
  { db, clock }: WebhooksOptions,
  { webhook_id }: WebhookTable,
): Promise<void> {
  await db.transaction().execute((tx) => deleteWebhook(tx, webhook_id, clock.now()))
}

/**
 * @returns the id of the event that is sent
 * @throws ApiError webhook_not_verified
 */
export async function testWebhook(
  { db, clock }: WebhooksOptions,
  webhook: WebhookTable,
  remember: Remember,
): Promise<string> {
  if (webhook.verification !== 'verified')
    throw new ApiError(
      webhookProblems.webhook_not_verified,
      `The endpoint has not answered a challenge${webhook.verification_error ? `: ${webhook.verification_error}` : '.'} Events are sent once it has; enabling the webhook sends another.`,
    )
  const eventId = uuid()
  await db.transaction().execute(async (tx) => {
    await askForTest(tx, webhook, eventId, clock.now())
    await remember(tx, eventId)
  })
  return eventId
}

/** @throws ApiError validation_failed */
function checkUrl(url: string, addresses: Addresses): void {
  const flaw = flawOf(url, addresses)
  if (flaw !== null) throw invalid([bodyIssue('url', 'invalid_format', `url ${flaw}`)])
}

/** @throws ApiError insufficient_scope if the webhook would show events that its creator can't see */
function requireSight(actor: Actor, types: readonly (EventType | '*')[], scopes: EventScopes): void {
  const wanted = eventTypesOf(scopes).filter((type) => types.includes('*') || types.includes(type))
  const lacking = wanted.map((type) => scopes[type]).find((scope) => !holds(actor, scope))
  if (lacking)
    throw insufficientScope(
      `Your token does not have the scope ${lacking}, which is required to see these events.`,
      lacking,
    )
}
