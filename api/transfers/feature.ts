import { feature } from '../feature.ts'
import { transferRoutes } from './routes.ts'
import { forgetTransfers } from './transfers.ts'

export const transfers = feature({
  routes: transferRoutes,
  cleaning: () => ({ old: { transfers: { days: 365, delete: forgetTransfers } } }),
})
