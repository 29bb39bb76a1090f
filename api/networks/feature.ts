import { feature } from '../feature.ts'
import { networkQuota } from './networks.ts'
import { networkRoutes } from './routes.ts'

export const networks = feature({
  tags: { Networks: 'Private networks, in which servers reach each other.' },
  routes: networkRoutes,
  quotas: [networkQuota],
})
