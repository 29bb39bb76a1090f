import { feature } from '../feature.ts'
import { eventRoutes } from './routes.ts'

export const events = feature({
  tags: {
    Events: 'What happens in the account: to list, to follow, and to have sent to you; and who changed what.',
  },
  routes: eventRoutes,
})
