import { feature } from '../feature.ts'
import { forgetExcessOperations } from './operations.ts'
import { operationRoutes } from './routes.ts'

export const operations = feature({
  tags: { Operations: 'Slow work on resources of the account: list operations, and wait for them.' },
  routes: operationRoutes,
  cleaning: () => ({ excess: { operations: { most: 10_000, delete: forgetExcessOperations } } }),
})
