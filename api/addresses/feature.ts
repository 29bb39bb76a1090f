import { feature } from '../feature.ts'
import { addressQuota } from './addresses.ts'
import { addressRoutes } from './routes.ts'
import { forgetAddresses } from './taking.ts'

const events = {
  'address.created': 'servers:read',
  'address.updated': 'servers:read',
  'address.deleted': 'servers:read',
} as const

declare module '../events/types.ts' {
  interface EventTypes extends Record<keyof typeof events, unknown> {}
}

export const addresses = feature({
  routes: addressRoutes,
  events,
  quotas: [addressQuota],
  // Operators are asked who had an address. The days exceed the time for which addresses are held back from
  // other accounts.
  cleaning: () => ({ old: { addresses: { days: 90, delete: forgetAddresses } } }),
})
