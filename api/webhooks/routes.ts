import Type from 'typebox'
import { atLimit } from '../accounts/quotas.ts'
import { accountProblems } from '../accounts/schema.ts'
import { eventTypesOf } from '../events/types.ts'
import type { Actor } from '../http/contract/auth.ts'
import { listOf, paged, pagingQuery } from '../http/contract/paging.ts'
import { found } from '../http/contract/problem.ts'
import { type Call, type Route, route } from '../http/contract/route.ts'
import { listDeliveries } from './deliveries.ts'
import { webhookQuota } from './queries.ts'
import { type WebhookSchemas, WebhookTest, webhookProblems, webhookSchemas } from './schema.ts'
import { findWebhook, listWebhooks } from './store.ts'
import type { WebhookTable } from './tables.ts'
import { deliveryView, webhookView } from './view.ts'
import {
  createWebhook,
  removeWebhook,
  rotateSecret,
  testWebhook,
  updateWebhook,
  type WebhooksOptions,
} from './webhooks.ts'

const tag = 'Events'
const paging = Type.Object(pagingQuery)
const params = { webhook_id: webhookProblems.webhook_not_found }
const path = '/webhooks/:webhook_id'

type Options = WebhooksOptions & { schemas: WebhookSchemas }

export function webhookRoutes(given: WebhooksOptions): Route[] {
  const options = { ...given, schemas: webhookSchemas(eventTypesOf(given.eventScopes)) }
  const load = loader(options)
  return [
    ...collectionRoutes(options),
    ...objectRoutes(options, load),
    secretRoute(options, load),
    testRoute(options, load),
    deliveriesRoute(options, load),
  ]
}

function loader({ db }: WebhooksOptions) {
  return async ({ actor, params }: { actor: Actor; params: { webhook_id: string } }) => {
    const webhook = found(
      await findWebhook(db, actor.accountId, params.webhook_id),
      webhookProblems.webhook_not_found,
    )
    return webhook
  }
}

function collectionRoutes(options: Options): Route[] {
  const { Webhook, NewWebhook, WebhookCreate } = options.schemas
  return [
    route({
      id: 'listWebhooks',
      method: 'GET',
      path: '/webhooks',
      scope: 'account:read',
      tag,
      summary: 'List webhooks',
      description:
        'The webhooks of the account, newest first and without their secrets. One that the service has disabled has a `disabled_reason`.',
      query: paging,
      reply: { 200: listOf(Webhook) },
      run: (call) => paged(call, (page) => listWebhooks(options.db, call.actor.accountId, page), webhookView),
    }),
    route({
      id: 'createWebhook',
      method: 'POST',
      path: '/webhooks',
      scope: 'account:write',
      tag,
      summary: 'Create a webhook',
      description:
        'Events are posted to the address as JSON, in the form of `GET /events`, signed according to Standard Webhooks with the `secret`, which only this reply shows; they wait until the endpoint has answered a challenge (see `verification`). The token must have the scopes required to see the selected events, and the address must be on the public internet.',
      body: WebhookCreate,
      reply: { 201: NewWebhook },
      problems: { quota_exceeded: atLimit(webhookQuota) },
      errors: [accountProblems.quota_exceeded],
      run: async ({ actor, body, remember, report, setHeader }) => {
        const { webhook, secret } = await createWebhook(options, actor, body, remember)
        setHeader('location', `/v1/webhooks/${webhook.webhook_id}`)
        return shown(report, webhook, secret)
      },
      // The reply with the secret was never sent, so a repeated request gets it.
      recover: async ({ actor, report, setHeader }, webhookId) => {
        const webhook = found(
          await findWebhook(options.db, actor.accountId, webhookId),
          webhookProblems.webhook_not_found,
        )
        setHeader('location', `/v1/webhooks/${webhook.webhook_id}`)
        return shown(report, webhook, options.secrets.open(webhook.secret))
      },
    }),
  ]
}

function shown(
  report: Call<never, unknown, unknown, unknown>['report'],
  webhook: WebhookTable,
  secret: string,
) {
  report({ event: 'secret_shown', objectId: webhook.webhook_id })
  return { ...webhookView(webhook), secret }
}

function objectRoutes(options: Options, load: ReturnType<typeof loader>): Route[] {
  const { Webhook, WebhookUpdate } = options.schemas
  return [
    route({
      id: 'getWebhook',
      method: 'GET',
      path,
      scope: 'account:read',
      tag,
      summary: 'Get a webhook',
      description:
        'Shows whether it is enabled, and why the service disabled it if it did. The secret is not shown again: rotate it if it is lost.',
      params,
      load,
      reply: { 200: Webhook },
      run: async ({ loaded }) => webhookView(loaded),
    }),
    route({
      id: 'updateWebhook',
      method: 'PATCH',
      path,
      scope: 'account:write',
      tag,
      summary: 'Update a webhook',
      description:
        'Changes the fields in the body and leaves the others as they are; disabling it ends pending deliveries as failed. A new `url` must answer a challenge before it gets events; `is_enabled: true` sends one at once, unless the webhook is verified.',
      params,
      load,
      body: WebhookUpdate,
      reply: { 200: Webhook },
      run: async ({ actor, loaded, body }) => webhookView(await updateWebhook(options, actor, loaded, body)),
    }),
    route({
      id: 'deleteWebhook',
      method: 'DELETE',
      path,
      scope: 'account:write',
      tag,
      summary: 'Delete a webhook and its deliveries',
      description:
        'No more events are sent, and the record of its deliveries is deleted. Events that were pending can be read from `GET /events`.',
      params,
      load,
      reply: { 204: null },
      run: ({ loaded }) => removeWebhook(options, loaded),
    }),
  ]
}

function secretRoute(options: Options, load: ReturnType<typeof loader>): Route {
  return route({
    id: 'rotateWebhookSecret',
    method: 'POST',
    path: `${path}/rotate-secret`,
    scope: 'account:write',
    tag,
    summary: 'Rotate the secret of a webhook',
    description:
      'The reply shows the new secret, only once. For 24 hours messages are signed with the old secret as well, so that receivers can be updated; rotating again ends the old one at once.',
    params,
    load,
    reply: { 200: options.schemas.NewWebhook },
    run: async ({ loaded, remember, report }) => {
      const { webhook, secret } = await rotateSecret(options, loaded, remember)
      return shown(report, webhook, secret)
    },
    recover: async ({ loaded, report }) => shown(report, loaded, options.secrets.open(loaded.secret)),
  })
}

function testRoute(options: WebhooksOptions, load: ReturnType<typeof loader>): Route {
  return route({
    id: 'testWebhook',
    method: 'POST',
    path: `${path}/test`,
    scope: 'account:write',
    tag,
    summary: 'Send a test event to a webhook',
    description:
      'Sends the event `webhook.test` to this webhook, once, ahead of pending deliveries and even if it is disabled; its endpoint must be verified. The result is in `GET /webhooks/{webhook_id}/deliveries`, by the `event_id` of the reply.',
    params,
    load,
    reply: { 202: WebhookTest },
    errors: [webhookProblems.webhook_not_verified],
    run: async ({ loaded, remember, setHeader }) => {
      const event_id = await testWebhook(options, loaded, remember)
      setHeader('location', `/v1/webhooks/${loaded.webhook_id}/deliveries`)
      return { event_id }
    },
    recover: async ({ loaded, setHeader }, eventId) => {
      setHeader('location', `/v1/webhooks/${loaded.webhook_id}/deliveries`)
      return { event_id: eventId }
    },
  })
}

function deliveriesRoute({ db, schemas }: Options, load: ReturnType<typeof loader>): Route {
  return route({
    id: 'listDeliveries',
    method: 'GET',
    path: `${path}/deliveries`,
    scope: 'account:read',
    tag,
    summary: 'List the deliveries of a webhook with their attempts and replies',
    description:
      'Returns the deliveries, newest first, with each attempt and the reply of the endpoint: all pending deliveries, and the last 1,000 finished ones of 30 days. An event is retried for about a day before its webhook is disabled.',
    params,
    load,
    query: paging,
    reply: { 200: listOf(schemas.Delivery) },
    run: (call) =>
      paged(
        call,
        (page) => listDeliveries(db, call.loaded.webhook_id, page),
        (row) => deliveryView(row, call.loaded),
      ),
  })
}
