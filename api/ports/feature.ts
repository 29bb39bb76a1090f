import { feature } from '../feature.ts'
import { portQuota } from './ports.ts'
import { portRoutes } from './routes.ts'

export const ports = feature({
  routes: portRoutes,
  quotas: [portQuota],
})
