import { feature } from '../feature.ts'
import { addressQuota } from './addresses.ts'
import { addressRoutes } from './routes.ts'

export const addresses = feature({
  routes: addressRoutes,
  quotas: [addressQuota],
})
