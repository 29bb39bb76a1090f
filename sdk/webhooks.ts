import type { WebhookCreate, WebhookUpdate } from './openapi.ts'
import { everyItem } from './paging.ts'
import type { Call, CallOptions, Query } from './request.ts'

export function webhooks(call: Call) {
  const list = (query: Query<'GET /webhooks'> = {}, options?: CallOptions) =>
    call('GET /webhooks', { query }, options)
  const deliveries = (
    webhook_id: string,
    query: Query<'GET /webhooks/{webhook_id}/deliveries'> = {},
    options?: CallOptions,
  ) => call('GET /webhooks/{webhook_id}/deliveries', { path: { webhook_id }, query }, options)
  return {
    /** One page. */
    list,
    /** All, page by page. */
    listAll: (options?: CallOptions) => everyItem(list, 'webhook_id', {}, options),
    get: (webhook_id: string, options?: CallOptions) =>
      call('GET /webhooks/{webhook_id}', { path: { webhook_id } }, options),
    /** The reply is the only place that has its secret. */
    create: (body: WebhookCreate, options?: CallOptions) => call('POST /webhooks', { body }, options),
    update: (webhook_id: string, body: WebhookUpdate, options?: CallOptions) =>
      call('PATCH /webhooks/{webhook_id}', { path: { webhook_id }, body }, options),
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
