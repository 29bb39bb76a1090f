import { feature } from '../feature.ts'
import { firewallQuota } from './firewalls.ts'
import { firewallRoutes } from './routes.ts'

const events = {
  'firewall.created': 'servers:read',
  'firewall.updated': 'servers:read',
  'firewall.deleted': 'servers:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const firewalls = feature({
  tags: { Firewalls: 'Rules for the connections of servers.' },
  routes: firewallRoutes,
  events,
  quotas: [firewallQuota],
})
