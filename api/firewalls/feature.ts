import { feature } from '../feature.ts'
import { firewallQuota } from './firewalls.ts'
import { firewallRoutes } from './routes.ts'

export const firewalls = feature({
  tags: { Firewalls: 'Which connections of servers get through.' },
  routes: firewallRoutes,
  quotas: [firewallQuota],
})
