import { feature } from '../feature.ts'
import { type BillingRoutesOptions, billingRoutes } from './routes.ts'

type Parts = Omit<BillingRoutesOptions, 'servers'> & { billedServers: BillingRoutesOptions['servers'] }

export const billing = feature({
  routes: (parts: Parts) => billingRoutes({ ...parts, servers: parts.billedServers }),
})
