import { feature } from '../feature.ts'
import { complaintRoutes } from './complaint-routes.ts'
import { KEPT_CLOSED_DAYS, MOST_CLOSED } from './complaint-schema.ts'
import { type Complaining, forgetComplaints, forgetExcessComplaints } from './complaints.ts'
import { KEPT_DAYS, MOST_OF_ACCOUNT } from './kinds.ts'
import { abuseRoutes } from './routes.ts'
import { forgetExcessSigns, forgetSigns } from './signs.ts'

const events = { 'complaint.created': 'account:read', 'complaint.updated': 'account:read' } as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const abuse = feature({
  routes: (place: Complaining) => [...abuseRoutes(place), ...complaintRoutes(place)],
  events,
  cleaning: () => ({
    old: {
      signs: { days: KEPT_DAYS, delete: forgetSigns },
      complaints: { days: KEPT_CLOSED_DAYS, delete: forgetComplaints },
    },
    excess: {
      signs: { most: MOST_OF_ACCOUNT, delete: forgetExcessSigns },
      complaints: { most: MOST_CLOSED, delete: forgetExcessComplaints },
    },
  }),
})
