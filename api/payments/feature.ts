import { feature } from '../feature.ts'
import { forgetCanceled, forgetExcess } from './payments.ts'
import { paymentRoutes } from './routes.ts'

export const payments = feature({
  tags: { Payments: 'Top-ups of the balance through payment providers.' },
  routes: paymentRoutes,
  cleaning: () => ({
    old: { canceledPayments: { days: 90, delete: forgetCanceled } },
    excess: { canceledPayments: { most: 100, delete: forgetExcess } },
  }),
})
