import { KEPT_EVENTS } from '../events/excess.ts'
import { feature } from '../feature.ts'
import { forgetExcessDeliveries } from './deliveries.ts'
import { webhookQuota } from './queries.ts'
import { webhookRoutes } from './routes.ts'

const events = {
  'webhook.created': 'account:read',
  'webhook.updated': 'account:read',
  'webhook.deleted': 'account:read',
  'webhook.disabled': 'account:read',
  'webhook.test': 'account:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const webhooks = feature({
  routes: webhookRoutes,
  events,
  quotas: [webhookQuota],
  // Deliveries are deleted before the events by which they are found.
  cleaning: () => ({ excess: { deliveries: { most: KEPT_EVENTS, delete: forgetExcessDeliveries } } }),
})
