import { feature } from '../feature.ts'
import { KEPT_DAYS, MOST_OF_ACCOUNT } from './kinds.ts'
import { abuseRoutes } from './routes.ts'
import { forgetExcessSigns, forgetSigns } from './signs.ts'

export const abuse = feature({
  routes: abuseRoutes,
  cleaning: () => ({
    old: { signs: { days: KEPT_DAYS, delete: forgetSigns } },
    excess: { signs: { most: MOST_OF_ACCOUNT, delete: forgetExcessSigns } },
  }),
})
