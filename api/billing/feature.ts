import { feature } from '../feature.ts'
import { documentRoutes } from './documents/routes.ts'
import { forgetRates } from './rates.ts'
import { type BillingRoutesOptions, billingRoutes } from './routes.ts'

const events = {
  'balance.low': 'account:read',
  'balance.depleted': 'account:read',
  'balance.topped_up': 'account:read',
  'invoice.corrected': 'account:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const billing = feature({
  routes: (parts: BillingRoutesOptions) => [...billingRoutes(parts), ...documentRoutes(parts)],
  events,
  // The cost of the present month needs its rates. Older rates help people to check a bill.
  cleaning: () => ({ old: { endedRates: { days: 62, delete: forgetRates } } }),
})
