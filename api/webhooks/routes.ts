import Type from 'typebox'
import { accountProblems } from '../accounts/schema.ts'
import type { WebhookTable } from '../database/schema.ts'
import type { Actor } from '../http/auth.ts'
import { listOf, paged, pagingQuery } from '../http/paging.ts'
import { found } from '../http/problem.ts'
import { type Route, route } from '../http/route.ts'
import { listDeliveries } from './deliveries.ts'
import {
  Delivery,
  NewWebhook,
  Webhook,
  WebhookCreate,
  WebhookTest,
  WebhookUpdate,
  webhookProblems,
} from './schema.ts'
import { findWebhook, listWebhooks } from './store.ts'
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

export function webhookRoutes(options: WebhooksOptions): Route[] {
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

function collectionRoutes(options: WebhooksOptions): Route[] {
  return [
    route({
      id: 'listWebhooks',
      method: 'GET',
      path: '/webhooks',
      scope: 'account:read',
      tag,
      summary: 'List webhooks',
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
      summary: 'Create a webhook; its secret is shown only once',
      description:
        'Events are posted as JSON, as `GET /events` shows them, and signed according to Standard Webhooks. The token must have the scopes required to see the selected events.',
      body: WebhookCreate,
      reply: { 201: NewWebhook },
      errors: [accountProblems.quota_exceeded],
      run: async ({ actor, body, remember, setHeader }) => {
        const { webhook, secret } = await createWebhook(options, actor, body, remember)
        setHeader('location', `/v1/webhooks/${webhook.webhook_id}`)
        return shown(webhook, secret)
      },
      // The reply that would have shown the secret never left.
      recover: async ({ actor, setHeader }, webhookId) => {
        const webhook = found(
          await findWebhook(options.db, actor.accountId, webhookId),
          webhookProblems.webhook_not_found,
        )
        setHeader('location', `/v1/webhooks/${webhook.webhook_id}`)
        return shown(webhook, options.secrets.open(webhook.secret))
      },
    }),
  ]
}

function shown(webhook: WebhookTable, secret: string) {
  return { ...webhookView(webhook), secret }
}

function objectRoutes(options: WebhooksOptions, load: ReturnType<typeof loader>): Route[] {
  return [
    route({
      id: 'getWebhook',
      method: 'GET',
      path,
      scope: 'account:read',
      tag,
      summary: 'Get a webhook',
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
      summary: 'Update a webhook, or enable it again',
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
      params,
      load,
      reply: { 204: null },
      run: ({ loaded }) => removeWebhook(options, loaded),
    }),
  ]
}

function secretRoute(options: WebhooksOptions, load: ReturnType<typeof loader>): Route {
  return route({
    id: 'rotateWebhookSecret',
    method: 'POST',
    path: `${path}/rotate-secret`,
    scope: 'account:write',
    tag,
    summary: 'Rotate the secret of a webhook; the new one is shown only once',
    description:
      'For 24 hours messages are signed with the old secret as well. Rotating again ends the old one at once.',
    params,
    load,
    reply: { 200: NewWebhook },
    run: async ({ loaded, remember }) => {
      const { webhook, secret } = await rotateSecret(options, loaded, remember)
      return shown(webhook, secret)
    },
    recover: async ({ loaded }) => shown(loaded, options.secrets.open(loaded.secret)),
  })
}

function testRoute(options: WebhooksOptions, load: ReturnType<typeof loader>): Route {
  return route({
    id: 'testWebhook',
    method: 'POST',
    path: `${path}/test`,
    scope: 'account:write',
    tag,
    summary: 'Send the event webhook.test, once, ahead of pending deliveries',
    params,
    load,
    reply: { 202: WebhookTest },
    run: async ({ loaded, remember, setHeader }) => {
      setHeader('location', `/v1/webhooks/${loaded.webhook_id}/deliveries`)
      return { event_id: await testWebhook(options, loaded, remember) }
    },
    recover: async ({ loaded, setHeader }, eventId) => {
      setHeader('location', `/v1/webhooks/${loaded.webhook_id}/deliveries`)
      return { event_id: eventId }
    },
  })
}

function deliveriesRoute({ db }: WebhooksOptions, load: ReturnType<typeof loader>): Route {
  return route({
    id: 'listDeliveries',
    method: 'GET',
    path: `${path}/deliveries`,
    scope: 'account:read',
    tag,
    summary: 'List the deliveries of a webhook with their attempts and replies',
    params,
    load,
    query: paging,
    reply: { 200: listOf(Delivery) },
    run: (call) =>
      paged(
        call,
        (page) => listDeliveries(db, call.loaded.webhook_id, page),
        (row) => deliveryView(row, call.loaded),
      ),
  })
}
