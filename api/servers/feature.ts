import { feature } from '../feature.ts'
import { goneServers } from './gone.ts'
import { type OrderRoutesOptions, orderRoutes } from './order/routes.ts'
import { type PasswordRoutesOptions, passwordRoutes } from './password/routes.ts'
import { type RebuildRoutesOptions, rebuildRoutes } from './rebuild/routes.ts'
import { rescueRoutes } from './rescue/routes.ts'
import { type ServerRoutesOptions, serverRoutes } from './routes.ts'
import { copyRoutes } from './snapshots/routes.ts'

const events = {
  'server.created': 'servers:read',
  'server.updated': 'servers:read',
  'server.status_changed': 'servers:read',
  'server.deleted': 'servers:read',
  'server.console_opened': 'servers:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const servers = feature({
  tags: { Servers: 'Virtual machines, and the operations on them.' },
  routes: (
    parts: OrderRoutesOptions & ServerRoutesOptions & RebuildRoutesOptions & PasswordRoutesOptions,
  ) => [
    ...serverRoutes(parts),
    ...orderRoutes(parts),
    ...rebuildRoutes(parts),
    ...copyRoutes(parts),
    ...passwordRoutes(parts),
    ...rescueRoutes(parts),
  ],
  events,
  cleaning: () => ({ old: { servers: { days: 30, delete: goneServers() } } }),
})
