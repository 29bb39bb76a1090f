import { feature } from '../feature.ts'
import { serverRoutes } from './routes.ts'

export const servers = feature({
  tags: { Servers: 'Virtual machines, and the operations on them.' },
  routes: serverRoutes,
})
