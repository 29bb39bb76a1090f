import { feature } from '../feature.ts'
import { forgetPromoCodes } from './codes.ts'
import { forgetCredits } from './credits.ts'
import { creditRoutes } from './routes.ts'

const events = {
  'credit.granted': 'account:read',
  'credit.expired': 'account:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const credits = feature({
  routes: creditRoutes,
  events,
  cleaning: () => ({
    old: {
      promoCodes: { days: 365, delete: forgetPromoCodes },
      endedCredits: { days: 365, delete: forgetCredits },
    },
  }),
})
