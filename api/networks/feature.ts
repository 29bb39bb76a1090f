import { feature } from '../feature.ts'
import { type AttachmentRoutesOptions, attachmentRoutes } from './attachment-routes.ts'
import { type NetworksOptions, networkQuota } from './networks.ts'
import { networkRoutes } from './routes.ts'

const events = {
  'network.created': 'servers:read',
  'network.updated': 'servers:read',
  'network.deleted': 'servers:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const networks = feature({
  tags: { Networks: 'Private networks, in which servers reach each other.' },
  routes: (options: NetworksOptions & AttachmentRoutesOptions) => [
    ...networkRoutes(options),
    ...attachmentRoutes(options),
  ],
  events,
  quotas: [networkQuota],
})
