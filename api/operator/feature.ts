import { feature } from '../feature.ts'
import { operatorRoutes } from './routes.ts'

export const operator = feature({
  tags: { Operator: 'The installation as a whole, for the people who run it.' },
  routes: operatorRoutes,
})
