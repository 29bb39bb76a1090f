import type { ExpressionBuilder, QueryCreator } from 'kysely'
import { heldAccounts } from '../accounts/status.ts'
import { type Database, type Queries, taking } from '../database/database.ts'
import { type Page, pageOf } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import type { Schema } from '../database/schema.ts'
import { record } from '../events/outbox.ts'
import type { EventType } from '../events/types.ts'
import type { WebhookTable } from './tables.ts'
import { webhookView } from './view.ts'

export async function insertWebhook(tx: Queries, row: WebhookTable): Promise<void> {
  await tx.insertInto('webhooks').values(row).execute()
  await tell(tx, 'webhook.created', row, row.created_at)
}

type Change = Partial<
  Pick<
    WebhookTable,
    | 'name'
    | 'url'
    | 'event_types'
    | 'is_enabled'
    | 'disabled_reason'
    | 'next_run_at'
    | 'secret'
    | 'previous_secret'
    | 'previous_secret_until'
    | 'verification'
    | 'verification_error'
    | 'challenged_at'
    | 'challenges'
    | 'verified_addresses'
  >
>

/** Locks a webhook until the transaction ends. */
export function lockWebhook(
  tx: Queries,
  accountId: string,
  webhookId: string,
): Promise<WebhookTable | undefined> {
  return liveWebhook(tx, accountId, webhookId).forUpdate().executeTakeFirst()
}

/** Changes a locked webhook. @param type of the event that reports the change; null if customers need not know */
export async function changeWebhook(
  tx: Queries,
  webhookId: string,
  change: Change,
  type: 'webhook.updated' | 'webhook.disabled' | null,
  now: number,
): Promise<WebhookTable> {
  const row = await tx
    .updateTable('webhooks')
    .set((eb) => ({
      ...change,
      ...(change.is_enabled === 0 ? { given_up_to: lastOf(eb, webhookId), next_run_at: now } : {}),
    }))
    .where('webhook_id', '=', webhookId)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (type !== null) await tell(tx, type, row, now)
  return row
}

/** The last position in its queue. */
function lastOf(eb: ExpressionBuilder<Schema, 'webhooks'>, webhookId: string) {
  return eb
    .selectFrom('deliveries')
    .select(({ fn }) => fn.max<number | null>('position').as('last'))
    .where('webhook_id', '=', webhookId)
}

/** Marks a webhook as deleted. Its job then deletes its deliveries, and after them the row. */
export async function deleteWebhook(tx: Queries, webhookId: string, now: number): Promise<void> {
  const row = await tx
    .updateTable('webhooks')
    .set({ deleted_at: now, next_run_at: now })
    .where('webhook_id', '=', webhookId)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (row) await tell(tx, 'webhook.deleted', row, now)
}

/** Queues an event for one webhook alone, ahead of all pending ones. */
export function askForTest(tx: Queries, webhook: WebhookTable, eventId: string, now: number): Promise<void> {
  return tell(tx, 'webhook.test', webhook, now, eventId)
}

function tell(tx: Queries, type: EventType, row: WebhookTable, at: number, eventId?: string): Promise<void> {
  const event = { accountId: row.account_id, type, data: webhookView(row), at }
  return record(tx, [eventId === undefined ? event : { ...event, eventId }])
}

export function findWebhook(db: Queries, accountId: string, webhookId: string) {
  return liveWebhook(db, accountId, webhookId).executeTakeFirst()
}

function liveWebhook(db: Queries, accountId: string, webhookId: string) {
  return liveOf(db, accountId).selectAll().where('webhook_id', '=', webhookId)
}

/** Queries the webhooks that are not deleted: the row of a deleted one may exist for a while. */
export function liveOf(db: Queries, accountId: string) {
  return db.selectFrom('webhooks').where('account_id', '=', accountId).where('deleted_at', 'is', null)
}

/** Newest first. */
export function listWebhooks(db: Queries, accountId: string, page: Page) {
  return pageOf(liveOf(db, accountId).selectAll().orderBy('webhook_id', 'desc'), page)
}

// ---- the job of a webhook ----

/** Marks a webhook that a process holds. Another time written meanwhile takes precedence, so that it runs sooner. */
const HELD = 0

/** Locks the webhooks of these accounts until the transaction ends. */
export function lockWebhooks(tx: Queries, accountIds: readonly string[]): Promise<WebhookTable[]> {
  return (
    tx
      .selectFrom('webhooks')
      .selectAll()
      .where('account_id', 'in', accountIds)
      .where('deleted_at', 'is', null)
      // Rows are locked in one order, so that no two transactions deadlock.
      .orderBy('webhook_id')
      .forUpdate()
      .execute()
  )
}

/** Marks webhooks with pending events as due now, unless they have a later time already. */
export async function callWebhooks(tx: Queries, webhookIds: readonly string[], now: number): Promise<void> {
  if (webhookIds.length === 0) return
  await tx
    .updateTable('webhooks')
    .set((eb) => ({ next_run_at: eb.fn.coalesce('next_run_at', eb.val(now)) }))
    .where('webhook_id', 'in', webhookIds)
    .execute()
}

/** Makes these webhooks due now, unless they wait for an answer to a challenge. */
export async function hastenWebhooks(tx: Queries, webhookIds: readonly string[], now: number): Promise<void> {
  if (webhookIds.length === 0) return
  await tx
    .updateTable('webhooks')
    .set({ next_run_at: now })
    .where('webhook_id', 'in', webhookIds)
    .where('verification', '=', 'verified')
    .execute()
}

/**
 * Takes webhooks that are due, a few of each account at once, and skips those that another process is just taking. An
 * account's places belong to webhooks that are held and to those that are due first, so that two simultaneous processes
 * do not take more.
 */
export function claimWebhooks(
  db: Database,
  by: { owner: string; now: number; leaseMs: number; limit: number; perAccount: number },
): Promise<WebhookTable[]> {
  const { owner, now, leaseMs, limit, perAccount } = by
  return taking(db, (tx) => claim.all(tx, { owner, now, leaseUntil: now + leaseMs, limit, perAccount }))
}

type Claim = { owner: string; now: number; leaseUntil: number; limit: number; perAccount: number }

/** Each process looks for due webhooks again and again. */
const claim = prepared((db, { owner, now, leaseUntil, limit, perAccount }: Claim) => {
  const due = (select: QueryCreator<Schema>) =>
    select
      .selectFrom('webhooks as due')
      .select('due.webhook_id')
      .where('due.next_run_at', '<=', now)
      .where('due.lease_until', '<=', now)
      .where('due.account_id', 'not in', heldAccounts(db))
      .where((eb) => eb(aheadOf(eb, now), '<', perAccount))
      .orderBy('due.next_run_at')
      .orderBy('due.webhook_id')
      .limit(limit)
      .forUpdate()
      .skipLocked()
  return db
    .with('due', due)
    .updateTable('webhooks')
    .set({ lease_owner: owner, lease_until: leaseUntil, next_run_at: HELD })
    .where('webhook_id', 'in', (eb) => eb.selectFrom('due').select('due.webhook_id'))
    .returningAll()
})

/** Returns the time at which the next webhook becomes due after `now`; null: none does. */
export async function nextDueAt(db: Database, now: number): Promise<number | null> {
  return (await nextDue.first(db, { now }))?.next_run_at ?? null
}

const nextDue = prepared((db, { now }: { now: number }) =>
  db
    .selectFrom('webhooks')
    .select('next_run_at')
    .where('next_run_at', '>', now)
    .orderBy('next_run_at')
    .limit(1),
)

/** Counts the webhooks of the same account that are held, or due earlier. */
function aheadOf(eb: ExpressionBuilder<Schema & { due: WebhookTable }, 'due'>, now: number) {
  return eb
    .selectFrom('webhooks as other')
    .select(({ fn }) => fn.countAll<number>().as('ahead'))
    .whereRef('other.account_id', '=', 'due.account_id')
    .where(({ eb, or, refTuple }) =>
      or([
        eb('other.lease_until', '>', now),
        eb(
          refTuple('other.next_run_at', 'other.webhook_id'),
          '<',
          refTuple('due.next_run_at', 'due.webhook_id'),
        ),
      ]),
    )
}

/** The process that held these leases is known to be dead. */
export async function takeOverWebhooks(db: Database): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({ lease_owner: null, lease_until: 0 })
    .where('lease_until', '>', 0)
    .execute()
}

/** Releases the webhooks of a dead process. */
export async function releaseWebhooksOf(tx: Queries, owner: string): Promise<void> {
  await tx
    .updateTable('webhooks')
    .set({ lease_owner: null, lease_until: 0 })
    .where('lease_owner', '=', owner)
    .where('lease_until', '>', 0)
    .execute()
}

/**
 * Releases a webhook, and locks its row.
 * @param nextRunAt the next time, unless it was made due meanwhile
 * @returns the current row; undefined if it was no longer held
 */
export function releaseWebhook(
  tx: Queries,
  { webhook_id }: Pick<WebhookTable, 'webhook_id'>,
  owner: string,
  nextRunAt: number | null,
): Promise<WebhookTable | undefined> {
  return tx
    .updateTable('webhooks')
    .set((eb) => ({
      lease_owner: null,
      lease_until: 0,
      next_run_at: eb.case().when('next_run_at', '=', HELD).then(nextRunAt).else(eb.ref('next_run_at')).end(),
    }))
    .where('webhook_id', '=', webhook_id)
    .where('lease_owner', '=', owner)
    .returningAll()
    .executeTakeFirst()
}

/** Stores the address at which the endpoint has answered, unless the webhook's URL has changed. */
export async function addAddress(
  db: Queries,
  { webhook_id, url }: Pick<WebhookTable, 'webhook_id' | 'url'>,
  addresses: string,
): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({ verified_addresses: addresses })
    .where('webhook_id', '=', webhook_id)
    .where('url', '=', url)
    .execute()
}

/** Ends the clearing of deliveries that were given up. */
export async function endGivingUp(tx: Queries, webhookId: string): Promise<void> {
  await tx.updateTable('webhooks').set({ given_up_to: null }).where('webhook_id', '=', webhookId).execute()
}

/** Deletes the row of a webhook that has no deliveries left. */
export async function forgetWebhook(tx: Queries, webhookId: string): Promise<void> {
  await tx.deleteFrom('webhooks').where('webhook_id', '=', webhookId).execute()
}
