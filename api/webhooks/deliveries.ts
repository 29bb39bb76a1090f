import { type SelectQueryBuilder, sql } from 'kysely'
import { v7 as uuid } from 'uuid'
import type { Database, Queries } from '../database/database.ts'
import { type Page, pageOf } from '../database/page.ts'
import type { Schema } from '../database/schema.ts'
import { excessPosition } from '../events/excess.ts'
import { recordedEvents } from '../events/outbox.ts'
import type { NumberedEvent } from '../events/types.ts'
import { callWebhooks, endGivingUp, forgetWebhook, hastenWebhooks, lockWebhooks } from './store.ts'
import type { DeliveryTable, WebhookTable } from './tables.ts'
import { typesOf } from './view.ts'

/** The most rows in one statement, which limits its parameters. */
const ROWS_AT_ONCE = 500
/** The finished deliveries kept of each webhook, as long as their events exist. */
export const FINISHED_KEPT = 1000

/**
 * Adds events to the queues of the webhooks that subscribe to them, in the transaction that gives them their positions.
 */
export async function enqueue(tx: Queries, events: readonly NumberedEvent[], now: number): Promise<void> {
  const webhooks = await lockWebhooks(tx, [...new Set(events.map((event) => event.account_id))])
  const rows = webhooks.flatMap((webhook) => {
    const types = typesOf(webhook)
    return events
      .filter((event) => event.account_id === webhook.account_id && wants(webhook, types, event))
      .map((event) => deliveryOf(webhook, event, now))
  })
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
    await tx
      .insertInto('deliveries')
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .execute()
  await callWebhooks(tx, webhooksOf(rows), now)
  // Deliveries that wait for their next attempt are retried then as well.
  await hastenWebhooks(tx, webhooksOf(rows.filter((row) => row.is_first === 1)), now)
}

function webhooksOf(rows: readonly DeliveryTable[]): string[] {
  return [...new Set(rows.map((row) => row.webhook_id))]
}

/** A test event is sent only to its own webhook, even if that is disabled. */
function wants(webhook: WebhookTable, types: readonly string[], { type, data }: NumberedEvent): boolean {
  if (type === 'webhook.test') {
    const tested: Pick<WebhookTable, 'webhook_id'> = JSON.parse(data)
    return tested.webhook_id === webhook.webhook_id
  }
  return webhook.is_enabled === 1 && (types.includes('*') || types.includes(type))
}

function deliveryOf({ webhook_id }: WebhookTable, event: NumberedEvent, now: number): DeliveryTable {
  return {
    delivery_id: uuid(),
    webhook_id,
    event_id: event.event_id,
    event_type: event.type,
    is_first: event.type === 'webhook.test' ? 1 : 0,
    position: event.position,
    status: 'pending',
    attempts: '[]',
    created_at: now,
  }
}

/** Selects the next delivery to send, with its event. */
export function nextDelivery(db: Queries, webhookId: string) {
  return db
    .selectFrom('deliveries')
    .innerJoin(recordedEvents(db).as('events'), 'events.event_id', 'deliveries.event_id')
    .select([
      'deliveries.delivery_id',
      'deliveries.attempts',
      'deliveries.is_first',
      'events.event_id',
      'events.type',
      'events.data',
      'events.created_at',
    ])
    .where('deliveries.webhook_id', '=', webhookId)
    .where('deliveries.status', '=', 'pending')
    .orderBy('deliveries.is_first', 'desc')
    .orderBy('deliveries.position')
    .limit(1)
    .executeTakeFirst()
}

/** Records the result of an attempt. */
export async function saveAttempts(
  tx: Queries,
  deliveryId: string,
  attempts: readonly object[],
  status: DeliveryTable['status'],
): Promise<void> {
  await tx
    .updateTable('deliveries')
    .set({ attempts: JSON.stringify(attempts), status })
    .where('delivery_id', '=', deliveryId)
    .execute()
}

/** Restarts the retries of deliveries that have had attempts, which are the oldest. */
export async function restartDelivery(tx: Queries, webhookId: string): Promise<void> {
  await tx
    .updateTable('deliveries')
    .set({ attempts: '[]' })
    .where('delivery_id', '=', (eb) =>
      eb
        .selectFrom('deliveries as oldest')
        .select('oldest.delivery_id')
        .where('oldest.webhook_id', '=', webhookId)
        .where('oldest.status', '=', 'pending')
        .where('oldest.is_first', '=', 0)
        .orderBy('oldest.position')
        .limit(1),
    )
    .execute()
}

/**
 * Counts the deliveries still to be sent to verified endpoints of all accounts, and returns when the oldest was
 * queued.
 */
export async function deliveryBacklog(
  db: Queries,
): Promise<{ total: number; oldest_created_at: number | null }> {
  return db
    .selectFrom('deliveries')
    .select((eb) => [
      eb.fn.countAll<number>().as('total'),
      eb.fn.min<number | null>('created_at').as('oldest_created_at'),
    ])
    .where(sql<boolean>`status = 'pending'`) // in words: the partial index has the answer
    .where('webhook_id', 'in', (eb) =>
      eb.selectFrom('webhooks').select('webhooks.webhook_id').where('verification', '=', 'verified'),
    )
    .executeTakeFirstOrThrow()
}

/** Newest first. */
export function listDeliveries(db: Queries, webhookId: string, page: Page) {
  const ofWebhook = db.selectFrom('deliveries').selectAll().where('webhook_id', '=', webhookId)
  return pageOf(ofWebhook.orderBy('position', 'desc'), page)
}

/** Does one short step of the work that disabling or deleting a webhook leaves. The webhook is locked. */
export async function clearAway(tx: Queries, webhook: WebhookTable, limit: number): Promise<void> {
  const { webhook_id, deleted_at, given_up_to } = webhook
  if (deleted_at !== null) {
    if ((await deleteDeliveries(tx, webhook_id, limit)) < limit) await forgetWebhook(tx, webhook_id)
  } else if (given_up_to !== null) {
    if ((await giveUpDeliveries(tx, webhook_id, given_up_to, limit)) < limit)
      await endGivingUp(tx, webhook_id)
  }
}

/** Gives up some of the pending deliveries up to a position. @returns the number given up */
async function giveUpDeliveries(
  tx: Queries,
  webhookId: string,
  upTo: number,
  limit: number,
): Promise<number> {
  const { numUpdatedRows } = await tx
    .with('given_up', (select) =>
      select
        .selectFrom('deliveries')
        .select('delivery_id')
        .where('webhook_id', '=', webhookId)
        .where('status', '=', 'pending')
        .where('position', '<=', upTo)
        .limit(limit)
        // Deliveries deleted in the meantime are not counted, so fewer than the limit means that there are no more.
        .forUpdate(),
    )
    .updateTable('deliveries')
    .set({ status: 'failed' })
    .where('delivery_id', 'in', (eb) => eb.selectFrom('given_up').select('given_up.delivery_id'))
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Deletes some of a webhook's deliveries. @returns the number deleted */
function deleteDeliveries(tx: Queries, webhookId: string, limit: number): Promise<number> {
  return deleteSome(tx, (all) => all.where('webhook_id', '=', webhookId), limit)
}

/** Deletes some of the deliveries from before a moment. @returns the number deleted */
export function forgetDeliveries(db: Database, before: number, limit: number): Promise<number> {
  return deleteSome(db, (all) => all.where('created_at', '<', before), limit)
}

/** Deletes some of the deliveries of events beyond the newest that an account keeps. @returns the number deleted */
export async function forgetExcessDeliveries(
  db: Database,
  accountId: string,
  most: number,
  limit: number,
): Promise<number> {
  const position = await excessPosition(db, accountId, most)
  if (position === null) return 0
  const ofAccount = (all: Deliveries) =>
    all
      .where('webhook_id', 'in', (eb) =>
        eb.selectFrom('webhooks').select('webhooks.webhook_id').where('account_id', '=', accountId),
      )
      .where('position', '<=', position)
  return deleteSome(db, ofAccount, limit)
}

/**
 * Deletes some of a webhook's finished deliveries except the newest, so that replies of endpoints cannot fill the disk.
 */
export function forgetFinished(tx: Queries, webhookId: string): Promise<number> {
  return deleteSome(
    tx,
    (all) =>
      all
        .where('webhook_id', '=', webhookId)
        .where('status', '<>', 'pending')
        .where('position', '<=', (eb) =>
          eb
            .selectFrom('deliveries as newest')
            .select('newest.position')
            .where('newest.webhook_id', '=', webhookId)
            .where('newest.status', '<>', 'pending')
            .orderBy('newest.position', 'desc')
            .limit(1)
            .offset(FINISHED_KEPT),
        ),
    ROWS_AT_ONCE,
  )
}

type Deliveries = SelectQueryBuilder<Schema, 'deliveries', { delivery_id: string }>

async function deleteSome(
  db: Queries,
  which: (all: Deliveries) => Deliveries,
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .with('some', (select) =>
      // Rows that another process is deleting are skipped.
      which(select.selectFrom('deliveries').select('delivery_id')).limit(limit).forUpdate().skipLocked(),
    )
    .deleteFrom('deliveries')
    .where('delivery_id', 'in', (eb) => eb.selectFrom('some').select('some.delivery_id'))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
