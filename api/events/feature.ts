import { feature } from '../feature.ts'
import { forgetExcessAudit } from './audit.ts'
import { forgetExcessEvents, KEPT_EVENTS } from './excess.ts'
import { eventRoutes } from './routes.ts'

const types = {
  'operation.succeeded': 'servers:read',
  'operation.failed': 'servers:read',
} as const

declare module './types.ts' {
  interface EventTypes extends Record<keyof typeof types, unknown> {}
}

export const events = feature({
  tags: {
    Events: 'Events of the account, as a list, a stream or webhooks; and the audit log.',
  },
  routes: eventRoutes,
  events: types,
  cleaning: () => ({
    excess: {
      events: { most: KEPT_EVENTS, delete: forgetExcessEvents },
      audit: { most: 100_000, delete: forgetExcessAudit },
    },
  }),
})
