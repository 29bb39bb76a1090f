import { feature } from '../feature.ts'
import { operationRoutes } from './routes.ts'

export const operations = feature({
  tags: { Operations: 'Slow work on what the account has: to list, and to wait for.' },
  routes: operationRoutes,
})
