import type { Webhook, WebhookCreate, WebhookUpdate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query, Settings } from './request.ts'

const POLL_MS = 1_000
/** An endpoint has ten seconds to answer a challenge; many challenges at once wait for their turn. */
const POLLS = 30

export function webhooks(settings: Settings, call: Call) {
  const list = (query: Query<'GET /webhooks'> = {}, options?: CallOptions) =>
    call('GET /webhooks', { query }, options)
  const deliveries = (
    webhook_id: string,
    query: Query<'GET /webhooks/{webhook_id}/deliveries'> = {},
    options?: CallOptions,
  ) => call('GET /webhooks/{webhook_id}/deliveries', { path: { webhook_id }, query }, options)
  const get = (webhook_id: string, options?: CallOptions) =>
    call('GET /webhooks/{webhook_id}', { path: { webhook_id } }, options)
  const update = (webhook_id: string, body: WebhookUpdate, options?: CallOptions) =>
    call('PATCH /webhooks/{webhook_id}', { path: { webhook_id }, body }, options)
  return {
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'webhook_id', {}, options),
    get,
    /** The reply is the only place that has its secret. */
    create: (body: WebhookCreate, options?: CallOptions) => call('POST /webhooks', { body }, options),
    update,
    /**
     * Enables a webhook, sends its endpoint a challenge unless it is verified, and waits for the result in
     * `verification`. It stays `pending` with an `error` while further challenges follow.
     */
    verify: async (webhook_id: string, options?: CallOptions): Promise<Webhook> => {
      let webhook = await update(webhook_id, { is_enabled: true }, options)
      const before = webhook.verification.checked_at
      const isWaiting = ({ verification: { status, checked_at } }: Webhook) =>
        status === 'pending' && checked_at === before
      for (let poll = 0; poll < POLLS && isWaiting(webhook); poll++) {
        await settings.sleep(POLL_MS, options?.signal)
        webhook = await get(webhook_id, options)
      }
      return webhook
    },
    delete: (webhook_id: string, options?: CallOptions) =>
      call('DELETE /webhooks/{webhook_id}', { path: { webhook_id } }, options),
    /** The reply is the only place that has the new secret; the old one stays valid for 24 hours. */
    rotateSecret: (webhook_id: string, options?: CallOptions) =>
      call('POST /webhooks/{webhook_id}/rotate-secret', { path: { webhook_id } }, options),
    /** Sends a `webhook.test` event; see the deliveries for its result. */
    test: (webhook_id: string, options?: CallOptions) =>
      call('POST /webhooks/{webhook_id}/test', { path: { webhook_id } }, options),
    /** One page of deliveries, with each attempt and its reply. */
    deliveries,
    /** All deliveries, page by page. */
    allDeliveries: (webhook_id: string, options?: CallOptions) =>
      everyItem(
        (page: Query<'GET /webhooks/{webhook_id}/deliveries'>, own?: CallOptions) =>
          deliveries(webhook_id, page, own),
        'delivery_id',
        {},
        options,
      ),
  }
}
