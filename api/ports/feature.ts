import { feature } from '../feature.ts'
import { forgetEnded, forgetExcessEnded } from './ended.ts'
import { portQuota } from './ports.ts'
import { portRoutes } from './routes.ts'

const events = {
  'port.created': 'servers:read',
  'port.deleted': 'servers:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const ports = feature({
  routes: portRoutes,
  events,
  quotas: [portQuota],
  cleaning: () => ({
    old: { endedPorts: { days: 90, delete: forgetEnded } },
    excess: { endedPorts: { most: 100_000, delete: forgetExcessEnded } },
  }),
})
