import { feature } from '../feature.ts'
import { type AttachmentRoutesOptions, attachmentRoutes } from './attachment-routes.ts'
import { type NetworksOptions, networkQuota } from './networks.ts'
import { networkRoutes } from './routes.ts'

export const networks = feature({
  tags: { Networks: 'Private networks, in which servers reach each other.' },
  routes: (options: NetworksOptions & AttachmentRoutesOptions) => [
    ...networkRoutes(options),
    ...attachmentRoutes(options),
  ],
  quotas: [networkQuota],
})
