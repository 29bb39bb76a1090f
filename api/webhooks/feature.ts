import { feature } from '../feature.ts'
import { webhookQuota } from './queries.ts'
import { webhookRoutes } from './routes.ts'

export const webhooks = feature({
  routes: webhookRoutes,
  quotas: [webhookQuota],
})
